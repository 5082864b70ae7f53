//! What arrived of one stream, each frame counted once (duplicates and RFC 4737 reordering told apart).

const WINDOW_BITS: u64 = 1 << 20;
const WORDS: usize = (WINDOW_BITS / 64) as usize;

/// What an arrival was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// First time, in order.
    InOrder,
    /// First time, after a later frame.
    OutOfOrder,
    /// Seen before.
    Duplicate,
}

/// Accounts for the sequence numbers of one stream in one trial.
///
/// A bitmap remembers the last 2^20 sequence numbers. A frame that comes later than that is counted as received out of
/// order; whether it is a repeat can no longer be told.
#[derive(Debug)]
pub struct Tracker {
    seen: Vec<u64>,
    next_expected: u64,
    received_count: u64,
    duplicate_count: u64,
    out_of_order_count: u64,
    window_begin: u64,
    overdue_count: u64,
}

impl Default for Tracker {
    fn default() -> Self {
        Self {
            seen: vec![0; WORDS],
            next_expected: 0,
            received_count: 0,
            duplicate_count: 0,
            out_of_order_count: 0,
            window_begin: 0,
            overdue_count: 0,
        }
    }
}

impl Tracker {
    /// Account for one arrival.
    #[inline]
    pub fn record(&mut self, sequence: u64) -> Arrival {
        let arrival = if sequence >= self.next_expected {
            self.forget(self.next_expected, sequence);
            self.next_expected = sequence + 1;
            Arrival::InOrder
        } else if self.is_seen(sequence) {
            Arrival::Duplicate
        } else {
            if sequence < self.window_begin {
                self.overdue_count = self.overdue_count.saturating_sub(1);
            }
            Arrival::OutOfOrder
        };
        self.count(arrival);
        self.mark(sequence);
        arrival
    }

    /// Distinct frames.
    #[must_use]
    pub fn received_count(&self) -> u64 {
        self.received_count
    }

    /// Repeats.
    #[must_use]
    pub fn duplicate_count(&self) -> u64 {
        self.duplicate_count
    }

    /// First arrivals after a later frame.
    #[must_use]
    pub fn out_of_order_count(&self) -> u64 {
        self.out_of_order_count
    }

    /// Frames that have been overtaken and are missing at this moment are overdue from now on.
    pub fn begin_window(&mut self) {
        self.window_begin = self.next_expected;
        self.overdue_count = self.next_expected.saturating_sub(self.received_count);
    }

    /// Frames that were missing when the window began and still are.
    #[must_use]
    pub fn overdue_count(&self) -> u64 {
        self.overdue_count
    }

    fn count(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Duplicate => self.duplicate_count += 1,
            Arrival::InOrder => self.received_count += 1,
            Arrival::OutOfOrder => {
                self.received_count += 1;
                self.out_of_order_count += 1;
            }
        }
    }

    /// Clear the bits of the numbers `from..to`, which were skipped, and of `to` itself.
    #[inline]
    fn forget(&mut self, from: u64, to: u64) {
        if to - from >= WINDOW_BITS {
            self.seen.fill(0);
            return;
        }
        for sequence in from..=to {
            let (word, bit) = place(sequence);
            self.seen[word] &= !bit;
        }
    }

    #[inline]
    fn mark(&mut self, sequence: u64) {
        if self.next_expected - sequence <= WINDOW_BITS {
            let (word, bit) = place(sequence);
            self.seen[word] |= bit;
        }
    }

    #[inline]
    fn is_seen(&self, sequence: u64) -> bool {
        let (word, bit) = place(sequence);
        self.next_expected - sequence <= WINDOW_BITS && self.seen[word] & bit != 0
    }
}

#[inline]
fn place(sequence: u64) -> (usize, u64) {
    ((sequence % WINDOW_BITS / 64) as usize, 1 << (sequence % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Duplicate, InOrder, OutOfOrder};

    fn arrivals(sequences: impl IntoIterator<Item = u64>) -> (Vec<Arrival>, Tracker) {
        let mut tracker = Tracker::default();
        (sequences.into_iter().map(|sequence| tracker.record(sequence)).collect(), tracker)
    }

    #[test]
    fn frames_in_order_are_just_received() {
        let (_, tracker) = arrivals(0..3 * WINDOW_BITS);
        assert_eq!(tracker.received_count(), 3 * WINDOW_BITS);
        assert_eq!((tracker.duplicate_count(), tracker.out_of_order_count()), (0, 0));
    }

    #[test]
    fn a_late_frame_is_received_out_of_order_and_its_repeat_is_a_duplicate() {
        let (found, tracker) = arrivals([0, 2, 1, 1, 2, 3]);
        assert_eq!(found, [InOrder, InOrder, OutOfOrder, Duplicate, Duplicate, InOrder]);
        assert_eq!((tracker.received_count(), tracker.duplicate_count(), tracker.out_of_order_count()), (4, 2, 1));
    }

    #[test]
    fn frames_missing_when_a_window_begins_are_overdue_until_they_arrive() {
        let (_, mut tracker) = arrivals([0, 3, 6]);
        assert_eq!(tracker.overdue_count(), 0);
        tracker.begin_window();
        assert_eq!(tracker.overdue_count(), 4);
        for (sequence, overdue) in [(9, 4), (2, 3), (8, 3), (2, 3), (4, 2)] {
            tracker.record(sequence);
            assert_eq!(tracker.overdue_count(), overdue, "{sequence}");
        }
        tracker.begin_window();
        assert_eq!(tracker.overdue_count(), 3);
    }

    #[test]
    fn bits_of_the_last_lap_are_not_taken_for_duplicates() {
        let skipped = WINDOW_BITS + 5;
        let (found, _) = arrivals((0..WINDOW_BITS).chain([skipped + 1, skipped]));
        assert_eq!(found[WINDOW_BITS as usize..], [InOrder, OutOfOrder]);
        let (found, _) = arrivals([0, 1, 2, 3, 10 * WINDOW_BITS, 10 * WINDOW_BITS - 2]);
        assert_eq!(found[4..], [InOrder, OutOfOrder]);
    }

    #[test]
    fn a_frame_older_than_the_memory_counts_as_received_late() {
        let (found, tracker) = arrivals([0, 5 * WINDOW_BITS, 0]);
        assert_eq!(found, [InOrder, InOrder, OutOfOrder]);
        assert_eq!(tracker.received_count(), 3);
    }
}
