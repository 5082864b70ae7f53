//! Counters shared by workers and conductor while a trial runs: a few per series, each written by only one thread.

use nodrop_model::TrialRequest;
use nodrop_port::thread;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::CachePadded;

/// Lateness that is reported to the conductor.
const LATE_NS: u64 = 100_000;

/// A receiver's counters of a series.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    /// Distinct frames received.
    pub(crate) received: AtomicU64,
    /// Frames that were missing when the loss check began and still are.
    pub(crate) overdue: AtomicU64,
    pub(crate) latency: ArrivalLatency,
}

/// Latency of a series, if it is requested by window.
#[derive(Debug)]
pub(crate) struct ArrivalLatency {
    /// Frames measured since the trial began, and the sum of their latencies.
    pub(crate) count: AtomicU64,
    pub(crate) sum_ns: AtomicU64,
    /// Extremes since the conductor last took them.
    pub(crate) min_ns: AtomicU64,
    pub(crate) max_ns: AtomicU64,
}

impl Default for ArrivalLatency {
    fn default() -> Self {
        let [count, sum_ns, max_ns] = [0; 3].map(AtomicU64::new);
        Self { count, sum_ns, min_ns: AtomicU64::new(u64::MAX), max_ns }
    }
}

/// State of a trial shared by workers and conductor.
#[derive(Debug)]
pub(crate) struct SharedCounters {
    /// Monotonic time at which the first frame is due.
    pub(crate) start_ns: u64,
    /// Frames sent, by series.
    pub(crate) offered: Vec<CachePadded<AtomicU64>>,
    pub(crate) arrivals: Vec<CachePadded<Arrivals>>,
    /// End of sending, relative to `start_ns`; may be brought forward or postponed during the trial.
    pub(crate) end_ns: AtomicU64,
    /// Time after the end in which frames due by the end are still sent; shorter once the end is brought forward.
    pub(crate) grace_ns: AtomicU64,
    /// Number of loss checks begun by the conductor; receivers record missing frames when it changes.
    pub(crate) loss_check: AtomicU64,
    /// Set when receivers shall finish.
    pub(crate) stop_receiving: AtomicBool,
    /// Number of ports that still have frames to send.
    pub(crate) sending: AtomicUsize,
    /// Set when a worker failed or panicked, so the trial cannot be completed.
    pub(crate) failed: AtomicBool,
    /// Frames that senders skipped because they were overdue.
    pub(crate) unsent: AtomicU64,
    /// Longest time by which a sender has moved the timetable of a burst, in nanoseconds.
    pub(crate) shift_ns: AtomicU64,
    /// Largest lateness of a frame since the conductor last took it, in nanoseconds.
    pub(crate) lateness_ns: AtomicU64,
    /// Ids of the workers' threads, each added when it starts.
    worker_ids: Mutex<Vec<u32>>,
}

impl SharedCounters {
    pub(crate) fn new(start_ns: u64, end_ns: u64, series_count: usize, sending_ports: usize) -> Self {
        Self {
            start_ns,
            offered: (0..series_count).map(|_| CachePadded::default()).collect(),
            arrivals: (0..series_count).map(|_| CachePadded::default()).collect(),
            end_ns: AtomicU64::new(end_ns),
            grace_ns: AtomicU64::new(TrialRequest::END_GRACE_NS),
            loss_check: AtomicU64::new(0),
            stop_receiving: AtomicBool::new(false),
            sending: AtomicUsize::new(sending_ports),
            failed: AtomicBool::new(false),
            unsent: AtomicU64::new(0),
            shift_ns: AtomicU64::new(0),
            lateness_ns: AtomicU64::new(0),
            worker_ids: Mutex::new(Vec::new()),
        }
    }

    /// Return true if frames remain to be sent and no worker has failed.
    pub(crate) fn is_sending(&self) -> bool {
        self.sending.load(Relaxed) > 0 && !self.failed.load(Relaxed)
    }

    /// Record the lateness of a frame, if it is notable.
    #[inline]
    pub(crate) fn note_lateness(&self, late_ns: u64) {
        if late_ns > LATE_NS {
            self.lateness_ns.fetch_max(late_ns, Relaxed);
        }
    }

    /// Record the calling worker's thread.
    pub(crate) fn register_worker(&self) {
        self.worker_ids.lock().unwrap_or_else(PoisonError::into_inner).push(thread::current().number());
    }

    pub(crate) fn worker_ids(&self) -> Vec<u32> {
        self.worker_ids.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn sample(&self) -> Vec<Sample> {
        let read = |(offered, arrivals): (&CachePadded<AtomicU64>, &CachePadded<Arrivals>)| Sample {
            offered: offered.load(Relaxed),
            received: arrivals.received.load(Relaxed),
            overdue: arrivals.overdue.load(Relaxed),
        };
        self.offered.iter().zip(&self.arrivals).map(read).collect()
    }
}

/// A sample of a series' counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) offered: u64,
    pub(crate) received: u64,
    pub(crate) overdue: u64,
}
