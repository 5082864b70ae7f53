//! Sending: buffers of an own pool, which come back with the template they last carried.

use std::sync::Arc;

use super::device::Device;
use super::{ffi, lcore};
use crate::{PortError, Slot, Transmit};

/// Most frames one call sends.
const MAX_BATCH: usize = 64;

const NO_SLOT: ffi::RawSlot = ffi::RawSlot { bytes: std::ptr::null_mut(), tag: std::ptr::null_mut() };

/// The sending half of a port.
#[derive(Debug)]
pub struct DpdkTx {
    device: Arc<Device>,
}

impl DpdkTx {
    pub(super) fn new(device: Arc<Device>) -> Self {
        Self { device }
    }
}

impl Transmit for DpdkTx {
    #[inline]
    fn transmit(
        &mut self,
        count: usize,
        frame_len_max: usize,
        mut fill: impl FnMut(usize, Slot<'_>) -> usize,
    ) -> Result<usize, PortError> {
        let Device { name, port, tx_pool, frame_len_max: room, .. } = &*self.device;
        if frame_len_max > *room {
            let message = format!("a frame of {frame_len_max} bytes, it was opened for {room}");
            return Err(PortError::Request { port: name.clone(), message });
        }
        lcore::enter();
        let mut mbufs = [std::ptr::null_mut(); MAX_BATCH];
        let mut slots = [NO_SLOT; MAX_BATCH];
        let mut lengths = [0; MAX_BATCH];
        // SAFETY: both arrays hold MAX_BATCH, and the pool lives as long as the device.
        let taken =
            unsafe { ffi::nd_tx_take(tx_pool.0, mbufs.as_mut_ptr(), slots.as_mut_ptr(), count.min(MAX_BATCH) as u32) }
                as usize;
        for (position, (slot, length)) in slots[..taken].iter().zip(&mut lengths).enumerate() {
            // SAFETY: each buffer of the pool has room for `room` bytes and a tag, all of them initialised when the pool was
            // made, and until it is sent nobody else has it.
            let slot = unsafe {
                Slot { bytes: std::slice::from_raw_parts_mut(slot.bytes, frame_len_max), tag: &mut *slot.tag }
            };
            *length = fill(position, slot).min(frame_len_max) as u16;
        }
        // SAFETY: the first `taken` mbufs are ours, with as many bytes each as `lengths` says; they are given away here.
        let sent = unsafe { ffi::nd_tx_send(port.0, mbufs.as_mut_ptr(), lengths.as_ptr(), taken as u32) };
        Ok(sent as usize)
    }
}
