//! Send times of a port's frames: lateness, gaps and stalls.

use nodrop_model::{SenderTimes, Stall};
use nodrop_port::timetable::Report;

use crate::burst::Burst;
use crate::histogram::Durations;

/// Time between two polls above which the sender was off its CPU, in nanoseconds.
const OFF_CPU_MIN_NS: u64 = 1_000_000;

/// Send times of one port in one trial.
#[derive(Debug)]
pub(crate) struct SendTimes {
    lateness: Durations,
    gaps: Durations,
    last_poll_ns: u64,
    last_sent_ns: Option<u64>,
    /// Time between two polls that counts as a stall.
    stall_ns: u64,
    stalls: Stall,
    /// Time off the CPU, in nanoseconds.
    off_cpu_ns: u64,
    unsent_count: u64,
    /// Frames that the interface rejected after they had been passed to it.
    pub(crate) rejected_count: u64,
    /// None unless the trial is a burst.
    pub(crate) burst: Option<Burst>,
}

impl SendTimes {
    pub(crate) fn new(stall_ns: u64, burst: Option<Burst>) -> Self {
        let stalls = Stall { count: 0, longest_ns: 0, longest_at_s: 0.0 };
        Self {
            lateness: Durations::default(),
            gaps: Durations::default(),
            last_poll_ns: 0,
            last_sent_ns: None,
            stall_ns,
            stalls,
            off_cpu_ns: 0,
            unsent_count: 0,
            rejected_count: 0,
            burst,
        }
    }

    /// Record that the sender polls for due frames.
    #[inline]
    pub(crate) fn poll(&mut self, now_ns: u64) {
        let gap_ns = now_ns - self.last_poll_ns;
        if gap_ns > OFF_CPU_MIN_NS {
            self.off_cpu_ns += gap_ns;
        }
        if gap_ns > self.stall_ns {
            self.stalls.count += 1;
            if gap_ns > self.stalls.longest_ns {
                self.stalls.longest_ns = gap_ns;
                self.stalls.longest_at_s = self.last_poll_ns as f64 / 1e9;
            }
        }
        self.last_poll_ns = now_ns;
    }

    /// Return how long the sender was off its CPU, in nanoseconds.
    #[inline]
    pub(crate) fn off_cpu_ns(&self) -> u64 {
        self.off_cpu_ns
    }

    /// Record that `count` frames, the first `late_ns` late, were sent one after the other in this period.
    #[inline]
    pub(crate) fn sent(&mut self, count: u64, late_ns: u64, begin_ns: u64, end_ns: u64) {
        self.lateness.record(late_ns, count);
        let each_ns = (end_ns - begin_ns) / count;
        let last_ns = begin_ns + each_ns * (count - 1);
        if let Some(before_ns) = self.last_sent_ns.replace(last_ns) {
            self.gaps.record(begin_ns - before_ns, 1);
        }
        if count > 1 {
            self.gaps.record(each_ns, count - 1);
        }
        if let Some(burst) = &mut self.burst {
            burst.record(count, begin_ns, last_ns);
        }
    }

    /// Record frames that were skipped because they were overdue.
    pub(crate) fn skip(&mut self, count: u64) {
        self.unsent_count += count;
    }

    /// Replace all times by those that a self-paced port reports.
    pub(crate) fn apply_report(&mut self, report: &Report) {
        let record = |durations: &mut Durations, cells: &[(u64, u64)], max_ns: u64| {
            cells.iter().for_each(|(ns, count)| durations.record((*ns).min(max_ns), *count));
        };
        record(&mut self.lateness, &report.lateness, report.lateness_max_ns);
        record(&mut self.gaps, &report.gaps, u64::MAX);
        self.stalls = Stall {
            count: report.stall_count,
            longest_ns: report.stall_longest_ns,
            longest_at_s: report.stall_at_ns as f64 / 1e9,
        };
        self.unsent_count = report.unsent_count;
        self.rejected_count = report.rejected_count;
    }

    pub(crate) fn summary(&self, port: usize) -> SenderTimes {
        SenderTimes {
            port,
            lateness: self.lateness.summary(),
            gaps: self.gaps.summary(),
            stalls: (self.stalls.count > 0).then_some(self.stalls),
            unsent_count: self.unsent_count,
            burst: self.burst.as_ref().and_then(Burst::times),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_those_between_batches_and_within_them() {
        let mut times = SendTimes::new(1000, None);
        times.sent(1, 0, 0, 50);
        times.sent(4, 7, 10_000, 10_400);
        times.sent(1, 0, 20_300, 20_350);
        let gaps = times.summary(0).gaps.unwrap();
        assert_eq!((gaps.count, gaps.p50_ns), (5, 100));
        assert!((gaps.max_ns as f64 / 10_000.0 - 1.0).abs() < 0.001, "{gaps:?}");
        assert_eq!(times.summary(0).lateness.unwrap().max_ns, 7);
    }

    #[test]
    fn a_sender_that_does_not_look_for_too_long_has_stood_still() {
        let mut times = SendTimes::new(1000, None);
        [0, 1000, 2500, 2600, 9600].into_iter().for_each(|now_ns| times.poll(now_ns));
        let stalls = times.summary(0).stalls.unwrap();
        assert_eq!((stalls.count, stalls.longest_ns), (2, 7000));
        assert!((stalls.longest_at_s - 2.6e-6).abs() < 1e-12);
    }
}
