//! What workers let the conductor see while they run: a few counters per stream, each written by one thread only.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Counters of one stream, apart from its neighbours' cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct StreamProgress {
    /// Frames sent.
    pub(crate) offered: AtomicU64,
    /// Distinct frames received.
    pub(crate) received: AtomicU64,
    /// One more than the highest sequence number received.
    pub(crate) next_expected: AtomicU64,
}

/// A trial as workers and conductor share it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Steady-clock time at which the first frame is due.
    pub(crate) start_ns: u64,
    pub(crate) streams: Vec<StreamProgress>,
    /// Send no more.
    pub(crate) stop_sending: AtomicBool,
    /// Receive no more.
    pub(crate) stop_receiving: AtomicBool,
    /// Streams that still have frames to send.
    pub(crate) sending: AtomicUsize,
    /// A worker gave up or panicked: the trial cannot be finished.
    pub(crate) failed: AtomicBool,
}

impl Progress {
    pub(crate) fn new(start_ns: u64, stream_count: usize) -> Self {
        Self {
            start_ns,
            streams: (0..stream_count).map(|_| StreamProgress::default()).collect(),
            stop_sending: AtomicBool::new(false),
            stop_receiving: AtomicBool::new(false),
            sending: AtomicUsize::new(stream_count),
            failed: AtomicBool::new(false),
        }
    }

    /// Frames are still to be sent, and someone is there to send them.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.load(Relaxed) > 0 && !self.failed.load(Relaxed)
    }

    pub(crate) fn sample(&self) -> Vec<Sample> {
        let read = |stream: &StreamProgress| Sample {
            offered: stream.offered.load(Relaxed),
            received: stream.received.load(Relaxed),
            next_expected: stream.next_expected.load(Relaxed),
        };
        self.streams.iter().map(read).collect()
    }
}

/// One stream's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) offered: u64,
    pub(crate) received: u64,
    pub(crate) next_expected: u64,
}

/// Frames that are certainly lost: those whose turn had come a window ago and that are still not among the received.
///
/// A frame overtaken by others has a whole window to arrive before it counts.
pub(crate) fn certainly_lost(window_ago: &[Sample], now: &[Sample]) -> u64 {
    window_ago.iter().zip(now).map(|(then, now)| then.next_expected.saturating_sub(now.received)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(received: u64, next_expected: u64) -> Sample {
        Sample { offered: 0, received, next_expected }
    }

    #[test]
    fn a_gap_counts_as_loss_only_a_window_later() {
        let gap_seen = [sample(90, 100)];
        assert_eq!(certainly_lost(&[sample(50, 50)], &gap_seen), 0);
        assert_eq!(certainly_lost(&gap_seen, &[sample(95, 105)]), 5);
        assert_eq!(certainly_lost(&gap_seen, &[sample(120, 121)]), 0);
    }
}
