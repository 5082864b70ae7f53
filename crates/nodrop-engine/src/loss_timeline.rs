//! Runs of lost frames of one stream with the times around them (RFC 3357 loss periods; RFC 6201 section 5.1).

use nodrop_model::{FrameTimes, LossRun};

use crate::tracker::Arrival;

/// Collects the runs of missing sequence numbers of one stream; a frame that arrives late leaves its run.
#[derive(Debug, Default)]
pub(crate) struct LossTimeline {
    /// Runs that a later frame has overtaken, by sequence number.
    runs: Vec<LossRun>,
    /// The frame with the highest sequence number so far.
    last: Option<FrameTimes>,
}

impl LossTimeline {
    /// Record an arrival that the tracker has classified. `run_limit`: runs that may still be stored; runs beyond it
    /// are not.
    #[inline]
    pub(crate) fn record(&mut self, arrival: Arrival, sequence: u64, times: FrameTimes, run_limit: &mut usize) {
        match arrival {
            Arrival::InOrder { skipped } => {
                if skipped > 0 {
                    let run = LossRun {
                        first_sequence: sequence - skipped,
                        count: skipped,
                        before: self.last,
                        after: Some(times),
                    };
                    self.push(run, run_limit);
                }
                self.last = Some(times);
            }
            Arrival::OutOfOrder { .. } => self.remove(sequence, times, run_limit),
            Arrival::Duplicate => {}
        }
    }

    fn push(&mut self, run: LossRun, run_limit: &mut usize) {
        if *run_limit > 0 {
            *run_limit -= 1;
            self.runs.push(run);
        }
    }

    /// Remove a frame from its run, which it may divide.
    #[cold]
    fn remove(&mut self, sequence: u64, times: FrameTimes, run_limit: &mut usize) {
        let index = self.runs.partition_point(|run| run.first_sequence + run.count <= sequence);
        let Some(run) = self.runs.get(index).copied().filter(|run| run.first_sequence <= sequence) else { return };
        let left = LossRun { count: sequence - run.first_sequence, after: Some(times), ..run };
        let right =
            LossRun { first_sequence: sequence + 1, count: run.count - left.count - 1, before: Some(times), ..run };
        let parts = [left, right].into_iter().filter(|part| part.count > 0);
        let before = self.runs.len();
        self.runs.splice(index..=index, parts);
        *run_limit = (*run_limit + before).saturating_sub(self.runs.len());
    }

    /// Return the runs among the first `offered_count` frames, of which those from `next_expected` on are missing.
    pub(crate) fn runs(&self, next_expected: u64, offered_count: u64) -> Vec<LossRun> {
        let tail = LossRun {
            first_sequence: next_expected,
            count: offered_count.saturating_sub(next_expected),
            before: self.last,
            after: None,
        };
        self.runs.iter().copied().chain((tail.count > 0).then_some(tail)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracker::Tracker;

    fn times(sequence: u64) -> FrameTimes {
        FrameTimes { sent_ns: 10 * sequence as i64, received_ns: 10 * sequence as i64 + 3 }
    }

    /// Return first and count of each run, and the sequence numbers of the frames around it.
    fn runs(sequences: &[u64], offered_count: u64, mut run_limit: usize) -> Vec<(u64, u64, Option<i64>, Option<i64>)> {
        let (mut tracker, mut timeline) = (Tracker::new(1), LossTimeline::default());
        for &sequence in sequences {
            timeline.record(tracker.record(sequence, 0), sequence, times(sequence), &mut run_limit);
        }
        let number = |frame: Option<FrameTimes>| frame.map(|frame| frame.sent_ns / 10);
        let runs = timeline.runs(tracker.next_expected(), offered_count);
        if run_limit > 0 {
            assert_eq!(runs.len() as u64, tracker.loss_runs(offered_count).map_or(0, |all| all.count));
        }
        runs.into_iter().map(|run| (run.first_sequence, run.count, number(run.before), number(run.after))).collect()
    }

    #[test]
    fn a_run_lies_between_the_frames_around_it() {
        assert_eq!(
            runs(&[0, 1, 4, 5, 9], 12, 9),
            [(2, 2, Some(1), Some(4)), (6, 3, Some(5), Some(9)), (10, 2, Some(9), None)]
        );
    }

    #[test]
    fn a_stream_may_begin_or_consist_of_a_run() {
        assert_eq!(runs(&[3, 4], 5, 9), [(0, 3, None, Some(3))]);
        assert_eq!(runs(&[], 5, 9), [(0, 5, None, None)]);
        assert_eq!(runs(&[0, 1], 2, 9), []);
    }

    #[test]
    fn a_late_frame_shortens_divides_or_ends_a_run() {
        assert_eq!(runs(&[0, 5, 1], 6, 9), [(2, 3, Some(1), Some(5))]);
        assert_eq!(runs(&[0, 5, 4], 6, 9), [(1, 3, Some(0), Some(4))]);
        assert_eq!(runs(&[0, 5, 3], 6, 9), [(1, 2, Some(0), Some(3)), (4, 1, Some(3), Some(5))]);
        assert_eq!(runs(&[0, 2, 1, 4], 5, 9), [(3, 1, Some(2), Some(4))]);
    }

    #[test]
    fn runs_beyond_the_limit_are_missing() {
        assert_eq!(runs(&[0, 2, 4, 6], 7, 2), [(1, 1, Some(0), Some(2)), (3, 1, Some(2), Some(4))]);
        assert_eq!(runs(&[0, 2, 1, 4, 6], 7, 2), [(3, 1, Some(2), Some(4)), (5, 1, Some(4), Some(6))]);
    }
}
