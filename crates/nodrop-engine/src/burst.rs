//! A burst (RFC 9004 section 5): its timetable moves with a held-up sender, which catches up with a few frames at most.
//! More of them would overfill the queue that the burst measures.

use nodrop_model::BurstTimes;

/// Lateness that never moves the timetable, in nanoseconds: a thread that sends and receives polls about this often.
const LATENESS_MIN_NS: u64 = 10_000;
/// Frames that a held-up sender may send at once: at least so many, and this share of the burst.
const CATCH_UP_MIN_COUNT: f64 = 2.0;
const CATCH_UP_RATIO: f64 = 0.01;

/// The burst of one port.
#[derive(Debug)]
pub(crate) struct Burst {
    load_pps: f64,
    /// Lateness above which the timetable moves.
    lateness_max_ns: u64,
    shift_ns: u64,
    first_sent_ns: Option<u64>,
    last_sent_ns: u64,
    gap_max_ns: u64,
    /// Begin of the latest call that sent frames.
    begin_ns: u64,
    /// Frames in a queue that is drained at the intended load, and the most of them.
    queued: f64,
    queued_max: f64,
}

impl Burst {
    /// Create the burst of a port, of `frame_count` frames at this load.
    pub(crate) fn new(load_pps: f64, frame_count: u64) -> Self {
        let catch_up_count = CATCH_UP_MIN_COUNT.max(CATCH_UP_RATIO * frame_count as f64);
        Self {
            load_pps,
            lateness_max_ns: LATENESS_MIN_NS.max((catch_up_count * 1e9 / load_pps) as u64),
            shift_ns: 0,
            first_sent_ns: None,
            last_sent_ns: 0,
            gap_max_ns: 0,
            begin_ns: 0,
            queued: 0.0,
            queued_max: 0.0,
        }
    }

    /// Move the timetable if the next frame is `late_ns` late, so that only a few frames are due; return by how much.
    #[inline]
    pub(crate) fn delay(&mut self, late_ns: u64) -> u64 {
        let delay_ns = late_ns.saturating_sub(self.lateness_max_ns);
        self.shift_ns += delay_ns;
        delay_ns
    }

    /// Return the time by which the timetable has moved.
    pub(crate) fn shift_ns(&self) -> u64 {
        self.shift_ns
    }

    /// Record that `count` frames were sent from `begin_ns` on, the last one at `last_ns`.
    #[inline]
    pub(crate) fn record(&mut self, count: u64, begin_ns: u64, last_ns: u64) {
        if self.first_sent_ns.is_some() {
            self.gap_max_ns = self.gap_max_ns.max(begin_ns - self.last_sent_ns);
        }
        if count > 1 {
            self.gap_max_ns = self.gap_max_ns.max((last_ns - begin_ns) / (count - 1));
        }
        // Frames of one call may leave at once.
        let drained = (begin_ns - self.begin_ns) as f64 * self.load_pps / 1e9;
        self.queued = (self.queued - drained).max(0.0) + count as f64;
        self.queued_max = self.queued_max.max(self.queued);
        self.first_sent_ns.get_or_insert(begin_ns);
        (self.begin_ns, self.last_sent_ns) = (begin_ns, last_ns);
    }

    /// Return the times; None if no frame was sent.
    pub(crate) fn times(&self) -> Option<BurstTimes> {
        Some(BurstTimes {
            first_sent_ns: self.first_sent_ns?,
            last_sent_ns: self.last_sent_ns,
            gap_max_ns: self.gap_max_ns,
            ahead_max_count: (self.queued_max - 1.0).round() as u64,
            shift_ns: self.shift_ns,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames at 10 kpps, i.e. one every 100 us: number of each call, its begin and the time of its last frame.
    fn times(calls: &[(u64, u64, u64)]) -> BurstTimes {
        let mut burst = Burst::new(10_000.0, 100);
        calls.iter().for_each(|(count, begin_us, last_us)| burst.record(*count, begin_us * 1000, last_us * 1000));
        burst.times().unwrap()
    }

    #[test]
    fn frames_at_their_times_are_not_ahead() {
        let burst = times(&[(1, 30, 30), (1, 130, 130), (1, 260, 260), (1, 330, 330)]);
        assert_eq!((burst.first_sent_ns, burst.last_sent_ns, burst.gap_max_ns), (30_000, 330_000, 130_000));
        assert_eq!((burst.ahead_max_count, burst.shift_ns), (0, 0));
    }

    #[test]
    fn frames_sent_at_once_are_ahead_until_the_load_has_drained_them() {
        assert_eq!(times(&[(1, 0, 0), (4, 400, 430), (1, 500, 500)]).ahead_max_count, 3);
        assert_eq!(times(&[(4, 400, 430), (3, 500, 500)]).ahead_max_count, 5);
        // A pause is no credit for later frames.
        assert_eq!(times(&[(1, 0, 0), (3, 900_000, 900_000)]).ahead_max_count, 2);
    }

    #[test]
    fn gaps_are_those_between_calls_and_within_them() {
        assert_eq!(times(&[(1, 0, 0), (3, 100, 700)]).gap_max_ns, 300_000);
        assert_eq!(times(&[(3, 0, 100), (1, 250, 250)]).gap_max_ns, 150_000);
        assert!(Burst::new(1.0, 1).times().is_none());
    }

    #[test]
    fn only_a_lateness_beyond_two_frames_or_a_hundredth_of_them_and_10_us_moves_the_timetable() {
        for (load_pps, frame_count, lateness_max_ns) in
            [(10_000.0, 100, 200_000), (10_000.0, 1000, 1_000_000), (1e6, 100, 10_000)]
        {
            let mut burst = Burst::new(load_pps, frame_count);
            assert_eq!(burst.delay(lateness_max_ns), 0);
            assert_eq!(burst.delay(lateness_max_ns + 300), 300);
            assert_eq!(burst.shift_ns(), 300);
        }
    }
}
