//! Threads of the SUT, and frames in the kernel, that other work keeps off their CPUs at this moment.

use nodrop_port::observe::{ReceiveBacklog, read_receive_backlogs};
use nodrop_port::sched::{ThreadClock, is_runnable, threads_of};

/// Watches threads that could run, and the receive backlog of each CPU, which the thread ksoftirqd empties when there
/// are many frames: beside threads of a higher priority it may get no CPU for seconds.
#[derive(Debug)]
pub(crate) struct StarvationWatch {
    threads: Vec<WatchedThread>,
    backlogs: Vec<ReceiveBacklog>,
}

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
        let threads = pids.iter().flat_map(|pid| threads_of(*pid)).filter_map(open).collect();
        Self { threads, backlogs: read_receive_backlogs() }
    }

    /// Return whether a thread, or the kernel for frames that wait, could have run since the last call, but has not. The
    /// time between two calls must be longer than a tick, after which the kernel accounts for a thread that runs.
    pub(crate) fn is_starved(&mut self) -> bool {
        // Every thread is read, for the next call.
        let threads_starved = self.threads.iter_mut().filter_map(|thread| thread.is_starved().then_some(())).count();
        let before = std::mem::replace(&mut self.backlogs, read_receive_backlogs());
        threads_starved > 0 || has_standing_backlog(&before, &self.backlogs)
    }
}

impl WatchedThread {
    fn is_starved(&mut self) -> bool {
        let Some(times) = self.clock.read() else { return false };
        let has_run = times.ran_ns != std::mem::replace(&mut self.ran_ns, times.ran_ns);
        !has_run && is_runnable(self.id)
    }
}

/// Return whether frames waited in the backlog of a CPU, and none was taken from it.
fn has_standing_backlog(before: &[ReceiveBacklog], after: &[ReceiveBacklog]) -> bool {
    let is_standing = |(before, after): (&ReceiveBacklog, &ReceiveBacklog)| {
        before.waiting_count > 0 && after.waiting_count > 0 && before.processed_count == after.processed_count
    };
    before.iter().zip(after).any(is_standing)
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

    #[test]
    fn a_backlog_stands_if_frames_wait_and_none_is_taken() {
        let backlog = |processed_count, waiting_count| {
            [ReceiveBacklog { cpu: 0, processed_count, dropped_count: 0, time_squeeze_count: 0, waiting_count }]
        };
        assert!(has_standing_backlog(&backlog(7, 1), &backlog(7, 3)));
        assert!(!has_standing_backlog(&backlog(7, 1), &backlog(8, 3)), "one was taken");
        assert!(!has_standing_backlog(&backlog(7, 0), &backlog(7, 1)), "it has only just come");
    }
}
