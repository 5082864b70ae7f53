//! The rings of an AF_XDP socket: each has one producer and one consumer, one of which is the kernel (`net/xdp/xsk_queue.h`).

use std::sync::atomic::{AtomicU32, Ordering};

use crate::PortError;

/// A mapped ring. Entries are addresses (`u64`) or descriptors (`xdp_desc`).
#[derive(Debug)]
struct Ring<T> {
    memory: *mut u8,
    bytes: usize,
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    flags: *const AtomicU32,
    entries: *mut T,
    mask: u32,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that created it.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Map the ring of `slots` entries at `page_offset` of a socket.
    fn map(
        interface: &str,
        fd: libc::c_int,
        slots: u32,
        offset: libc::xdp_ring_offset,
        page_offset: libc::off_t,
    ) -> Result<Self, PortError> {
        let bytes = offset.desc as usize + slots as usize * size_of::<T>();
        // SAFETY: asks for a fresh mapping of the socket's ring; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd,
                page_offset,
            )
        };
        if memory == libc::MAP_FAILED {
            return Err(PortError::last_os(interface, "map an AF_XDP ring", "use fewer queue slots"));
        }
        // SAFETY: the kernel gave these offsets for this mapping, each suitably aligned.
        Ok(unsafe { Self::at(memory.cast(), bytes, slots, offset) })
    }

    /// # Safety
    /// `memory` must be a mapping of `bytes` that this ring may unmap, and `offset` must lie in it, suitably aligned.
    unsafe fn at(memory: *mut u8, bytes: usize, slots: u32, offset: libc::xdp_ring_offset) -> Self {
        // SAFETY: as the caller guarantees.
        unsafe {
            Self {
                memory,
                bytes,
                producer: memory.add(offset.producer as usize).cast(),
                consumer: memory.add(offset.consumer as usize).cast(),
                flags: memory.add(offset.flags as usize).cast(),
                entries: memory.add(offset.desc as usize).cast(),
                mask: slots - 1,
            }
        }
    }

    #[inline]
    fn entry(&self, position: u32) -> *mut T {
        // SAFETY: the mask keeps the index within the ring.
        unsafe { self.entries.add((position & self.mask) as usize) }
    }

    #[inline]
    fn producer(&self) -> &AtomicU32 {
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { &*self.producer }
    }

    #[inline]
    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { &*self.consumer }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}

/// A ring that this process fills and the kernel empties: the send ring and the fill ring.
#[derive(Debug)]
pub(super) struct Producer<T> {
    ring: Ring<T>,
    /// Position of the next entry, published by [`Producer::publish`].
    position: u32,
    /// The kernel's position, as last read.
    consumed: u32,
}

impl<T: Copy> Producer<T> {
    /// Map the ring of `slots` entries at `page_offset` of a socket.
    pub(super) fn map(
        interface: &str,
        fd: libc::c_int,
        slots: u32,
        offset: libc::xdp_ring_offset,
        page_offset: libc::off_t,
    ) -> Result<Self, PortError> {
        Ok(Self { ring: Ring::map(interface, fd, slots, offset, page_offset)?, position: 0, consumed: 0 })
    }

    /// Return the number of entries that can be written, up to `limit`.
    #[inline]
    pub(super) fn free_entries(&mut self, limit: u32) -> u32 {
        let free = |producer: &Self| producer.ring.mask + 1 - producer.position.wrapping_sub(producer.consumed);
        if free(self) < limit {
            self.consumed = self.consumed();
        }
        free(self).min(limit)
    }

    /// Write the entry `ahead` of the position; it must be free, or published and not consumed yet.
    #[inline]
    pub(super) fn write(&mut self, ahead: u32, entry: T) {
        // SAFETY: a valid pointer into the ring; the protocol gives this entry to the producer.
        unsafe { self.ring.entry(self.position.wrapping_add(ahead)).write(entry) }
    }

    /// Read back the entry `ahead` of the position.
    #[inline]
    pub(super) fn read(&self, ahead: u32) -> T {
        // SAFETY: a valid pointer into the ring; the kernel does not write to this ring's entries.
        unsafe { self.ring.entry(self.position.wrapping_add(ahead)).read() }
    }

    /// Hand over `count` written entries.
    #[inline]
    pub(super) fn publish(&mut self, count: u32) {
        self.position = self.position.wrapping_add(count);
        self.ring.producer().store(self.position, Ordering::Release);
    }

    /// Return the position of the next entry: the number of entries ever published, modulo 2^32.
    #[inline]
    pub(super) fn position(&self) -> u32 {
        self.position
    }

    /// Read the kernel's position.
    #[inline]
    pub(super) fn consumed(&self) -> u32 {
        self.ring.consumer().load(Ordering::Acquire)
    }

