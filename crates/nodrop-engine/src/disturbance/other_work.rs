//! Names the work that took CPU time from tester and SUT.

use nodrop_model::{DisturbanceRule, OtherWork};
use nodrop_port::observe::cpu_time::{CpuTimeMeter, rank_by_time};

/// Maximum number of entries in a reply.
const ENTRIES_MAX: usize = 8;
/// Shortest CPU time worth an entry.
const TIME_MIN_NS: u64 = 1_000_000;

/// Measures the CPU time of all processes but tester and SUT during a trial.
#[derive(Debug)]
pub(crate) struct OtherWorkMeter {
    meter: CpuTimeMeter,
    excluded: Vec<u32>,
}

impl OtherWorkMeter {
    /// Start measuring; takes some milliseconds.
    pub(crate) fn start(rule: &DisturbanceRule) -> Self {
        let excluded = rule.sut_pids.iter().copied().chain([std::process::id()]).collect();
        Self { meter: CpuTimeMeter::start(), excluded }
    }

    /// Return the work on these CPUs, longest first.
    pub(crate) fn read(&self, cpus: &[usize]) -> Vec<OtherWork> {
        let ranked = rank_by_time(&self.meter.read(&self.excluded), cpus).into_iter();
        let notable = ranked.take_while(|(_, time_ns)| *time_ns >= TIME_MIN_NS).take(ENTRIES_MAX);
        notable
            .map(|(user, time_ns)| OtherWork {
                name: user.name,
                pid: Some(user.pid).filter(|pid| *pid > 0),
                cpu: user.cpu,
                time_s: time_ns as f64 / 1e9,
            })
            .collect()
    }
}
