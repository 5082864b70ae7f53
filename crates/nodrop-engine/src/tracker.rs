//! Arrivals of one stream, each frame counted once: duplicates, reordering (RFC 4737), runs of losses (RFC 3357).

use std::collections::VecDeque;

use nodrop_model::{LossRuns, Reordering};

use crate::loss_runs::RunCounter;

/// Memory for sequence numbers, in bits: of all streams of a port together, and the range per stream.
const PORT_BITS: u64 = 1 << 23;
const STREAM_BITS: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 20;
/// Maximum number of gaps remembered per stream, for the extent of reordering.
const GAPS_MAX: usize = 1 << 10;
/// Number of classes of reordering extents, by powers of two.
const EXTENT_CLASSES: usize = 32;

/// Classification of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// First arrival, in order, after `skipped` missing numbers.
    InOrder {
        /// Frames missing now.
        skipped: u64,
    },
    /// First arrival, after a later frame.
    OutOfOrder {
        /// Whether it had been overtaken before the current loss check began.
        overdue: bool,
    },
    /// Repeated arrival.
    Duplicate,
}

/// Accounts for the sequence numbers of one stream in one trial.
///
/// A bitmap stores the latest sequence numbers. A frame older than the bitmap counts as received out of order; whether
/// it is a repeat is unknown, and it remains part of a run of losses.
#[derive(Debug)]
pub struct Tracker {
    /// Ring of bits; the word of the numbers `64 * n ..` is at `n` modulo its length.
    seen: Box<[u64]>,
    /// Lowest word stored.
    base_word: u64,
    next_expected: u64,
    received_count: u64,
    duplicate_count: u64,
    loss_check: u64,
    check_begin: u64,
    runs: RunCounter,
    /// Latest gaps, oldest first: first missing number, and the number of frames that had arrived with the frame that
    /// caused the gap.
    gaps: VecDeque<(u64, u64)>,
    reordering: Option<Box<Reordering>>,
}

impl Tracker {
    /// Create a tracker for one of `stream_count` streams that arrive at the same port: the more streams, the fewer
    /// numbers each one stores, which cover about the same time.
    #[must_use]
    pub fn new(stream_count: usize) -> Self {
        let share = (PORT_BITS / stream_count.max(1) as u64).next_power_of_two();
        let bits = share.clamp(*STREAM_BITS.start(), *STREAM_BITS.end());
        Self {
            seen: vec![0; (bits / 64) as usize].into_boxed_slice(),
            base_word: 0,
            next_expected: 0,
            received_count: 0,
            duplicate_count: 0,
            loss_check: 0,
            check_begin: 0,
            runs: RunCounter::default(),
            gaps: VecDeque::new(),
            reordering: None,
        }
    }

    /// Record an arrival during the conductor's loss check `loss_check`.
    #[inline]
    pub fn record(&mut self, sequence: u64, loss_check: u64) -> Arrival {
        if loss_check != self.loss_check {
            // No frame has arrived since the check began, otherwise this would have been done.
            (self.loss_check, self.check_begin) = (loss_check, self.next_expected);
        }
        let is_new = self.insert(sequence);
        if sequence >= self.next_expected {
            let skipped = sequence - self.next_expected;
            self.received_count += 1;
            if skipped > 0 {
                self.record_gap();
            }
            self.next_expected = sequence + 1;
            Arrival::InOrder { skipped }
        } else if is_new {
            self.received_count += 1;
            self.record_reordered(sequence);
            Arrival::OutOfOrder { overdue: sequence < self.check_begin }
        } else {
            self.duplicate_count += 1;
            Arrival::Duplicate
        }
    }

    /// Return the distinct frames received.
    #[must_use]
    pub fn received_count(&self) -> u64 {
        self.received_count
    }

    /// Return the number after the highest that arrived.
    #[must_use]
    pub fn next_expected(&self) -> u64 {
        self.next_expected
    }

    /// Return the repeated arrivals.
    #[must_use]
    pub fn duplicate_count(&self) -> u64 {
        self.duplicate_count
    }

    /// Return the first arrivals after a later frame; None if there were none.
    #[must_use]
    pub fn reordering(&self) -> Option<&Reordering> {
        self.reordering.as_deref()
    }

