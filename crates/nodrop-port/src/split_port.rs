//! Shares a kernel-bypass port between trials and the ARP/ND responder: neighbor messages are diverted from received
//! frames, and both can send.

use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::{Clock, SystemClock};
use crate::{Fill, PortError, Receive, ReceivedFrame, Transmit, WireInfo};

/// Maximum number of diverted frames; further ones are dropped.
const DIVERTED_MAX: usize = 1024;
/// Time without a read by a trial after which the responder reads the port itself.
const IDLE_NS: u64 = 100_000_000;

/// Predicate that selects the frames to divert.
pub type NeighborFilter = fn(&[u8]) -> bool;

/// A sending half with several owners; each call has exclusive access.
#[derive(Debug)]
pub struct SharedTx<T>(Arc<Mutex<T>>);

/// The receiving half of trials.
#[derive(Debug)]
pub struct SharedRx<R>(Arc<Shared<R>>);

/// The receiving half of the responder.
#[derive(Debug)]
pub struct NeighborRx<R>(Arc<Shared<R>>);

#[derive(Debug)]
struct Shared<R> {
    port: Mutex<R>,
    is_neighbor: NeighborFilter,
    diverted: Mutex<VecDeque<Vec<u8>>>,
    last_read_ns: AtomicU64,
}

/// The port of trials.
pub type TrialPort<T, R> = (SharedTx<T>, SharedRx<R>);

/// The port of the responder.
pub type NeighborPort<T, R> = (SharedTx<T>, NeighborRx<R>);

/// Split a port into one for trials and one for the responder.
#[must_use]
pub fn split<T, R>(tx: T, rx: R, is_neighbor: NeighborFilter) -> (TrialPort<T, R>, NeighborPort<T, R>) {
    let tx = Arc::new(Mutex::new(tx));
    let last_read_ns = AtomicU64::new(SystemClock.steady_ns());
    let rx = Arc::new(Shared { port: Mutex::new(rx), is_neighbor, diverted: Mutex::default(), last_read_ns });
    ((SharedTx(tx.clone()), SharedRx(rx.clone())), (SharedTx(tx), NeighborRx(rx)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<R> Shared<R> {
    #[cold]
    fn divert(&self, bytes: &[u8]) {
        let mut diverted = lock(&self.diverted);
        if diverted.len() < DIVERTED_MAX {
            diverted.push_back(bytes.to_vec());
        }
    }
}

impl<T: Transmit> Transmit for SharedTx<T> {
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError> {
        lock(&self.0).transmit(count, frame_len_max, fill)
    }

    fn batch_max(&self) -> u64 {
        lock(&self.0).batch_max()
    }
}

impl<R: Receive> Receive for SharedRx<R> {
    // A shared port may itself contain any back end; the sink is a trait object because generic sinks would nest types
    // without end.
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let Shared { port, is_neighbor, last_read_ns, .. } = &*self.0;
        last_read_ns.store(SystemClock.steady_ns(), Relaxed);
        let mut take =
            |frame: ReceivedFrame<'_>| if is_neighbor(frame.bytes) { self.0.divert(frame.bytes) } else { sink(frame) };
        lock(port).receive(budget, &mut take as &mut dyn FnMut(ReceivedFrame<'_>))
    }

    fn receive_with_wire_info(
        &mut self,
        budget: usize,
        mut sink: impl FnMut(ReceivedFrame<'_>, WireInfo),
    ) -> Result<usize, PortError> {
        let Shared { port, is_neighbor, last_read_ns, .. } = &*self.0;
        last_read_ns.store(SystemClock.steady_ns(), Relaxed);
        let mut take = |frame: ReceivedFrame<'_>, original: WireInfo| {
            if is_neighbor(frame.bytes) {
                self.0.divert(frame.bytes);
            }
            sink(frame, original);
        };
        lock(port).receive_with_wire_info(budget, &mut take as &mut dyn FnMut(ReceivedFrame<'_>, WireInfo))
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        lock(&self.0.port).take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        lock(&self.0.port).queue_slots()
    }

    fn stamps_on_arrival(&self) -> bool {
        lock(&self.0.port).stamps_on_arrival()
    }
}

impl<R: Receive> Receive for NeighborRx<R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let Shared { port, is_neighbor, diverted, last_read_ns } = &*self.0;
        let now_ns = SystemClock.steady_ns();
        if now_ns.saturating_sub(last_read_ns.load(Relaxed)) > IDLE_NS
            && let Ok(mut port) = port.try_lock()
        {
            let mut take = |frame: ReceivedFrame<'_>| {
                if is_neighbor(frame.bytes) {
                    self.0.divert(frame.bytes);
                }
            };
            port.receive(budget, &mut take as &mut dyn FnMut(ReceivedFrame<'_>))?;
        }
        let waiting: Vec<Vec<u8>> = {
            let mut diverted = lock(diverted);
            let count = budget.min(diverted.len());
            diverted.drain(..count).collect()
        };
        let time_ns = SystemClock.wall_ns();
        waiting.iter().for_each(|bytes| sink(ReceivedFrame { bytes, time_ns }));
        Ok(waiting.len())
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        Ok(0)
    }

    fn queue_slots(&self) -> u32 {
        DIVERTED_MAX as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slot;
    use crate::loopback;

    fn send(tx: &mut impl Transmit, frame: &[u8]) {
        let fill = |_, slot: Slot<'_>| {
            slot.bytes.copy_from_slice(frame);
            frame.len()
        };
        assert_eq!(tx.transmit(1, frame.len(), fill).unwrap(), 1);
    }

    fn received(rx: &mut impl Receive) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        rx.receive(64, |frame| frames.push(frame.bytes.to_vec())).unwrap();
        frames
    }

    #[test]
    fn frames_set_aside_do_not_reach_the_trial_and_both_can_send() {
        let [(tx, rx), (mut far_tx, mut far_rx)] = loopback::pair(64);
        let ((mut tx, mut rx), (mut neighbor_tx, mut neighbor_rx)) = split(tx, rx, |frame| frame[0] == 7);
        for frame in [[1, 1], [7, 2], [1, 3]] {
            send(&mut far_tx, &frame);
        }
        assert_eq!(received(&mut rx), [[1, 1], [1, 3]]);
        assert_eq!(received(&mut neighbor_rx), [[7, 2]]);
        send(&mut tx, &[1, 4]);
        send(&mut neighbor_tx, &[7, 5]);
        assert_eq!(received(&mut far_rx), [[1, 4], [7, 5]]);
    }

    #[test]
    fn between_trials_frames_set_aside_are_found_without_anybody_reading() {
        let [(tx, rx), (mut far_tx, _)] = loopback::pair(64);
        let (_trial, (_, mut neighbors)) = split(tx, rx, |frame| frame[0] == 7);
        send(&mut far_tx, &[7, 1]);
        assert!(received(&mut neighbors).is_empty());
        neighbors.0.last_read_ns.store(0, Relaxed);
        assert_eq!(received(&mut neighbors), [[7, 1]]);
    }
}
