//! An ideal queue: a server of exact rate behind a buffer of exact size, by the arrival times of frames. Pure.

use std::collections::VecDeque;

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
    frames: VecDeque<QueuedFrame>,
}

/// A frame in the queue.
#[derive(Clone, Debug)]
struct QueuedFrame {
    /// Time at which its service ends, in nanoseconds.
    departure_ns: u64,
    /// Port at which it arrived.
    port: usize,
    bytes: Box<[u8]>,
}

impl IdealQueue {
    /// Create an empty queue.
    #[must_use]
    pub fn new(rate_pps: f64, frames_max: u32) -> Self {
        Self { rate_pps, frames_max: f64::from(frames_max), backlog: 0.0, last_ns: 0, frames: VecDeque::new() }
    }

    /// Return whether the queue accepts a frame that arrived at this port at this time, in nanoseconds. Frames of
    /// different ports may be read slightly out of order.
    pub fn accept(&mut self, port: usize, bytes: &[u8], time_ns: u64) -> bool {
        let elapsed_ns = time_ns.saturating_sub(self.last_ns);
        self.last_ns = self.last_ns.max(time_ns);
        self.backlog = (self.backlog - elapsed_ns as f64 * self.rate_pps / 1e9).max(0.0);
        let is_accepted = self.backlog + 1.0 <= self.frames_max;
        if is_accepted {
            self.backlog += 1.0;
            let departure_ns = self.last_ns + (self.backlog * 1e9 / self.rate_pps) as u64;
            self.frames.push_back(QueuedFrame { departure_ns, port, bytes: bytes.into() });
        }
        is_accepted
    }

    /// Return the time at which the service of the first frame ends.
    #[must_use]
    pub fn next_departure_ns(&self) -> Option<u64> {
        self.frames.front().map(|frame| frame.departure_ns)
    }

    /// Remove the first frame if its service ends by `now_ns`; return its port and bytes.
    pub fn depart(&mut self, now_ns: u64) -> Option<(usize, Box<[u8]>)> {
        self.frames.front().filter(|frame| frame.departure_ns <= now_ns)?;
        self.frames.pop_front().map(|frame| (frame.port, frame.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frames accepted of those sent at a load for a second.
    fn accepted(load_pps: f64, rate_pps: f64, frames_max: u32) -> usize {
        let mut queue = IdealQueue::new(rate_pps, frames_max);
        (0..load_pps as u64)
            .filter(|n| queue.accept(0, &[], 1_000_000_000 + (*n as f64 * 1e9 / load_pps) as u64))
            .count()
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
        assert!(queue.accept(0, &[], 0));
        let burst = (0..100).filter(|_| queue.accept(0, &[], 10_000_000_000)).count();
        assert_eq!(burst, 8);
    }

    #[test]
    fn a_frame_departs_after_those_before_it_and_its_own_service() {
        let mut queue = IdealQueue::new(1000.0, 8);
        for (port, time_ns) in [(0, 1_000_000), (1, 1_000_000), (0, 900_000), (1, 9_000_000)] {
            assert!(queue.accept(port, &[port as u8], time_ns));
        }
        assert_eq!(queue.depart(1_999_999), None);
        let departures = [(2_000_000, 0), (3_000_000, 1), (4_000_000, 0), (10_000_000, 1)];
        for (departure_ns, port) in departures {
            assert_eq!(queue.next_departure_ns(), Some(departure_ns));
            assert_eq!(queue.depart(departure_ns), Some((port, vec![port as u8].into_boxed_slice())));
        }
        assert_eq!(queue.next_departure_ns(), None);
    }
}
