//! A wrapper that drops, repeats, delays and corrupts received frames by count, so that tests know the exact result.

use std::collections::VecDeque;

use crate::{PortError, Receive, ReceivedFrame};

/// Faults by arrival number; zero disables a fault. Counted from 1, so `drop_every: 10` drops the 10th, 20th, ...
///
/// If several faults match one arrival, drop wins over delay, and delay over corruption and repetition; the repeated
/// frame is intact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Drop every n-th frame.
    pub drop_every: u64,
    /// Deliver every n-th frame twice.
    pub repeat_every: u64,
    /// Delay every n-th frame by `delay_frames` later arrivals, at least one.
    pub delay_every: u64,
    /// Number of later arrivals.
    pub delay_frames: u64,
    /// Flip the lowest bit of the last byte of every n-th frame.
    pub corrupt_every: u64,
}

/// A receiver with injected faults.
#[derive(Debug)]
pub struct FaultRx<R> {
    inner: R,
    faults: Faults,
    seen: u64,
    /// Delayed frames: arrival number at which they are due, content, arrival time.
    delayed: VecDeque<(u64, Vec<u8>, u64)>,
}

impl<R: Receive> FaultRx<R> {
    /// Wrap a receiver.
    pub fn new(inner: R, faults: Faults) -> Self {
        Self { inner, faults, seen: 0, delayed: VecDeque::new() }
    }
}

/// Deliver a frame that is neither dropped nor delayed.
fn deliver(faults: &Faults, seen: u64, frame: ReceivedFrame<'_>, sink: &mut impl FnMut(ReceivedFrame<'_>)) {
    if matches(faults.corrupt_every, seen) {
        let mut bytes = frame.bytes.to_vec();
        bytes.last_mut().into_iter().for_each(|last| *last ^= 1);
        sink(ReceivedFrame { bytes: &bytes, ..frame });
    } else {
        sink(frame);
    }
    if matches(faults.repeat_every, seen) {
        sink(frame);
    }
}

fn matches(every: u64, seen: u64) -> bool {
    every != 0 && seen.is_multiple_of(every)
}

impl<R: Receive> Receive for FaultRx<R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let Self { inner, faults, seen, delayed } = self;
        inner.receive(budget, |frame| {
            *seen += 1;
            if matches(faults.delay_every, *seen) && !matches(faults.drop_every, *seen) {
                delayed.push_back((*seen + faults.delay_frames.max(1), frame.bytes.to_vec(), frame.time_ns));
            } else if !matches(faults.drop_every, *seen) {
                deliver(faults, *seen, frame, &mut sink);
            }
            let due = delayed.iter().take_while(|(until, ..)| *until <= *seen).count();
            for (_, bytes, time_ns) in delayed.drain(..due) {
                sink(ReceivedFrame { bytes: &bytes, time_ns });
            }
        })
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        self.inner.take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        self.inner.queue_slots()
    }

    fn stamps_on_arrival(&self) -> bool {
        self.inner.stamps_on_arrival()
    }
}
