//! An ideal queue: a server of exact rate behind a buffer of exact size, by the arrival times of frames. Pure.

/// A queue that serves `rate_pps` and holds `frames_max`; it drops what arrives while it is full.
///
/// Arrival times decide, so the queue is exact however late the forwarder reads its frames, and idle time earns no
/// credit.
#[derive(Clone, Debug)]
pub struct IdealQueue {
    rate_pps: f64,
    frames_max: f64,
    backlog: f64,
    last_ns: u64,
}

impl IdealQueue {
    /// Create an empty queue.
    #[must_use]
    pub fn new(rate_pps: f64, frames_max: u32) -> Self {
        Self { rate_pps, frames_max: f64::from(frames_max), backlog: 0.0, last_ns: 0 }
    }

    /// Return whether the queue accepts a frame that arrived at this time, in nanoseconds. Frames of different ports
    /// may be read slightly out of order.
    pub fn accept(&mut self, time_ns: u64) -> bool {
        let elapsed_ns = time_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(time_ns);
        self.backlog = (self.backlog - elapsed_ns as f64 * self.rate_pps / 1e9).max(0.0);
        let is_accepted = self.backlog + 1.0 <= self.frames_max;
        if is_accepted {
            self.backlog += 1.0;
        }
        is_accepted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames accepted of those sent at a load for a second.
    fn accepted(load_pps: f64, rate_pps: f64, frames_max: u32) -> usize {
        let mut queue = IdealQueue::new(rate_pps, frames_max);
        (0..load_pps as u64).filter(|n| queue.accept(1_000_000_000 + (*n as f64 * 1e9 / load_pps) as u64)).count()
    }

    #[test]
    fn a_load_up_to_the_rate_passes() {
        assert_eq!(accepted(9_999.0, 10_000.0, 4), 9_999);
        assert_eq!(accepted(10_000.0, 10_000.0, 4), 10_000);
    }

    #[test]
    fn of_a_higher_load_the_rate_and_a_buffer_pass() {
        for (load_pps, frames_max) in [(10_100.0, 64), (12_000.0, 64), (50_000.0, 1)] {
            let expected = (10_000 + frames_max as usize).min(load_pps as usize);
            assert!(accepted(load_pps, 10_000.0, frames_max).abs_diff(expected) <= 1, "{load_pps}");
        }
    }

    #[test]
    fn idle_time_earns_no_credit() {
        let mut queue = IdealQueue::new(1000.0, 8);
        assert!(queue.accept(0));
        let burst = (0..100).filter(|_| queue.accept(10_000_000_000)).count();
        assert_eq!(burst, 8);
    }
}
