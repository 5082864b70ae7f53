//! Speed of the SUT's CPUs during a trial: time in which one is clearly slower than usual is disturbed.
//!
//! The reason for a slow CPU is work that no account of this machine shows: another hardware thread of its core, often of
//! another guest, or a lower clock rate.

use nodrop_model::{CpuSpeed, DisturbanceRule};
use nodrop_port::cpu_speed::{list_core_cpus, list_isolated_cpus, time_calculation_ns};
use nodrop_port::sched::{ThreadClock, threads_of};
use nodrop_port::thread;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Time between two samples. Each takes some 40 µs of the SUT's CPU, with both context switches.
const INTERVAL_NS: u64 = 12_000_000;
/// A CPU that takes this much longer than usual for the same calculation is slow.
const SLOW_RATIO: f64 = 1.1;
/// Samples by which the usual speed is known.
const SAMPLES_MIN: usize = 16;
/// Latest samples that determine the usual speed, 20 s.
const SAMPLES_MAX: usize = 1600;
/// Samples after which the usual speed is determined again.
const UPDATE_INTERVAL: u32 = 16;
/// Most CPUs to sample.
const CPUS_MAX: usize = 16;

/// Times of the calculation on one CPU, in trials since the ports were opened.
#[derive(Debug, Default)]
struct SpeedHistory {
    latest_ns: VecDeque<u32>,
    fastest_ns: u32,
    /// Median of the latest times; zero until it is known.
    usual_ns: u32,
    since_update: u32,
}

impl SpeedHistory {
    /// Add a sample; return whether it is slow.
    fn add(&mut self, time_ns: u32) -> bool {
        self.fastest_ns = if self.latest_ns.is_empty() { time_ns } else { self.fastest_ns.min(time_ns) };
        self.latest_ns.push_back(time_ns);
        if self.latest_ns.len() > SAMPLES_MAX {
            self.latest_ns.pop_front();
        }
        self.since_update += 1;
        if self.latest_ns.len() >= SAMPLES_MIN && (self.usual_ns == 0 || self.since_update >= UPDATE_INTERVAL) {
            let mut times: Vec<u32> = self.latest_ns.iter().copied().collect();
            let middle = times.len() / 2;
            self.usual_ns = *times.select_nth_unstable(middle).1;
            self.since_update = 0;
        }
        self.usual_ns > 0 && f64::from(time_ns) > SLOW_RATIO * f64::from(self.usual_ns)
    }
}

/// What is known of the speeds of CPUs from earlier trials.
#[derive(Debug, Default)]
pub(crate) struct SpeedHistories(BTreeMap<usize, SpeedHistory>);

/// Latest sample of a CPU.
#[derive(Debug)]
struct Sampler {
    cpu: usize,
    /// Longest time since it was read, in nanoseconds; zero without a sample.
    time_ns: AtomicU32,
}

/// Samples the speed of the SUT's CPUs, each on a thread of its own.
#[derive(Debug)]
pub(crate) struct SpeedSamplers {
    samplers: Vec<Sampler>,
    has_ended: AtomicBool,
}

impl SpeedSamplers {
    /// Choose the CPUs that threads of the SUT are pinned to; if it has the tester's CPUs, those of `tester_cpus`.
    ///
    /// A CPU whose core tester and SUT share with it by other threads is left out, as these slow each other down by
    /// design, and so is an isolated one, which should execute nothing else.
    pub(crate) fn new(rule: Option<&DisturbanceRule>, tester_cpus: &[usize]) -> Self {
        let Some(rule) = rule else { return Self::of(&[]) };
        let threads = rule.sut_pids.iter().flat_map(|pid| threads_of(*pid)).filter_map(ThreadClock::open);
        let mut cpus: Vec<usize> =
            threads.filter_map(|clock| <[usize; 1]>::try_from(clock.cpus).ok()).flatten().collect();
        if rule.sut_shares_cpu {
            cpus.extend(tester_cpus);
        }
        cpus.sort_unstable();
        cpus.dedup();
        let mut used = [&cpus, tester_cpus].concat();
        used.sort_unstable();
        used.dedup();
        let isolated = list_isolated_cpus();
        let has_own_core = |cpu: usize| !list_core_cpus(cpu).iter().any(|other| *other != cpu && used.contains(other));
        cpus.retain(|cpu| !isolated.contains(cpu) && has_own_core(*cpu));
        cpus.truncate(CPUS_MAX);
        Self::of(&cpus)
    }

    fn of(cpus: &[usize]) -> Self {
        let samplers = cpus.iter().map(|cpu| Sampler { cpu: *cpu, time_ns: AtomicU32::new(0) }).collect();
        Self { samplers, has_ended: AtomicBool::new(false) }
    }

