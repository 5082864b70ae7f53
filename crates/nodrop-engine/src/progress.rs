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
    /// Frames that were missing when the window began and still are.
    pub(crate) overdue: AtomicU64,
}

/// A trial as workers and conductor share it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Steady-clock time at which the first frame is due.
    pub(crate) start_ns: u64,
    pub(crate) streams: Vec<StreamProgress>,
    /// Since then: when sending ends. May be brought forward while it goes on.
    pub(crate) end_ns: AtomicU64,
    /// Windows closed so far; receivers note what is missing when they see it change.
    pub(crate) window: AtomicU64,
    /// Receive no more.
    pub(crate) stop_receiving: AtomicBool,
    /// Streams that still have frames to send.
    pub(crate) sending: AtomicUsize,
    /// A worker gave up or panicked: the trial cannot be finished.
    pub(crate) failed: AtomicBool,
}

impl Progress {
    pub(crate) fn new(start_ns: u64, duration_ns: u64, stream_count: usize) -> Self {
        Self {
            start_ns,
            streams: (0..stream_count).map(|_| StreamProgress::default()).collect(),
            end_ns: AtomicU64::new(duration_ns),
            window: AtomicU64::new(0),
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
            overdue: stream.overdue.load(Relaxed),
        };
        self.streams.iter().map(read).collect()
    }
}

/// One stream's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) offered: u64,
    pub(crate) received: u64,
    pub(crate) overdue: u64,
}
