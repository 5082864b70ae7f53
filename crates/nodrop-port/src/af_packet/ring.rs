//! Receiving through a TPACKET_V2 ring shared with the kernel (Documentation/networking/packet_mmap.rst).

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, Ordering, fence};

use super::socket::PacketSocket;
use crate::{PortError, Receive, ReceivedFrame, SNAP_BYTES, VLAN_TAG_BYTES, WireInfo, host};

const BLOCK_BYTES: u32 = 1 << 20;
/// Bits of tp_status (linux/if_packet.h).
const VLAN_VALID: u32 = 1 << 4;
const VLAN_TPID_VALID: u32 = 1 << 6;
/// Guaranteed number of bytes kept from the magic on.
const MARK_BYTES: usize = 32;
/// Length of the two addresses at the start of an Ethernet frame.
const ADDRESSES_BYTES: usize = 12;
const RING_REMEDY: &str = "use fewer queue slots or free memory";

/// Memory layout of a ring.
#[derive(Clone, Copy, Debug)]
struct Layout {
    slot_bytes: u32,
    slots: u32,
}

impl Layout {
    /// Return a layout with at least `slots` slots that each hold `frame_bytes` of a frame after the kernel's header.
    fn new(frame_bytes: usize, slots: u32) -> Self {
        // 66 bytes of tpacket2_hdr, sockaddr_ll and alignment precede an Ethernet frame.
        let slot_bytes = (frame_bytes as u32 + 80).next_power_of_two();
        let per_block = BLOCK_BYTES / slot_bytes;
        Self { slot_bytes, slots: slots.div_ceil(per_block) * per_block }
    }

    fn request(self) -> libc::tpacket_req {
        libc::tpacket_req {
            tp_block_size: BLOCK_BYTES,
            tp_block_nr: self.bytes() as u32 / BLOCK_BYTES,
            tp_frame_size: self.slot_bytes,
            tp_frame_nr: self.slots,
        }
    }

    fn bytes(self) -> usize {
        self.slot_bytes as usize * self.slots as usize
    }
}

/// A received frame, still in the ring.
#[derive(Debug)]
struct RingFrame<'a> {
    /// Bytes of the frame that fit the slot.
    bytes: &'a [u8],
    /// Arrival time, wall clock, in nanoseconds since the epoch.
    time_ns: u64,
    /// Header written by the kernel.
    header: &'a libc::tpacket2_hdr,
}

impl RingFrame<'_> {
    /// Return the frame's length and tag on the wire; only for a ring that does not restore tags.
    fn original(&self) -> WireInfo {
        let vlan_tag = (self.header.tp_status & VLAN_VALID != 0).then(|| vlan_tag(self.header));
        let frame_len = self.header.tp_len as usize + vlan_tag.map_or(0, |tag| tag.len());
        WireInfo { frame_len, vlan_tag }
    }
}

