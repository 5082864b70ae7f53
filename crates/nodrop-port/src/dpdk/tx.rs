//! Sending: buffers of a dedicated pool, which keep the template they last carried.

use std::sync::Arc;

use super::device::Device;
use super::{ffi, lcore};
use crate::{Fill, PortError, Slot, Transmit};

/// Maximum number of frames per call.
const MAX_BATCH: usize = 64;

/// The sending half of a port.
pub struct DpdkTx {
    device: Arc<Device>,
    mbufs: [*mut ffi::Mbuf; MAX_BATCH],
    lengths: [u16; MAX_BATCH],
    /// Offsets from an mbuf to its tag and to its frame.
    tag_offset: usize,
    bytes_offset: usize,
}

// SAFETY: the pointers are used only within a call of `transmit`.
unsafe impl Send for DpdkTx {}

impl std::fmt::Debug for DpdkTx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DpdkTx").field("device", &self.device).finish_non_exhaustive()
    }
}

impl DpdkTx {
    pub(super) fn new(device: Arc<Device>) -> Self {
        // SAFETY: constants of the shim.
        let (tag_offset, bytes_offset) = unsafe { (ffi::nd_tag_offset, ffi::nd_bytes_offset) };
        Self { device, mbufs: [std::ptr::null_mut(); MAX_BATCH], lengths: [0; MAX_BATCH], tag_offset, bytes_offset }
    }
}

impl Transmit for DpdkTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        let Self { device, mbufs, lengths, tag_offset, bytes_offset } = self;
        let Device { name, port, tx_pool, frame_len_max: limit, .. } = &**device;
        if frame_len_max > *limit {
            let message = format!("frame of {frame_len_max} bytes is too large; the port was opened for {limit}");
            return Err(PortError::Request { port: name.clone(), message });
        }
        lcore::register_thread();
        if !device.has_link() {
            return Ok(0);
        }
        let batch = count.min(MAX_BATCH) as u32;
        // SAFETY: `mbufs` has MAX_BATCH elements, and the pool lives as long as the device.
        let taken = unsafe { ffi::nd_tx_take(tx_pool.0, mbufs.as_mut_ptr(), batch) } as usize;
        for (position, (mbuf, length)) in mbufs[..taken].iter().zip(lengths.iter_mut()).enumerate() {
            let begin = mbuf.cast::<u8>();
            // SAFETY: each buffer of the pool has a tag and `limit` bytes at these offsets, initialized when the pool
            // was created, and has no other user until it is sent.
            let slot = unsafe {
                Slot {
                    bytes: std::slice::from_raw_parts_mut(begin.add(*bytes_offset), frame_len_max),
                    tag: &mut *begin.add(*tag_offset).cast::<u32>(),
                }
            };
            *length = fill.fill(position, slot).min(frame_len_max) as u16;
        }
        // SAFETY: the first `taken` mbufs belong to this thread, with the number of bytes in `lengths`; DPDK owns them
        // afterwards.
        let sent = unsafe { ffi::nd_tx_send(port.0, mbufs.as_mut_ptr(), lengths.as_ptr(), taken as u32) };
        Ok(sent as usize)
    }

    fn batch_max(&self) -> u64 {
        MAX_BATCH as u64
    }
}
