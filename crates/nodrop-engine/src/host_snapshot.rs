//! Snapshots of the host's resource usage.

use nodrop_port::clock::Clock;
use nodrop_port::host;

/// Resource usage and clocks of the host at one time.
pub(crate) struct HostSnapshot {
    host: host::HostCounters,
    steady_ns: u64,
    wall_ns: u64,
}

/// Resource usage between two snapshots.
pub(crate) struct Usage {
    pub(crate) steal_ratio: f64,
    pub(crate) cpu_ratio: f64,
    pub(crate) clock_step_ns: u64,
}

impl HostSnapshot {
    pub(crate) fn take(clock: &impl Clock) -> Self {
        Self { host: host::read(), steady_ns: clock.steady_ns(), wall_ns: clock.wall_ns() }
    }

    pub(crate) fn usage_since(&self, before: &Self) -> Usage {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        let steady_ns = self.steady_ns - before.steady_ns;
        let wall_ns = self.wall_ns.wrapping_sub(before.wall_ns);
        Usage {
            steal_ratio: ratio(
                self.host.steal_ticks.saturating_sub(before.host.steal_ticks),
                self.host.total_ticks.saturating_sub(before.host.total_ticks),
            ),
            cpu_ratio: ratio(self.host.process_cpu_ns - before.host.process_cpu_ns, steady_ns),
            clock_step_ns: (wall_ns.wrapping_sub(steady_ns) as i64).unsigned_abs(),
        }
    }
}