    /// Start the threads; they end soon after [`Self::end`].
    pub(crate) fn start<'scope>(&'scope self, scope: &'scope std::thread::Scope<'scope, '_>) {
        for sampler in &self.samplers {
            scope.spawn(move || {
                if thread::bind_to_cores(&[sampler.cpu]).is_err() {
                    return;
                }
                thread::reduce_timer_slack();
                while !self.has_ended.load(Relaxed) {
                    sampler.time_ns.fetch_max(time_calculation_ns(), Relaxed);
                    thread::sleep_ns(INTERVAL_NS);
                }
            });
        }
    }

    /// End the threads.
    pub(crate) fn end(&self) {
        self.has_ended.store(true, Relaxed);
    }
}

/// Speeds of one CPU in a trial.
#[derive(Clone, Copy, Debug, Default)]
struct SpeedSums {
    sample_count: u32,
    /// Sum of the reciprocal times, in 1/ns.
    speed: f64,
    slow_s: f64,
    /// The latest sample was slow.
    is_slow: bool,
}

/// Collects the samples of a trial.
#[derive(Debug)]
pub(crate) struct SpeedWatch<'a> {
    samplers: &'a SpeedSamplers,
    sums: Vec<SpeedSums>,
    last_s: f64,
}

impl<'a> SpeedWatch<'a> {
    pub(crate) fn new(samplers: &'a SpeedSamplers) -> Self {
        Self { samplers, sums: vec![SpeedSums::default(); samplers.samplers.len()], last_s: 0.0 }
    }

    /// Return the time since the last call, in seconds, if a CPU was slow by its latest sample, otherwise zero.
    pub(crate) fn read_slow_s(&mut self, now_s: f64, histories: &mut SpeedHistories) -> f64 {
        let passed_s = now_s - std::mem::replace(&mut self.last_s, now_s);
        let mut slow_s = 0.0;
        for (sampler, sums) in self.samplers.samplers.iter().zip(&mut self.sums) {
            let time_ns = sampler.time_ns.swap(0, Relaxed);
            if time_ns > 0 {
                sums.sample_count += 1;
                sums.speed += 1.0 / f64::from(time_ns);
                sums.is_slow = histories.0.entry(sampler.cpu).or_default().add(time_ns);
            }
            if sums.is_slow {
                sums.slow_s += passed_s;
                slow_s = passed_s;
            }
        }
        slow_s
    }

    /// Return the speeds during the trial.
    pub(crate) fn speeds(&self, histories: &SpeedHistories) -> Vec<CpuSpeed> {
        let speed = |(sampler, sums): (&Sampler, &SpeedSums)| {
            let history = histories.0.get(&sampler.cpu).filter(|history| history.usual_ns > 0)?;
            let fastest_ns = f64::from(history.fastest_ns);
            (sums.sample_count > 0).then(|| CpuSpeed {
                cpu: sampler.cpu as u32,
                mean_ratio: fastest_ns * sums.speed / f64::from(sums.sample_count),
                usual_ratio: fastest_ns / f64::from(history.usual_ns),
                slow_time_s: sums.slow_s,
            })
        };
        self.samplers.samplers.iter().zip(&self.sums).filter_map(speed).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_is_slow_in_comparison_with_its_usual_speed() {
        let mut history = SpeedHistory::default();
        let slow = |history: &mut SpeedHistory, times: &[u32]| times.iter().filter(|time| history.add(**time)).count();
        assert_eq!(slow(&mut history, &[1000; 20]), 0);
        assert_eq!(slow(&mut history, &[1000, 1500, 1080, 1500]), 2);
        // Slow for most of the time, it has become the usual speed.
        assert!(slow(&mut history, &[1500; 2000]) < 100);
        assert_eq!(slow(&mut history, &[1500; 10]), 0);
        assert_eq!((history.fastest_ns, history.usual_ns), (1000, 1500));
    }

    #[test]
    fn without_samples_no_speed_is_stated() {
        let (samplers, mut histories) = (SpeedSamplers::of(&[0]), SpeedHistories::default());
        let mut watch = SpeedWatch::new(&samplers);
        assert_eq!(watch.read_slow_s(0.004, &mut histories), 0.0);
        assert_eq!(watch.speeds(&histories), []);
    }

    #[test]
    fn slow_time_is_the_time_between_two_reads() {
        let (samplers, mut histories) = (SpeedSamplers::of(&[0]), SpeedHistories::default());
        let mut watch = SpeedWatch::new(&samplers);
        for slot in 1..=100 {
            samplers.samplers[0].time_ns.store(if slot > 90 { 2000 } else { 1000 }, Relaxed);
            let slow_s = watch.read_slow_s(f64::from(slot) * 0.004, &mut histories);
            assert_eq!(slow_s > 0.0, slot > 90);
        }
        let speeds = watch.speeds(&histories);
        assert!((speeds[0].slow_time_s - 0.04).abs() < 1e-9 && (speeds[0].mean_ratio - 0.95).abs() < 1e-9);
        assert_eq!(speeds[0].usual_ratio, 1.0);
    }
}
