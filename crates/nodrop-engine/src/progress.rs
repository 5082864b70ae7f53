//! What workers let the conductor see while they run: a few counters per group, each written by one thread only.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Apart from its neighbours' cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Apart<T>(pub(crate) T);

/// What a receiver tells of a group.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Distinct frames received.
    pub(crate) received: AtomicU64,
    /// Frames that were missing when the look began and still are.
    pub(crate) overdue: AtomicU64,
}

/// A trial as workers and conductor share it.
#[derive(Debug)]
pub(crate) struct Progress {
    /// Steady-clock time at which the first frame is due.
    pub(crate) start_ns: u64,
    /// Frames sent, by group.
    pub(crate) offered: Vec<Apart<AtomicU64>>,
    pub(crate) arrivals: Vec<Apart<Arrivals>>,
    /// Since then: when sending ends. May be brought forward while it goes on.
    pub(crate) end_ns: AtomicU64,
    /// Looks the conductor has taken; receivers note what is missing when they see it change.
    pub(crate) look: AtomicU64,
    /// Receive no more.
    pub(crate) stop_receiving: AtomicBool,
    /// Ports that still have frames to send.
    pub(crate) sending: AtomicUsize,
    /// A worker gave up or panicked: the trial cannot be finished.
    pub(crate) failed: AtomicBool,
}

impl Progress {
    pub(crate) fn new(start_ns: u64, duration_ns: u64, group_count: usize, sending_ports: usize) -> Self {
        Self {
            start_ns,
            offered: (0..group_count).map(|_| Apart::default()).collect(),
            arrivals: (0..group_count).map(|_| Apart::default()).collect(),
            end_ns: AtomicU64::new(duration_ns),
            look: AtomicU64::new(0),
            stop_receiving: AtomicBool::new(false),
            sending: AtomicUsize::new(sending_ports),
            failed: AtomicBool::new(false),
        }
    }

    /// Frames are still to be sent, and someone is there to send them.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.load(Relaxed) > 0 && !self.failed.load(Relaxed)
    }

    pub(crate) fn sample(&self) -> Vec<Sample> {
        let read = |(offered, arrivals): (&Apart<AtomicU64>, &Apart<Arrivals>)| Sample {
            offered: offered.0.load(Relaxed),
            received: arrivals.0.received.load(Relaxed),
            overdue: arrivals.0.overdue.load(Relaxed),
        };
        self.offered.iter().zip(&self.arrivals).map(read).collect()
    }
}

/// One group's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) offered: u64,
    pub(crate) received: u64,
    pub(crate) overdue: u64,
}