/// Return the VLAN tag that the kernel removed from a frame.
fn vlan_tag(header: &libc::tpacket2_hdr) -> [u8; VLAN_TAG_BYTES] {
    let tpid = if header.tp_status & VLAN_TPID_VALID != 0 { header.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    (u32::from(tpid) << 16 | u32::from(header.tp_vlan_tci)).to_be_bytes()
}

/// Frames that the interface counts as dropped and that no socket received.
///
/// `__netif_receive_skb_core` also counts in `rx_dropped` a VLAN frame whose inner EtherType has no handler (a second
/// tag, MPLS), although packet sockets have already received the frame.
#[derive(Debug)]
struct InterfaceDrops {
    handled_types: Vec<u16>,
    at_open: u64,
    false_count: u64,
    reported: u64,
}

impl InterfaceDrops {
    fn new(interface: &str) -> Self {
        let at_open = host::interface_receive_drops(interface);
        Self { handled_types: host::handled_ether_types(), at_open, false_count: 0, reported: 0 }
    }

    /// Record a received frame whose removed tag was followed by this EtherType.
    fn note_received(&mut self, ethernet_type: u16) {
        self.false_count += u64::from(!self.handled_types.contains(&ethernet_type));
    }

    /// Return the drops since the last call, given the interface's counter.
    fn take(&mut self, drops: u64) -> u64 {
        let lost = drops.saturating_sub(self.at_open + self.false_count).max(self.reported);
        lost - std::mem::replace(&mut self.reported, lost)
    }
}

/// The receiving half of a port.
#[derive(Debug)]
pub struct PacketRx {
    socket: PacketSocket,
    memory: *mut u8,
    layout: Layout,
    next: u32,
    drops: InterfaceDrops,
    /// Whether to restore the VLAN tag that the kernel removes from every received frame.
    restores_tags: bool,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that created it.
unsafe impl Send for PacketRx {}

impl PacketRx {
    /// Open `interface` for test frames only, keeping the start of each; see [`super::open`].
    ///
    /// # Errors
    /// If the interface does not exist or the kernel denies raw access or memory.
    pub fn open_filtered(interface: &str, queue_slots: u32, magic: u32, offsets: &[usize]) -> Result<Self, PortError> {
        let socket = PacketSocket::open(interface)?;
        socket.filter_by_magic(magic, offsets)?;
        let last = offsets.iter().max().map_or(0, |offset| offset + MARK_BYTES);
        Self::start(socket, Layout::new(last.max(SNAP_BYTES), queue_slots), false, libc::ETH_P_ALL)
    }

    /// Open `interface` for all frames, complete and with their VLAN tags. A frame longer than `frame_bytes` is
    /// truncated at some length beyond that.
    ///
    /// # Errors
    /// Same as [`PacketRx::open_filtered`].
    pub fn open_unfiltered(interface: &str, queue_slots: u32, frame_bytes: usize) -> Result<Self, PortError> {
        let layout = Layout::new(frame_bytes + VLAN_TAG_BYTES, queue_slots);
        Self::start(PacketSocket::open(interface)?, layout, true, libc::ETH_P_ALL)
    }

    /// Open a ring for frames of one protocol as seen by the kernel, without the VLAN tag that it removes; a frame
    /// longer than `SNAP_BYTES` is truncated at some length beyond that.
    pub(super) fn open_protocol(
        socket: PacketSocket,
        queue_slots: u32,
        protocol: libc::c_int,
    ) -> Result<Self, PortError> {
        Self::start(socket, Layout::new(SNAP_BYTES + VLAN_TAG_BYTES, queue_slots), true, protocol)
    }

    fn start(
        socket: PacketSocket,
        layout: Layout,
        restores_tags: bool,
        protocol: libc::c_int,
    ) -> Result<Self, PortError> {
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_VERSION,
            &version,
            "use a version 2 ring",
            "needs Linux 2.6.27 or later",
        )?;
        let on: libc::c_int = 1;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &on,
            "ignore outgoing frames",
            "needs Linux 4.20 or later",
        )?;
        socket.set(libc::SOL_PACKET, libc::PACKET_RX_RING, &layout.request(), "set up a receive ring", RING_REMEDY)?;
        let memory = map(&socket, layout)?;
        let drops = InterfaceDrops::new(&socket.interface);
        let ring = Self { socket, memory, layout, next: 0, drops, restores_tags };
        ring.socket.promiscuous()?;
        ring.socket.bind(protocol as u16)?;
        Ok(ring)
    }

    /// Pass up to `budget` waiting frames, oldest first, to `take`, then return their slots to the kernel.
    fn with_batch<T>(
        &mut self,
        budget: usize,
        consume: impl FnOnce(&mut dyn Iterator<Item = RingFrame<'_>>) -> T,
    ) -> T {
        let limit = budget.min(self.layout.slots as usize) as u32;
        let ready = (0..limit).take_while(|ahead| self.is_ready(*ahead)).count() as u32;
        fence(Ordering::Acquire);
        let result = {
            let ring = &*self;
            // SAFETY: these slots belong to user space until released below, and each is handed out once.
            consume(&mut (0..ready).map(|ahead| unsafe { ring.frame(ahead) }))
        };
        for ahead in 0..ready {
            if self.status(ahead).load(Ordering::Relaxed) & VLAN_VALID != 0 {
                self.drops.note_received(self.inner_ether_type(ahead));
            }
            self.status(ahead).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        }
        self.next = (self.next + ready) % self.layout.slots;
        result
    }

    #[inline]
    fn slot(&self, ahead: u32) -> *mut u8 {
        let index = (self.next + ahead) % self.layout.slots;
        // SAFETY: `index` is below the number of slots in the mapping.
        unsafe { self.memory.add(index as usize * self.layout.slot_bytes as usize) }
    }

    #[inline]
    fn status(&self, ahead: u32) -> &AtomicU32 {
        // SAFETY: tp_status is the first, aligned 32-bit field of a slot in the mapping, shared with the kernel.
        unsafe { AtomicU32::from_ptr(self.slot(ahead).cast()) }
    }

    #[inline]
    fn is_ready(&self, ahead: u32) -> bool {
        self.status(ahead).load(Ordering::Relaxed) & libc::TP_STATUS_USER != 0
    }

    /// Return the EtherType of a ready frame whose tag the kernel removed.
    fn inner_ether_type(&self, ahead: u32) -> u16 {
        let slot = self.slot(ahead);
        // SAFETY: a ready slot starts with the header the kernel wrote, and the frame behind it has addresses and type.
        unsafe {
            let header = &*slot.cast::<libc::tpacket2_hdr>();
            let ether_type = slot.add(usize::from(header.tp_mac) + ADDRESSES_BYTES);
            u16::from_be_bytes([*ether_type, *ether_type.add(1)])
        }
    }

    /// # Safety
    /// The slot must be ready, and no other reference to its bytes may live.
    #[inline]
    unsafe fn frame(&self, ahead: u32) -> RingFrame<'_> {
        let slot = self.slot(ahead);
        // SAFETY: a ready slot starts with the header the kernel wrote, and `tp_mac` and `tp_snaplen` stay inside it.
        unsafe {
            let header = &*slot.cast::<libc::tpacket2_hdr>();
            let tagged = self.restores_tags && header.tp_status & VLAN_VALID != 0;
            let bytes = if tagged { tagged_frame(slot, header) } else { untagged_frame(slot, header) };
            let time_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
            RingFrame { bytes, time_ns, header }
        }
    }
}

