//! Watches how long other work kept the threads of tester and SUT off their CPUs.

use nodrop_port::host;
use nodrop_port::sched::{ThreadClock, ThreadTimes, threads_of};
use std::collections::VecDeque;
use std::time::Instant;

/// Number of reads kept, of 4 ms each in a trial: longer than a thread of several on a CPU waits for its turn.
const READS_MAX: usize = 128;

/// Time that other work took since the last read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waits {
    /// Longest wait of a thread of the tester, in nanoseconds.
    pub(crate) tester_ns: u64,
    /// Longest wait of a thread of the SUT, in nanoseconds.
    pub(crate) sut_ns: u64,
}

impl Waits {
    /// Return the longest wait of any thread, in nanoseconds.
    pub(crate) fn max_ns(self) -> u64 {
        self.tester_ns.max(self.sut_ns)
    }
}

/// Side of a thread in the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Sends or receives.
    Tester,
    Sut,
    /// A thread of the tester whose own waits delay no frame.
    Helper,
}

#[derive(Debug)]
struct Thread {
    clock: ThreadClock,
    role: Role,
    /// Positions of the watched threads that compete with it for a CPU by design.
    fellows: Vec<usize>,
    last: ThreadTimes,
}

/// What the threads did between two reads.
#[derive(Debug)]
struct Interval {
    time_ns: u64,
    /// By position of the thread.
    ran_ns: Vec<u64>,
}

/// The threads of tester and SUT, and the hypervisor.
#[derive(Debug)]
pub(crate) struct ThreadWatch {
    threads: Vec<Thread>,
    /// The latest first.
    intervals: VecDeque<Interval>,
    read_at: Instant,
    /// Steal time at the last read, in clock ticks; None if this machine reports none since its start.
    steal_ticks: Option<u64>,
}

impl ThreadWatch {
    /// Watch the workers of a trial, and all threads of the SUT's processes.
    pub(crate) fn open(workers: &[u32], sut_pids: &[u32]) -> Self {
        let own = threads_of(std::process::id()).into_iter();
        let tester = own.map(|id| (id, if workers.contains(&id) { Role::Tester } else { Role::Helper }));
        let sut = sut_pids.iter().flat_map(|pid| threads_of(*pid)).map(|id| (id, Role::Sut));
        let open = |(id, role)| {
            let clock = ThreadClock::open(id)?;
            let last = clock.read()?;
            Some(Thread { clock, role, fellows: Vec::new(), last })
        };
        let mut threads: Vec<Thread> = tester.chain(sut).filter_map(open).collect();
        let cpus: Vec<Vec<usize>> = threads.iter().map(|thread| thread.clock.cpus.clone()).collect();
        for (index, fellows) in competitors(&cpus).into_iter().enumerate() {
            threads[index].fellows = fellows;
        }
        let steal_ticks = Some(host::read_steal_ticks()).filter(|ticks| *ticks > 0);
        Self { threads, intervals: VecDeque::new(), read_at: Instant::now(), steal_ticks }
    }

    /// Return the waits since the last call.
    pub(crate) fn read(&mut self) -> Waits {
        let now: Vec<ThreadTimes> =
            self.threads.iter().map(|thread| thread.clock.read().unwrap_or(thread.last)).collect();
        let spent: Vec<ThreadTimes> =
            self.threads.iter().zip(&now).map(|(thread, now)| now.since(thread.last)).collect();
        self.add_interval(spent.iter().map(|times| times.ran_ns).collect());
        let mut waits = Waits::default();
        for ((thread, now), spent) in self.threads.iter_mut().zip(now).zip(spent) {
            let wait_ns =
                spent.waited_for_others_ns(ran_meanwhile_ns(&self.intervals, &thread.fellows, spent.waited_ns));
            thread.last = now;
            match thread.role {
                Role::Tester => waits.tester_ns = waits.tester_ns.max(wait_ns),
                Role::Sut => waits.sut_ns = waits.sut_ns.max(wait_ns),
                Role::Helper => {}
            }
        }
        waits
    }

    fn add_interval(&mut self, ran_ns: Vec<u64>) {
        let now = Instant::now();
        let time_ns = u64::try_from(now.duration_since(self.read_at).as_nanos()).unwrap_or(u64::MAX);
        self.read_at = now;
        self.intervals.truncate(READS_MAX - 1);
        self.intervals.push_front(Interval { time_ns, ran_ns });
    }

