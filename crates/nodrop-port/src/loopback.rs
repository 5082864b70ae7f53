//! In-memory ports: each port of a pair receives what the other sends. For tests, and the simplest back end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::{Clock, SystemClock};
use crate::{Fill, PortError, Receive, ReceivedFrame, Slot, Transmit};

/// One direction of the wire.
#[derive(Debug)]
struct Wire {
    frames: VecDeque<(Vec<u8>, u64)>,
    queue_slots: u32,
    drop_count: u64,
}

type SharedWire = Arc<Mutex<Wire>>;

fn lock(wire: &SharedWire) -> MutexGuard<'_, Wire> {
    wire.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sending half.
#[derive(Debug)]
pub struct LoopbackTx {
    wire: SharedWire,
    buffer: Vec<u8>,
}

/// The receiving half.
#[derive(Debug)]
pub struct LoopbackRx {
    wire: SharedWire,
}

/// Create two connected ports, each with a receive queue of `queue_slots` frames.
#[must_use]
pub fn pair(queue_slots: u32) -> [(LoopbackTx, LoopbackRx); 2] {
    let wire = || Arc::new(Mutex::new(Wire { frames: VecDeque::new(), queue_slots, drop_count: 0 }));
    let (forth, back) = (wire(), wire());
    let port = |out: &SharedWire, into: &SharedWire| {
        (LoopbackTx { wire: out.clone(), buffer: Vec::new() }, LoopbackRx { wire: into.clone() })
    };
    [port(&forth, &back), port(&back, &forth)]
}

impl Transmit for LoopbackTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        for position in 0..count {
            self.buffer.resize(frame_len_max, 0);
            let frame_len = fill.fill(position, Slot { bytes: &mut self.buffer, tag: &mut { u32::MAX } });
            let mut wire = lock(&self.wire);
            if wire.frames.len() < wire.queue_slots as usize {
                wire.frames.push_back((self.buffer[..frame_len].to_vec(), SystemClock.wall_ns()));
            } else {
                wire.drop_count += 1;
            }
        }
        Ok(count)
    }
}

impl Receive for LoopbackRx {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let mut count = 0;
        while count < budget {
            let Some((bytes, time_ns)) = lock(&self.wire).frames.pop_front() else { break };
            sink(ReceivedFrame { bytes: &bytes, time_ns });
            count += 1;
        }
        Ok(count)
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        Ok(std::mem::take(&mut lock(&self.wire).drop_count))
    }

    fn queue_slots(&self) -> u32 {
        lock(&self.wire).queue_slots
    }
}
