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

/// Wait for a CPU that each wake-up costs on an idle machine.
const WAKE_UP_NS: u64 = 5_000;

impl ThreadTimes {
    /// Return the times of the calling thread; zero if the kernel does not account for them (`CONFIG_SCHED_INFO`).
    #[must_use]
    pub fn read_current() -> Self {
        let schedstat = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        Self::parse(&schedstat).unwrap_or_default()
    }

    fn parse(schedstat: &str) -> Option<Self> {
        let mut values = schedstat.split_whitespace().map_while(|word| word.parse().ok());
        Some(Self { ran_ns: values.next()?, waited_ns: values.next()?, slice_count: values.next()? })
    }

    /// Return the times since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            ran_ns: self.ran_ns.saturating_sub(earlier.ran_ns),
            waited_ns: self.waited_ns.saturating_sub(earlier.waited_ns),
            slice_count: self.slice_count.saturating_sub(earlier.slice_count),
        }
    }

    /// Return the time for which work other than that of `by_design_ns` kept the thread off its CPU.
    #[must_use]
    pub fn waited_for_others_ns(self, by_design_ns: u64) -> u64 {
        self.waited_ns.saturating_sub(by_design_ns + self.slice_count * WAKE_UP_NS)
    }
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
        ThreadTimes::parse(std::str::from_utf8(&text[..len]).ok()?)
    }
}

/// Return whether a thread runs or waits for a CPU (state R of proc_pid_stat(5)); false if it has ended.
#[must_use]
pub fn is_runnable(thread: u32) -> bool {
    // The name, in parentheses, may contain anything.
    let stat = fs::read_to_string(format!("/proc/{thread}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('R'))
}

/// Return the ids of a process's threads; empty if it has ended.
#[must_use]
pub fn threads_of(process: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Parse a list of CPUs such as `0-2,5` (cpuset(7), "List format").
pub(crate) fn parse_cpu_list(list: &str) -> Vec<usize> {
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
        assert!(!is_runnable(u32::MAX >> 1));
    }

    #[test]
    fn a_list_of_cpus_contains_single_ones_and_ranges() {
        assert_eq!(parse_cpu_list("\t0-2,5\n"), [0, 1, 2, 5]);
        assert!(parse_cpu_list("").is_empty());
    }
}