    /// Return the runs of losses among the first `offered_count` frames; None if no frame was lost.
    #[must_use]
    pub fn loss_runs(&self, offered_count: u64) -> Option<LossRuns> {
        let mut runs = self.runs.clone();
        let end_word = offered_count.div_ceil(64);
        for word in self.base_word..end_word {
            let (seen, numbers) = (self.word(word), (offered_count - word * 64).min(64));
            runs.add(seen, numbers as u32);
        }
        runs.finish()
    }

    /// Return the bits of a word; zero beyond the stored range.
    fn word(&self, word: u64) -> u64 {
        let len = self.seen.len() as u64;
        if word < self.base_word + len { self.seen[(word % len) as usize] } else { 0 }
    }

    /// Store a number; return whether it is new.
    #[inline]
    fn insert(&mut self, sequence: u64) -> bool {
        let (word, len) = (sequence / 64, self.seen.len() as u64);
        if word < self.base_word {
            return true;
        }
        if word >= self.base_word + len {
            self.drop_words(word + 1 - len);
        }
        let bits = &mut self.seen[(word & (len - 1)) as usize];
        let is_new = *bits & 1 << (sequence % 64) == 0;
        *bits |= 1 << (sequence % 64);
        is_new
    }

    /// Drop the words before `word`; numbers missing there are lost.
    fn drop_words(&mut self, word: u64) {
        let len = self.seen.len() as u64;
        for old in self.base_word..word.min(self.base_word + len) {
            let bits = std::mem::take(&mut self.seen[(old % len) as usize]);
            self.runs.add(bits, 64);
        }
        self.runs.add_lost(word.saturating_sub(self.base_word + len) * 64);
        self.base_word = word;
    }

    #[cold]
    fn record_gap(&mut self) {
        if self.gaps.len() == GAPS_MAX {
            self.gaps.pop_front();
        }
        self.gaps.push_back((self.next_expected, self.received_count));
    }

    /// RFC 4737 section 4.2: the extent is the number of frames that arrived since the first one that overtook this
    /// frame, that one included.
    ///
    /// The first overtaking frame caused the gap that this frame belongs to. If that gap was dropped, the oldest stored
    /// gap replaces it, so the extent is a lower bound.
    #[cold]
    fn record_reordered(&mut self, sequence: u64) {
        let after = self.gaps.partition_point(|(begin, _)| *begin <= sequence);
        let overtaken = self.gaps.get(after.saturating_sub(1)).map_or(self.received_count - 1, |(_, count)| *count);
        let extent = self.received_count - overtaken;
        let none = || Box::new(Reordering { count: 0, extent_max: 0, extent_mean: 0.0, extent_counts: Vec::new() });
        let total = self.reordering.get_or_insert_with(none);
        total.count += 1;
        total.extent_max = total.extent_max.max(extent);
        total.extent_mean += (extent as f64 - total.extent_mean) / total.count as f64;
        let class = (extent.ilog2() as usize).min(EXTENT_CLASSES - 1);
        if total.extent_counts.len() <= class {
            total.extent_counts.resize(class + 1, 0);
        }
        total.extent_counts[class] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Duplicate, InOrder, OutOfOrder};

    const IN_ORDER: Arrival = InOrder { skipped: 0 };
    const LATE: Arrival = OutOfOrder { overdue: false };
    const BITS: u64 = *STREAM_BITS.end();

    fn arrivals(sequences: impl IntoIterator<Item = u64>) -> (Vec<Arrival>, Tracker) {
        let mut tracker = Tracker::new(1);
        (sequences.into_iter().map(|sequence| tracker.record(sequence, 0)).collect(), tracker)
    }

    #[test]
    fn frames_in_order_are_just_received() {
        let (_, tracker) = arrivals(0..3 * BITS);
        assert_eq!((tracker.received_count(), tracker.duplicate_count()), (3 * BITS, 0));
        assert!(tracker.reordering().is_none() && tracker.loss_runs(3 * BITS).is_none());
    }

