//! Frame memory shared with the kernel: chunks of equal size, the sender's first.

use crate::PortError;
use crate::memory::{Memory, Pages};

/// Headroom that the kernel reserves in front of a received frame (linux/bpf.h, `XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: usize = 256;
const SMALLEST_CHUNK_BYTES: usize = 2048;
const LARGEST_CHUNK_BYTES: usize = 4096;

/// Memory divided into chunks of `chunk_bytes`.
#[derive(Debug)]
pub(super) struct Umem {
    memory: Memory,
    pub(super) chunk_bytes: usize,
}

impl Umem {
    /// Allocate chunks that each hold a received frame of `frame_bytes`.
    pub(super) fn new(interface: &str, frame_bytes: usize, chunks: usize, pages: Pages) -> Result<Self, PortError> {
        let chunk_bytes = (frame_bytes + HEADROOM_BYTES).next_power_of_two().max(SMALLEST_CHUNK_BYTES);
        if chunk_bytes > LARGEST_CHUNK_BYTES {
            let limit = LARGEST_CHUNK_BYTES - HEADROOM_BYTES;
            let message =
                format!("frames of {frame_bytes} bytes are too large for af_xdp (at most {limit}); use af_packet");
            return Err(PortError::Request { port: interface.to_owned(), message });
        }
        let error = || PortError::last_os(interface, "allocate frame memory", "use fewer queue slots");
        let memory = Memory::new(chunk_bytes * chunks, pages).ok_or_else(error)?;
        Ok(Self { memory, chunk_bytes })
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.len()
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.memory.start()
    }

    /// Return the memory at an offset.
    #[inline]
    pub(super) fn pointer_to(&self, address: usize) -> *mut u8 {
        debug_assert!(address < self.bytes());
        // SAFETY: every address in use lies within the mapping.
        unsafe { self.memory.start().add(address) }
    }
}
