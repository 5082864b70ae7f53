//! A clock for whole trials in tests.
#![allow(clippy::unwrap_used)] // clippy.toml excuses #[test] functions, not what they call

use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use nodrop_port::clock::{Clock, SystemClock};

/// A clock that goes on only while the engine's workers look at it: a busy machine that keeps them off their CPU costs a trial
/// none of its time, so that what has to happen by then does.
#[derive(Clone, Debug)]
pub struct Patient(Arc<Mutex<Reading>>);

#[derive(Debug)]
struct Reading {
    real_ns: u64,
    shown_ns: u64,
    /// The wall clock goes along, as it does on a host.
    ahead_ns: u64,
    /// The test's own thread, on which the conductor runs.
    own: ThreadId,
    worker_ns: u64,
}

impl Patient {
    /// From one look to the next: some of a worker's naps.
    const STEP_MAX_NS: u64 = 1_000_000;
    /// After this long without a worker's look there is none.
    const WORKER_GONE_NS: u64 = 1_000_000_000;

    pub fn new() -> Self {
        let real_ns = SystemClock.steady_ns();
        let ahead_ns = SystemClock.wall_ns() - real_ns;
        let own = thread::current().id();
        Self(Arc::new(Mutex::new(Reading { real_ns, shown_ns: real_ns, ahead_ns, own, worker_ns: 0 })))
    }
}

impl Clock for Patient {
    fn steady_ns(&self) -> u64 {
        let mut reading = self.0.lock().unwrap();
        let real_ns = SystemClock.steady_ns();
        if thread::current().id() != reading.own {
            reading.worker_ns = real_ns;
        } else if real_ns - reading.worker_ns < Self::WORKER_GONE_NS {
            return reading.shown_ns;
        }
        reading.shown_ns += (real_ns - reading.real_ns).min(Self::STEP_MAX_NS);
        reading.real_ns = real_ns;
        reading.shown_ns
    }

    fn wall_ns(&self) -> u64 {
        let shown_ns = self.steady_ns();
        shown_ns + self.0.lock().unwrap().ahead_ns
    }
}