    #[test]
    fn a_late_frame_is_received_out_of_order_and_its_repeat_is_a_duplicate() {
        let (results, tracker) = arrivals([0, 2, 1, 1, 2, 3]);
        assert_eq!(results, [IN_ORDER, InOrder { skipped: 1 }, LATE, Duplicate, Duplicate, IN_ORDER]);
        assert_eq!((tracker.received_count(), tracker.duplicate_count()), (4, 2));
        assert_eq!(tracker.reordering().unwrap().count, 1);
    }

    #[test]
    fn a_late_frame_is_overdue_when_it_was_overtaken_before_the_look() {
        let mut tracker = Tracker::new(1);
        let mut record = |sequence, loss_check| tracker.record(sequence, loss_check);
        assert_eq!([record(0, 0), record(3, 0)], [IN_ORDER, InOrder { skipped: 2 }]);
        assert_eq!([record(6, 1), record(1, 1)], [InOrder { skipped: 2 }, OutOfOrder { overdue: true }]);
        assert_eq!([record(4, 1), record(5, 2)], [LATE, OutOfOrder { overdue: true }]);
        assert_eq!([record(2, 9), record(7, 9)], [OutOfOrder { overdue: true }, IN_ORDER]);
    }

    /// RFC 4737 appendix B and table 1 of section 4.1.4: 1 2 3 7 8 9 10 4 5 6 11: each of 4, 5, 6 came after 7.
    #[test]
    fn the_extent_of_reordering_is_that_of_the_rfc_example() {
        let (_, tracker) = arrivals([0, 1, 2, 6, 7, 8, 9, 3, 4, 5, 10]);
        let reordering = tracker.reordering().unwrap();
        assert_eq!((reordering.count, reordering.extent_max), (3, 6));
        assert!((reordering.extent_mean - 5.0).abs() < 1e-9);
        assert_eq!(reordering.extent_counts, [0, 0, 3]);
    }

    #[test]
    fn losses_are_reported_by_runs() {
        let lost = [5, 6, 7, 63, 64, 65, 66, 900];
        let (_, tracker) = arrivals((0..1000).filter(|n| !lost.contains(n)));
        let runs = tracker.loss_runs(1010).unwrap();
        assert_eq!((runs.count, runs.longest), (4, 10));
        assert_eq!(tracker.loss_runs(1000).unwrap().longest, 4);
        let (_, nothing) = arrivals([]);
        assert_eq!(nothing.loss_runs(7), Some(LossRuns { count: 1, longest: 7 }));
        assert_eq!(nothing.loss_runs(0), None);
    }

    #[test]
    fn runs_of_losses_longer_than_the_memory_are_whole() {
        let end = 5 * BITS + 17;
        let (_, tracker) = arrivals([0, 1, 2, end]);
        assert_eq!(tracker.loss_runs(end + 1), Some(LossRuns { count: 1, longest: end - 3 }));
        assert_eq!(tracker.loss_runs(9 * BITS), Some(LossRuns { count: 2, longest: end - 3 }));
    }

    #[test]
    fn a_frame_that_came_late_is_no_loss() {
        let (_, tracker) = arrivals([0, 3, 2, 1, 4]);
        assert_eq!(tracker.loss_runs(5), None);
    }

    #[test]
    fn bits_of_the_last_lap_are_not_taken_for_duplicates() {
        let skipped = BITS + 5;
        let (results, _) = arrivals((0..BITS).chain([skipped + 1, skipped]));
        assert_eq!(results[BITS as usize..], [InOrder { skipped: 6 }, LATE]);
        let (results, _) = arrivals([0, 1, 2, 3, 10 * BITS, 10 * BITS - 2]);
        assert_eq!(results[5], LATE);
    }

    #[test]
    fn a_frame_older_than_the_memory_counts_as_received_late() {
        let (results, tracker) = arrivals([0, 5 * BITS, 0]);
        assert_eq!(results[2], LATE);
        assert_eq!(tracker.received_count(), 3);
    }

    #[test]
    fn thousands_of_streams_remember_less_each() {
        let bytes = |streams| Tracker::new(streams).seen.len() * 8 * streams;
        assert!(bytes(4096) <= 2 << 20 && bytes(1) == 128 << 10);
    }
}
