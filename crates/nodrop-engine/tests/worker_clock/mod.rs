//! A clock for complete trials in tests.
#![allow(clippy::unwrap_used)] // clippy.toml excuses #[test] functions, not what they call

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use nodrop_port::clock::{Clock, SystemClock};

/// A clock that advances only while the engine's workers read it: if a busy machine preempts them, the trial loses no
/// time, so that everything due by a time happens by then.
#[derive(Clone, Debug)]
pub struct WorkerClock(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    real_ns: u64,
    shown_ns: u64,
    /// Offset of the wall clock, which advances together with this clock.
    ahead_ns: u64,
    /// Thread of the test, on which the conductor runs.
    own: ThreadId,
    worker_ns: u64,
}

impl WorkerClock {
    /// Maximum step between two reads: several naps of a worker.
    const STEP_MAX_NS: u64 = 1_000_000;
    /// Time without a read by a worker after which no worker is running.
    const WORKER_GONE_NS: u64 = 1_000_000_000;

    pub fn new() -> Self {
        let real_ns = SystemClock.steady_ns();
        let ahead_ns = SystemClock.wall_ns() - real_ns;
        let own = thread::current().id();
        Self(Arc::new(Mutex::new(State { real_ns, shown_ns: real_ns, ahead_ns, own, worker_ns: 0 })))
    }
}

impl Clock for WorkerClock {
    fn steady_ns(&self) -> u64 {
        let mut state = self.0.lock().unwrap();
        let real_ns = SystemClock.steady_ns();
        if thread::current().id() != state.own {
            state.worker_ns = real_ns;
        } else if real_ns - state.worker_ns < Self::WORKER_GONE_NS {
            return state.shown_ns;
        }
        state.shown_ns += (real_ns - state.real_ns).min(Self::STEP_MAX_NS);
        state.real_ns = real_ns;
        state.shown_ns
    }

    fn wall_ns(&self) -> u64 {
        let shown_ns = self.steady_ns();
        shown_ns + self.0.lock().unwrap().ahead_ns
    }
}
