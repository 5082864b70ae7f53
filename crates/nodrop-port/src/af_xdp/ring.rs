//! One ring of an AF_XDP socket: one side produces, the other consumes, nobody else.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::PortError;

/// A ring mapped from a socket. Entries are addresses (`u64`) or descriptors (`xdp_desc`).
#[derive(Debug)]
pub(super) struct Ring<T> {
    memory: *mut u8,
    bytes: usize,
    producer: *const AtomicU32,
    consumer: *const AtomicU32,
    flags: *const AtomicU32,
    entries: *mut T,
    mask: u32,
    /// Our own side's position, published by [`Ring::publish`] and [`Ring::release`].
    ours: u32,
    /// The other side's position, as last read.
    theirs: u32,
}

// SAFETY: the mapping belongs to this value alone and is not tied to the thread that made it.
unsafe impl<T> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    /// Map the ring of `slots` entries at `page_offset` of a socket.
    pub(super) fn map(
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
            return Err(PortError::last_os(interface, "map an AF_XDP ring", "ask for fewer queue slots"));
        }
        let memory = memory.cast::<u8>();
        // SAFETY: the kernel gave these offsets for this mapping, each suitably aligned.
        unsafe {
            Ok(Self {
                memory,
                bytes,
                producer: memory.add(offset.producer as usize).cast(),
                consumer: memory.add(offset.consumer as usize).cast(),
                flags: memory.add(offset.flags as usize).cast(),
                entries: memory.add(offset.desc as usize).cast(),
                mask: slots - 1,
                ours: 0,
                theirs: 0,
            })
        }
    }

    /// Write the entry `ahead` of our position; both sides agree by it that it is ours to write.
    #[inline]
    pub(super) fn write(&mut self, ahead: u32, entry: T) {
        let index = self.ours.wrapping_add(ahead) & self.mask;
        // SAFETY: the mask keeps the index within the ring.
        unsafe { self.entries.add(index as usize).write(entry) }
    }

    /// Read the entry `ahead` of our position.
    #[inline]
    pub(super) fn read(&self, ahead: u32) -> T {
        let index = self.ours.wrapping_add(ahead) & self.mask;
        // SAFETY: the mask keeps the index within the ring.
        unsafe { self.entries.add(index as usize).read() }
    }

    /// As producer: room for so many entries, up to `wanted`.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        let room = |ring: &Self| ring.mask + 1 - ring.ours.wrapping_sub(ring.theirs);
        if room(self) < wanted {
            self.theirs = self.consumed();
        }
        room(self).min(wanted)
    }

    /// As producer: how far the consumer has come.
    #[inline]
    pub(super) fn consumed(&self) -> u32 {
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { (*self.consumer).load(Ordering::Acquire) }
    }

    /// As producer: hand over `count` written entries.
    #[inline]
    pub(super) fn publish(&mut self, count: u32) {
        self.ours = self.ours.wrapping_add(count);
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { (*self.producer).store(self.ours, Ordering::Release) }
    }

    /// As producer: everything ever handed over.
    #[inline]
    pub(super) fn position(&self) -> u32 {
        self.ours
    }

    /// As consumer: entries to read, up to `wanted`.
    #[inline]
    pub(super) fn waiting(&mut self, wanted: u32) -> u32 {
        if self.theirs.wrapping_sub(self.ours) < wanted {
            // SAFETY: points into the mapping, shared with the kernel.
            self.theirs = unsafe { (*self.producer).load(Ordering::Acquire) };
        }
        self.theirs.wrapping_sub(self.ours).min(wanted)
    }

    /// As consumer: give back `count` read entries.
    #[inline]
    pub(super) fn release(&mut self, count: u32) {
        self.ours = self.ours.wrapping_add(count);
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { (*self.consumer).store(self.ours, Ordering::Release) }
    }

    /// As producer: the consumer sleeps and must be called.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        // SAFETY: points into the mapping, shared with the kernel.
        unsafe { (*self.flags).load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0 }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.memory.cast(), self.bytes) };
    }
}
