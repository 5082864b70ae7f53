//! Threads of the SUT that other work keeps off their CPUs at this moment.

use nodrop_port::sched::{ThreadClock, is_runnable, threads_of};

/// Watches threads that could run.
#[derive(Debug)]
pub(crate) struct StarvationWatch(Vec<WatchedThread>);

#[derive(Debug)]
struct WatchedThread {
    id: u32,
    clock: ThreadClock,
    ran_ns: u64,
}

impl StarvationWatch {
    /// Watch all threads of these processes.
    pub(crate) fn open(pids: &[u32]) -> Self {
        let open = |id| {
            let clock = ThreadClock::open(id)?;
            let ran_ns = clock.read()?.ran_ns;
            Some(WatchedThread { id, clock, ran_ns })
        };
        Self(pids.iter().flat_map(|pid| threads_of(*pid)).filter_map(open).collect())
    }

    /// Return whether a thread could have run since the last call, but has not. The time between two calls must be longer
    /// than a tick, after which the kernel accounts for a thread that runs.
    pub(crate) fn is_starved(&mut self) -> bool {
        // Every thread is read, for the next call.
        self.0.iter_mut().filter_map(|thread| thread.is_starved().then_some(())).count() > 0
    }
}

impl WatchedThread {
    fn is_starved(&mut self) -> bool {
        let Some(times) = self.clock.read() else { return false };
        let has_run = times.ran_ns != std::mem::replace(&mut self.ran_ns, times.ran_ns);
        !has_run && is_runnable(self.id)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_thread_that_sleeps_or_runs_is_not_starved() {
        let mut sleeper = Command::new("sleep").arg("60").stdout(Stdio::null()).spawn().unwrap();
        let mut watch = StarvationWatch::open(&[sleeper.id(), u32::MAX >> 1]);
        std::thread::sleep(Duration::from_millis(20));
        watch.is_starved(); // it may have started only now
        std::thread::sleep(Duration::from_millis(20));
        assert!(!watch.is_starved());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(!watch.is_starved(), "it has ended");
    }
}
