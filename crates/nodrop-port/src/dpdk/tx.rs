//! Sending: buffers of an own pool, which come back with the template they last carried.

use std::sync::Arc;

use super::device::Device;
use super::{ffi, lcore};
use crate::{Fill, PortError, Slot, Transmit};

/// Most frames one call sends.
const MAX_BATCH: usize = 64;

/// The sending half of a port.
pub struct DpdkTx {
    device: Arc<Device>,
    mbufs: [*mut ffi::Mbuf; MAX_BATCH],
    lengths: [u16; MAX_BATCH],
    /// From an mbuf to its tag and to its frame.
    tag_offset: usize,
    bytes_offset: usize,
}

// SAFETY: the pointers mean something only within a call of `transmit`.
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
        let Device { name, port, tx_pool, frame_len_max: room, .. } = &**device;
        if frame_len_max > *room {
            let message = format!("a frame of {frame_len_max} bytes, it was opened for {room}");
            return Err(PortError::Request { port: name.clone(), message });
        }
        lcore::enter();
        if !device.has_link() {
            return Ok(0);
        }
        let want = count.min(MAX_BATCH) as u32;
        // SAFETY: `mbufs` has room for MAX_BATCH, and the pool lives as long as the device.
        let taken = unsafe { ffi::nd_tx_take(tx_pool.0, mbufs.as_mut_ptr(), want) } as usize;
        for (position, (mbuf, length)) in mbufs[..taken].iter().zip(lengths.iter_mut()).enumerate() {
            let begin = mbuf.cast::<u8>();
            // SAFETY: each buffer of the pool has a tag and room for `room` bytes at these places, initialised when the pool
            // was made, and until it is sent nobody else has it.
            let slot = unsafe {
                Slot {
                    bytes: std::slice::from_raw_parts_mut(begin.add(*bytes_offset), frame_len_max),
                    tag: &mut *begin.add(*tag_offset).cast::<u32>(),
                }
            };
            *length = fill.fill(position, slot).min(frame_len_max) as u16;
        }
        // SAFETY: the first `taken` mbufs are ours, with as many bytes each as `lengths` says; they are given away here.
        let sent = unsafe { ffi::nd_tx_send(port.0, mbufs.as_mut_ptr(), lengths.as_ptr(), taken as u32) };
        Ok(sent as usize)
    }

    fn batch_max(&self) -> u64 {
        MAX_BATCH as u64
    }
}