    /// Return true if the kernel sleeps and needs a system call to process the ring (XDP_USE_NEED_WAKEUP).
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { (*self.ring.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0 }
    }
}

/// A ring that the kernel fills and this process empties: the receive ring and the completion ring.
#[derive(Debug)]
pub(super) struct Consumer<T> {
    ring: Ring<T>,
    /// Position of the next entry, published by [`Consumer::release`].
    position: u32,
    /// The kernel's position, as last read.
    produced: u32,
}

impl<T: Copy> Consumer<T> {
    /// Map the ring of `slots` entries at `page_offset` of a socket.
    pub(super) fn map(
        interface: &str,
        fd: libc::c_int,
        slots: u32,
        offset: libc::xdp_ring_offset,
        page_offset: libc::off_t,
    ) -> Result<Self, PortError> {
        Ok(Self { ring: Ring::map(interface, fd, slots, offset, page_offset)?, position: 0, produced: 0 })
    }

    /// Return the number of entries that can be read, up to `limit`.
    #[inline]
    pub(super) fn available(&mut self, limit: u32) -> u32 {
        if self.produced.wrapping_sub(self.position) < limit {
            self.produced = self.ring.producer().load(Ordering::Acquire);
        }
        self.produced.wrapping_sub(self.position).min(limit)
    }

    /// Read the entry `ahead` of the position; it must be available.
    #[inline]
    pub(super) fn read(&self, ahead: u32) -> T {
        // SAFETY: a valid pointer into the ring; the protocol gives this entry to the consumer.
        unsafe { self.ring.entry(self.position.wrapping_add(ahead)).read() }
    }

    /// Return `count` read entries to the kernel.
    #[inline]
    pub(super) fn release(&mut self, count: u32) {
        self.position = self.position.wrapping_add(count);
        self.ring.consumer().store(self.position, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOTS: u32 = 4;
    const OFFSET: libc::xdp_ring_offset = libc::xdp_ring_offset { producer: 0, consumer: 64, flags: 128, desc: 192 };

    /// A producer and a consumer of one ring in anonymous memory, with all positions at `start`.
    fn pair(start: u32) -> (Producer<u64>, Consumer<u64>) {
        let bytes = OFFSET.desc as usize + SLOTS as usize * size_of::<u64>();
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: asks for fresh anonymous memory; the result is checked.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED);
        // SAFETY: moving the same mapping onto itself with old size 0 duplicates a shared mapping (mremap(2)).
        let twin = unsafe { libc::mremap(memory, 0, bytes, libc::MREMAP_MAYMOVE) };
        assert_ne!(twin, libc::MAP_FAILED);
        // SAFETY: both are mappings of `bytes`, with the offsets inside and aligned.
        let ring = |memory: *mut libc::c_void| unsafe { Ring::at(memory.cast(), bytes, SLOTS, OFFSET) };
        let (ours, theirs) = (ring(memory), ring(twin));
        ours.producer().store(start, Ordering::Relaxed);
        ours.consumer().store(start, Ordering::Relaxed);
        (
            Producer { ring: ours, position: start, consumed: start },
            Consumer { ring: theirs, position: start, produced: start },
        )
    }

    #[test]
    fn entries_pass_in_order_across_the_end_of_the_ring_and_of_the_counter() {
        let (mut producer, mut consumer) = pair(u32::MAX - 5);
        for round in 0..20u64 {
            assert_eq!(producer.free_entries(3), 3);
            (0..3).for_each(|ahead| producer.write(ahead, round * 3 + u64::from(ahead)));
            assert_eq!(consumer.available(3), 0);
            producer.publish(3);
            assert_eq!(consumer.available(8), 3);
            let read: Vec<u64> = (0..3).map(|ahead| consumer.read(ahead)).collect();
            assert_eq!(read, [round * 3, round * 3 + 1, round * 3 + 2]);
            consumer.release(3);
            assert_eq!(producer.consumed(), producer.position());
        }
    }

    #[test]
    fn a_full_ring_takes_no_more_until_entries_are_released() {
        let (mut producer, mut consumer) = pair(u32::MAX);
        assert_eq!(producer.free_entries(9), SLOTS);
        producer.publish(SLOTS);
        assert_eq!(producer.free_entries(1), 0);
        assert_eq!(consumer.available(1), 1);
        consumer.release(1);
        assert_eq!(producer.free_entries(9), 1);
    }

    #[test]
    fn a_published_entry_can_be_replaced_before_it_is_consumed() {
        let (mut producer, mut consumer) = pair(0);
        (0..2).for_each(|ahead| producer.write(ahead, u64::from(ahead)));
        producer.publish(2);
        let last = 0u32.wrapping_sub(1);
        assert_eq!(producer.read(last), 1);
        producer.write(last, 7);
        assert_eq!(consumer.available(2), 2);
        assert_eq!((consumer.read(0), consumer.read(1)), (0, 7));
    }
}
