//! The receiving half of a port: reads the sockets of its queues round robin.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::Arc;

use super::program::{self, STAMP_BYTES};
use super::socket::{ReceiveRings, XdpSocket};
use super::{FrameSelection, umem::Umem};
use crate::af_packet::PromiscuousMode;
use crate::bpf::{Link, Map, MapKind, XdpMode};
use crate::clock::{Clock, SystemClock, WallOffset};
use crate::{PortError, Receive, ReceivedFrame, host};

/// Number of frames to prefetch ahead.
const PREFETCH: u32 = 4;

/// A receive queue.
#[derive(Debug)]
struct Queue {
    socket: Arc<XdpSocket>,
    rings: ReceiveRings,
}

/// The receiving half of a port.
#[derive(Debug)]
pub struct XdpRx {
    // Dropped before the sockets, so that no frame is redirected to a closed socket.
    _link: Link,
    _promiscuous: PromiscuousMode,
    queues: Vec<Queue>,
    /// Index of the queue to read first next time.
    next_queue: usize,
    offset: WallOffset,
    drops_seen: u64,
    interface_drops_seen: u64,
}

impl XdpRx {
    /// Hand all receive memory to the kernel and attach the receive program.
    pub(super) fn start(
        interface: &str,
        sockets: Vec<Arc<XdpSocket>>,
        selection: &FrameSelection,
    ) -> Result<(Self, Option<String>), PortError> {
        let map = Map::create(MapKind::SocketMap, 4, 4, sockets.len())?;
        let mut queues = Vec::new();
        for socket in sockets {
            let Some(mut rings) = socket.take_receive_rings() else { continue };
            fill_ring(&mut rings, &socket.umem);
            map.update(&socket.queue.to_ne_bytes(), &socket.descriptor().as_raw_fd().to_ne_bytes())?;
            queues.push(Queue { socket, rings });
        }
        let promiscuous = PromiscuousMode::new(interface)?;
        let program = program::load(&map, selection)?;
        let (link, generic) = match program.attach_xdp(interface, XdpMode::Native) {
            Ok(link) => (link, None),
            Err(error) => (program.attach_xdp(interface, XdpMode::Generic)?, Some(error.to_string())),
        };
        let rx = Self {
            _link: link,
            _promiscuous: promiscuous,
            queues,
            next_queue: 0,
            offset: WallOffset::new(&SystemClock),
            drops_seen: 0,
            interface_drops_seen: host::interface_receive_drops(interface),
        };
        Ok((rx, generic))
    }
}

/// Hand all chunks of the receiver to the kernel.
fn fill_ring(rings: &mut ReceiveRings, umem: &Umem) {
    for slot in 0..rings.slots {
        rings.fill.write(slot, rings.base + u64::from(slot) * umem.chunk_bytes as u64);
    }
    rings.fill.publish(rings.slots);
}

impl Queue {
    #[inline]
    fn receive(&mut self, budget: usize, offset: &mut WallOffset, sink: &mut impl FnMut(ReceivedFrame<'_>)) -> usize {
        let Self { socket, rings } = self;
        let count = rings.descriptors.available(budget.min(rings.slots as usize) as u32);
        if count == 0 {
            if rings.fill.needs_wakeup() {
                socket.kick_receiving();
            }
            return 0;
        }
        let offset_ns = offset.current(&SystemClock);
        let chunk_mask = !(socket.umem.chunk_bytes as u64 - 1);
        for ahead in 0..count {
            if ahead + PREFETCH < count {
                prefetch(socket.umem.pointer_to(rings.descriptors.read(ahead + PREFETCH).addr as usize));
            }
            let descriptor = rings.descriptors.read(ahead);
            let frame = socket.umem.pointer_to(descriptor.addr as usize);
            // SAFETY: the kernel handed over this frame with this length, and does not touch it until it is returned
            // below; there is headroom for metadata in front of it.
            let (stamp_ns, bytes) = unsafe {
                let stamp = frame.sub(STAMP_BYTES).cast::<u64>();
                // A timestamp is cleared after use, so that a frame without one does not get that of its predecessor.
                let stamp_ns = stamp.read_unaligned();
                stamp.write_unaligned(0);
                (stamp_ns, std::slice::from_raw_parts(frame, descriptor.len as usize))
            };
            let time_ns = if stamp_ns == 0 { SystemClock.wall_ns() } else { stamp_ns.wrapping_add(offset_ns) };
            sink(ReceivedFrame { bytes, time_ns });
            rings.fill.write(ahead, descriptor.addr & chunk_mask);
        }
        rings.descriptors.release(count);
        rings.fill.publish(count);
        if rings.fill.needs_wakeup() {
            socket.kick_receiving();
        }
        count as usize
    }
}

#[inline]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, valid for any address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

impl Receive for XdpRx {
    #[inline]
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let (before, after) = self.queues.split_at_mut(self.next_queue);
        let mut count = 0;
        for queue in after.iter_mut().chain(before) {
            count += queue.receive(budget - count, &mut self.offset, &mut sink);
        }
        self.next_queue = (self.next_queue + 1) % self.queues.len();
        Ok(count)
    }

    /// Return the larger of the frames that found no space in the sockets and the frames that the interface dropped;
    /// some drivers count the former among the latter.
    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        let mut drops = 0;
        for queue in &self.queues {
            drops += queue.socket.drop_count()?;
        }
        let interface_drops = host::interface_receive_drops(&self.queues[0].socket.interface);
        let seen = std::mem::replace(&mut self.drops_seen, drops);
        let interface_seen = std::mem::replace(&mut self.interface_drops_seen, interface_drops);
        Ok((drops - seen).max(interface_drops.saturating_sub(interface_seen)))
    }

    fn queue_slots(&self) -> u32 {
        self.queues[0].rings.slots
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (self.queues.len() == 1).then(|| self.queues[0].socket.descriptor())
    }
}
