//! Receiving in bursts that are timestamped when read.

use std::sync::Arc;

use super::device::Device;
use super::{eal, ffi, lcore};
use crate::clock::{Clock, SystemClock};
use crate::{PortError, Receive, ReceivedFrame};

/// Number of frames read and timestamped at a time.
const BURST: usize = 32;

const NO_FRAME: ffi::RawFrame = ffi::RawFrame { bytes: std::ptr::null(), length: 0 };

/// The receiving half of a port.
pub struct DpdkRx {
    device: Arc<Device>,
    mbufs: [*mut ffi::Mbuf; BURST],
    frames: [ffi::RawFrame; BURST],
    reported_drop_count: u64,
}

// SAFETY: the pointers are used only within a call of `receive`.
unsafe impl Send for DpdkRx {}

impl std::fmt::Debug for DpdkRx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DpdkRx").field("device", &self.device).finish_non_exhaustive()
    }
}

impl DpdkRx {
    pub(super) fn new(device: Arc<Device>) -> Result<Self, PortError> {
        let (mbufs, frames) = ([std::ptr::null_mut(); BURST], [NO_FRAME; BURST]);
        let mut receiver = Self { device, mbufs, frames, reported_drop_count: 0 };
        receiver.take_drop_count()?;
        Ok(receiver)
    }
}

impl Receive for DpdkRx {
    #[inline]
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        lcore::register_thread();
        let Self { device, mbufs, frames, .. } = self;
        let mut count = 0;
        while count < budget && device.has_link() {
            let limit = (budget - count).min(BURST);
            // SAFETY: both arrays hold BURST, and the port lives as long as the device.
            let taken = unsafe { ffi::nd_rx_take(device.port.0, mbufs.as_mut_ptr(), frames.as_mut_ptr(), limit as u32) }
                as usize;
            if taken == 0 {
                break;
            }
            let time_ns = SystemClock.wall_ns();
            for frame in &frames[..taken] {
                // SAFETY: the frame's first segment holds `length` bytes that belong to this thread until returned.
                let bytes = unsafe { std::slice::from_raw_parts(frame.bytes, frame.length) };
                sink(ReceivedFrame { bytes, time_ns });
            }
            // SAFETY: the first `taken` mbufs belong to this thread, and no reference to them is left.
            unsafe { ffi::nd_rx_give_back(mbufs.as_mut_ptr(), taken as u32) };
            count += taken;
        }
        Ok(count)
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        let mut drops = ffi::Drops::default();
        // SAFETY: the port lives as long as the device, and `drops` is valid for writes.
        let result = unsafe { ffi::nd_drops(self.device.port.0, &raw mut drops) };
        if result != 0 {
            let message = format!("cannot read the statistics: {}; use another driver", eal::error_text(result));
            return Err(PortError::Request { port: self.device.name.clone(), message });
        }
        let total = drops.missed + drops.no_buffer;
        Ok(total.saturating_sub(std::mem::replace(&mut self.reported_drop_count, total)))
    }

    fn queue_slots(&self) -> u32 {
        self.device.rx_slots
    }

    fn stamps_on_arrival(&self) -> bool {
        false
    }
}