/// Return a frame as it is in its slot.
///
/// # Safety
/// `header` must be the header of the ready slot at `slot`.
#[inline]
unsafe fn untagged_frame<'a>(slot: *mut u8, header: &libc::tpacket2_hdr) -> &'a [u8] {
    // SAFETY: `tp_mac` and `tp_snaplen` stay inside a ready slot.
    unsafe { std::slice::from_raw_parts(slot.add(usize::from(header.tp_mac)), header.tp_snaplen as usize) }
}

/// Return a frame with its VLAN tag restored between addresses and type, by moving the addresses into the gap in front.
///
/// # Safety
/// Same as [`untagged_frame`], once per frame.
unsafe fn tagged_frame<'a>(slot: *mut u8, header: &libc::tpacket2_hdr) -> &'a [u8] {
    let tag = vlan_tag(header);
    // SAFETY: at least 14 unused bytes lie between the kernel's own headers and an Ethernet frame (TPACKET_ALIGN of
    // TPACKET2_HDRLEN + 16, less 14), and the frame has addresses.
    unsafe {
        let frame = slot.add(usize::from(header.tp_mac));
        let start = frame.sub(VLAN_TAG_BYTES);
        std::ptr::copy(frame, start, ADDRESSES_BYTES);
        std::ptr::copy_nonoverlapping(tag.as_ptr(), start.add(ADDRESSES_BYTES), VLAN_TAG_BYTES);
        std::slice::from_raw_parts(start, header.tp_snaplen as usize + VLAN_TAG_BYTES)
    }
}

impl Receive for PacketRx {
    #[inline]
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        Ok(self.with_batch(budget, |frames| {
            frames.map(|frame| sink(ReceivedFrame { bytes: frame.bytes, time_ns: frame.time_ns })).count()
        }))
    }

    fn receive_with_wire_info(
        &mut self,
        budget: usize,
        mut sink: impl FnMut(ReceivedFrame<'_>, WireInfo),
    ) -> Result<usize, PortError> {
        Ok(self.with_batch(budget, |frames| {
            frames
                .map(|frame| sink(ReceivedFrame { bytes: frame.bytes, time_ns: frame.time_ns }, frame.original()))
                .count()
        }))
    }

    /// Return the frames lost to a full ring (`tp_drops`, incremented by `tpacket_rcv`) plus the frames dropped by the
    /// kernel before the socket; both are losses of the tester.
    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: `stats` is valid for writes of `len` bytes. Reading resets the kernel's counters.
        let result = unsafe {
            libc::getsockopt(
                self.socket.raw(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut len,
            )
        };
        if result != 0 {
            return Err(self.socket.failed("read drop counters", "needs Linux 2.6 or later"));
        }
        Ok(u64::from(stats.tp_drops) + self.drops.take(host::interface_receive_drops(&self.socket.interface)))
    }

    fn queue_slots(&self) -> u32 {
        self.layout.slots
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.descriptor())
    }
}

impl Drop for PacketRx {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.memory.cast(), self.layout.bytes()) };
    }
}

fn map(socket: &PacketSocket, layout: Layout) -> Result<*mut u8, PortError> {
    // SAFETY: asks for a fresh mapping of the socket's ring; the result is checked.
    let memory = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            layout.bytes(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            socket.raw(),
            0,
        )
    };
    if memory == libc::MAP_FAILED {
        return Err(socket.failed("map the receive ring", RING_REMEDY));
    }
    Ok(memory.cast())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_that_were_received_are_not_dropped_whatever_the_interface_counts() {
        let mut drops = InterfaceDrops { handled_types: vec![0x0800], at_open: 7, false_count: 0, reported: 0 };
        [0x8100, 0x0800, 0x8847].into_iter().for_each(|ethernet_type| drops.note_received(ethernet_type));
        assert_eq!([9, 9, 12, 12, 13].map(|count| drops.take(count)), [0, 0, 3, 0, 1]);
    }
}