    /// Return the CPUs on which threads of tester and SUT may run.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let watched = self.threads.iter().filter(|thread| thread.role != Role::Helper);
        let mut cpus: Vec<usize> = watched.flat_map(|thread| thread.clock.cpus.iter().copied()).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }

    /// Return the time that the hypervisor ran other guests since the last call, in nanoseconds; the kernel counts in
    /// ticks.
    pub(crate) fn read_steal_ns(&mut self) -> u64 {
        let Some(before) = self.steal_ticks else { return 0 };
        let now = host::read_steal_ticks();
        self.steal_ticks = Some(now);
        now.saturating_sub(before) * host::TICK_NS
    }
}

/// Return the time that threads ran in the intervals that a wait may have covered. The kernel adds a wait when it ends:
/// at any time of the latest interval, so that it may have begun some intervals before.
fn ran_meanwhile_ns(intervals: &VecDeque<Interval>, threads: &[usize], wait_ns: u64) -> u64 {
    let mut uncovered_ns = wait_ns + intervals.front().map_or(0, |latest| latest.time_ns);
    let covers = |interval: &&Interval| {
        let is_covered = uncovered_ns > 0;
        uncovered_ns = uncovered_ns.saturating_sub(interval.time_ns);
        is_covered
    };
    let ran_ns = |interval: &Interval| threads.iter().map(|thread| interval.ran_ns[*thread]).sum::<u64>();
    intervals.iter().take_while(covers).map(ran_ns).sum()
}

/// Return, for each thread, the others that may displace it by the design of tester and SUT: those that share its CPUs,
/// if there are more threads than CPUs.
fn competitors(cpus: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let share = |a: &[usize], b: &[usize]| a.iter().any(|cpu| b.contains(cpu));
    let fellows = |index: usize| {
        let others = (0..cpus.len()).filter(|other| *other != index && share(&cpus[index], &cpus[*other]));
        let others: Vec<usize> = others.collect();
        if others.len() >= cpus[index].len() { others } else { Vec::new() }
    };
    (0..cpus.len()).map(fellows).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    #[test]
    fn threads_compete_by_design_if_they_are_more_than_their_cpus() {
        assert_eq!(competitors(&[vec![0], vec![0], vec![1]]), [vec![1], vec![0], vec![]]);
        assert_eq!(competitors(&[vec![0, 1], vec![0, 1], vec![0, 1]]), [vec![1, 2], vec![0, 2], vec![0, 1]]);
        assert_eq!(competitors(&[vec![0, 1, 2, 3], vec![0, 1, 2, 3], vec![3]]), [vec![], vec![], vec![0, 1]]);
    }

    #[test]
    fn a_wait_is_compared_with_the_run_time_since_it_began() {
        let interval = |ran_ns| Interval { time_ns: 4, ran_ns: vec![ran_ns, 9] };
        let intervals: VecDeque<Interval> = [1, 2, 3].map(interval).into();
        let ran_ns = |wait_ns| ran_meanwhile_ns(&intervals, &[0], wait_ns);
        assert_eq!([0, 1, 4, 5, 99].map(ran_ns), [1, 3, 3, 6, 6]);
        assert_eq!(ran_meanwhile_ns(&intervals, &[0, 1], 0), 10);
        assert_eq!(ran_meanwhile_ns(&VecDeque::new(), &[0], 1), 0);
    }

    /// Two threads work on one CPU: the same waits, with the other thread as a competitor by design and without.
    #[test]
    fn a_wait_counts_unless_a_thread_of_tester_or_sut_causes_it() {
        let cpu = ThreadClock::open(std::process::id()).unwrap().cpus[0];
        let (ids, received) = mpsc::channel();
        let is_measured = AtomicBool::new(false);
        let deadline = Instant::now() + Duration::from_secs(60);
        let spin = |ids: mpsc::Sender<u32>| {
            nodrop_port::thread::bind_to_cores(&[cpu]).unwrap();
            ids.send(nodrop_port::thread::current().number()).unwrap();
            while !is_measured.load(Relaxed) && Instant::now() < deadline {
                std::hint::spin_loop();
            }
        };
        let (by_design, by_others) = std::thread::scope(|scope| {
            for _ in 0..2 {
                let ids = ids.clone();
                scope.spawn(move || spin(ids));
            }
            let spinning: Vec<u32> = (0..2).map(|_| received.recv().unwrap()).collect();
            let mut watches = [(); 2].map(|()| ThreadWatch::open(&spinning[..1], &[]));
            watches[1].threads.iter_mut().for_each(|thread| thread.fellows.clear());
            watches.iter_mut().for_each(|watch| _ = watch.read());
            let mut sums = [0; 2];
            while sums[1] <= sums[0] + 20_000_000 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(10));
                for (sum, watch) in sums.iter_mut().zip(&mut watches) {
                    *sum += watch.read().tester_ns;
                }
            }
            is_measured.store(true, Relaxed);
            sums.into()
        });
        assert!(by_others > by_design + 20_000_000, "{by_design} {by_others}");
    }
}
