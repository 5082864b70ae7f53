//! Scheduling of threads as the kernel accounts for it, of any process of this machine.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Times of a thread since its start (Documentation/scheduler/sched-stats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// Time on a CPU, in nanoseconds.
    pub ran_ns: u64,
    /// Time runnable while other work had its CPU, in nanoseconds; the kernel adds a wait when it ends.
    pub waited_ns: u64,
    /// Number of times it was given a CPU.
    pub slice_count: u64,
}

/// Reads the times of one thread; the file stays open, so a read costs about a microsecond.
#[derive(Debug)]
pub struct ThreadClock {
    schedstat: File,
    /// CPUs on which the thread may run, in ascending order.
    pub cpus: Vec<usize>,
}

impl ThreadClock {
    /// Open the clock of a thread; None if it has ended, or the kernel has no such accounting (`CONFIG_SCHED_INFO`).
    #[must_use]
    pub fn open(thread: u32) -> Option<Self> {
        let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let clock =
            Self { schedstat: File::open(format!("/proc/{thread}/schedstat")).ok()?, cpus: parse_cpu_list(list) };
        clock.read().map(|_| clock)
    }

    /// Read the times; None once the thread has ended.
    #[must_use]
    pub fn read(&self) -> Option<ThreadTimes> {
        let mut text = [0; 96];
        let len = self.schedstat.read_at(&mut text, 0).ok()?;
        let mut values = std::str::from_utf8(&text[..len]).ok()?.split_whitespace().map_while(|word| word.parse().ok());
        Some(ThreadTimes { ran_ns: values.next()?, waited_ns: values.next()?, slice_count: values.next()? })
    }
}

/// Return the ids of a process's threads; empty if it has ended.
#[must_use]
pub fn threads_of(process: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Parse a list of CPUs such as `0-2,5` (cpuset(7), "List format").
fn parse_cpu_list(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_works_has_run_and_one_that_has_ended_has_no_clock() {
        let own = ThreadClock::open(std::process::id()).unwrap();
        let before = own.read().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_millis(20);
        while std::time::Instant::now() < deadline {}
        std::thread::yield_now();
        assert!(before.slice_count > 0 && !own.cpus.is_empty());
        assert!(threads_of(std::process::id()).contains(&std::process::id()));
        assert!(ThreadClock::open(u32::MAX >> 1).is_none() && threads_of(u32::MAX >> 1).is_empty());
    }

    #[test]
    fn a_list_of_cpus_contains_single_ones_and_ranges() {
        assert_eq!(parse_cpu_list("\t0-2,5\n"), [0, 1, 2, 5]);
        assert!(parse_cpu_list("").is_empty());
    }
}
