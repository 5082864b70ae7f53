//! The memory that frames lie in, shared with the kernel: equal chunks, the sender's first.

use std::ptr::NonNull;

use crate::PortError;

/// Bytes the kernel keeps free in front of a received frame (linux/bpf.h, `XDP_PACKET_HEADROOM`).
const HEADROOM_BYTES: usize = 256;
const SMALLEST_CHUNK_BYTES: usize = 2048;
const LARGEST_CHUNK_BYTES: usize = 4096;

/// A mapping of `chunks` times `chunk_bytes`.
#[derive(Debug)]
pub(super) struct Umem {
    memory: NonNull<u8>,
    pub(super) chunk_bytes: usize,
    chunks: usize,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread; who may touch which chunk when is the
// business of the rings' owners.
unsafe impl Send for Umem {}
// SAFETY: as above.
unsafe impl Sync for Umem {}

impl Umem {
    /// Chunks that each hold a received frame of `frame_bytes`.
    pub(super) fn new(interface: &str, frame_bytes: usize, chunks: usize) -> Result<Self, PortError> {
        let chunk_bytes = (frame_bytes + HEADROOM_BYTES).next_power_of_two().max(SMALLEST_CHUNK_BYTES);
        if chunk_bytes > LARGEST_CHUNK_BYTES {
            let most = LARGEST_CHUNK_BYTES - HEADROOM_BYTES;
            let message = format!("frames of {frame_bytes} bytes; af_xdp takes up to {most} whole: choose af_packet");
            return Err(PortError::Request { port: interface.to_owned(), message });
        }
        // SAFETY: asks for fresh anonymous memory; the result is checked.
        let memory = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                chunk_bytes * chunks,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_POPULATE,
                -1,
                0,
            )
        };
        match NonNull::new(memory.cast::<u8>()) {
            Some(start) if memory != libc::MAP_FAILED => Ok(Self { memory: start, chunk_bytes, chunks }),
            _ => Err(PortError::last_os(interface, "get memory for frames", "ask for fewer queue slots")),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.chunk_bytes * self.chunks
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Where a frame lies; `address` counts from the start.
    #[inline]
    pub(super) fn at(&self, address: usize) -> *mut u8 {
        debug_assert!(address < self.bytes());
        // SAFETY: every address in use lies within the mapping.
        unsafe { self.memory.as_ptr().add(address) }
    }
}

impl Drop for Umem {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this address and length and is not used after this.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.bytes()) };
    }
}
