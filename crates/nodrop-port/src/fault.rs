//! A receiver around a receiver that loses, repeats, reorders and corrupts frames on purpose, by count, so that tests know
//! exactly what the engine must find.

use std::collections::VecDeque;

use crate::{PortError, Receive, Received};

/// Which arrivals to spoil; zero means none. Counted from 1, so `drop_every: 10` drops the 10th, 20th, ...
///
/// An arrival that several name is dropped, else held back, else corrupted and repeated, the second time as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Drop every n-th frame.
    pub drop_every: u64,
    /// Deliver every n-th frame twice.
    pub repeat_every: u64,
    /// Deliver every n-th frame after so many arrivals that follow it, one where `delay_frames` is zero.
    pub delay_every: u64,
    /// How many that is.
    pub delay_frames: u64,
    /// Flip the lowest bit of the last byte of every n-th frame.
    pub corrupt_every: u64,
}

/// The spoiled receiver.
#[derive(Debug)]
pub struct FaultRx<R> {
    inner: R,
    faults: Faults,
    seen: u64,
    /// Until how many have been seen, content, arrival.
    held: VecDeque<(u64, Vec<u8>, u64)>,
}

impl<R: Receive> FaultRx<R> {
    /// Wrap a receiver.
    pub fn new(inner: R, faults: Faults) -> Self {
        Self { inner, faults, seen: 0, held: VecDeque::new() }
    }
}

/// A frame that is neither dropped nor held back.
fn deliver(faults: &Faults, seen: u64, frame: Received<'_>, sink: &mut impl FnMut(Received<'_>)) {
    if hits(faults.corrupt_every, seen) {
        let mut bytes = frame.bytes.to_vec();
        bytes.last_mut().into_iter().for_each(|last| *last ^= 1);
        sink(Received { bytes: &bytes, ..frame });
    } else {
        sink(frame);
    }
    if hits(faults.repeat_every, seen) {
        sink(frame);
    }
}

fn hits(every: u64, seen: u64) -> bool {
    every != 0 && seen.is_multiple_of(every)
}

impl<R: Receive> Receive for FaultRx<R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        let Self { inner, faults, seen, held } = self;
        inner.receive(budget, |frame| {
            *seen += 1;
            if hits(faults.delay_every, *seen) && !hits(faults.drop_every, *seen) {
                held.push_back((*seen + faults.delay_frames.max(1), frame.bytes.to_vec(), frame.time_ns));
            } else if !hits(faults.drop_every, *seen) {
                deliver(faults, *seen, frame, &mut sink);
            }
            let due = held.iter().take_while(|(until, ..)| *until <= *seen).count();
            for (_, bytes, time_ns) in held.drain(..due) {
                sink(Received { bytes: &bytes, time_ns });
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
