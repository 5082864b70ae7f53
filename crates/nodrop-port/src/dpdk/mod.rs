//! DPDK devices: network cards without the kernel, and memif, vhost-user, ring, pcap and null devices.
//!
//! A port is named by DPDK's device arguments: `0000:03:00.0`, `net_memif0,role=client,rsize=12`, `net_null0,no-rx=1`.
//! Built with the cargo feature `dpdk`; without it, opening such ports fails with a message that says so.

#[cfg(feature = "dpdk")]
mod device;
#[cfg(feature = "dpdk")]
mod eal;
#[cfg(feature = "dpdk")]
mod ffi;
#[cfg(feature = "dpdk")]
mod lcore;
#[cfg(feature = "dpdk")]
mod rx;
#[cfg(feature = "dpdk")]
mod tx;

#[cfg(not(feature = "dpdk"))]
mod stub;

#[cfg(not(feature = "dpdk"))]
pub use stub::{DpdkRx, DpdkTx, describe, open, start};
#[cfg(feature = "dpdk")]
pub use {eal::describe, rx::DpdkRx, tx::DpdkTx};

#[cfg(feature = "dpdk")]
use std::sync::Arc;

#[cfg(feature = "dpdk")]
use crate::PortError;

/// Whether this program was built with DPDK.
pub const BUILT: bool = cfg!(feature = "dpdk");

/// A port to open.
#[derive(Clone, Copy, Debug)]
pub struct DpdkPortSpec<'a> {
    /// DPDK's device arguments.
    pub device: &'a str,
    /// Size of the receive queue, in frames.
    pub queue_slots: u32,
    /// Longest frame to send or receive, without FCS.
    pub frame_len_max: usize,
}

/// Start DPDK in this process for these ports, with its main thread on `core`; no effect if it is already running.
///
/// # Errors
/// If DPDK fails to start.
#[cfg(feature = "dpdk")]
pub fn start(ports: &[DpdkPortSpec<'_>], core: Option<usize>, huge_pages: bool) -> Result<(), PortError> {
    eal::start(ports, core, huge_pages, eal::needed_bytes(ports, device::buffer_count_max))
}

/// Open both halves of a DPDK port.
///
/// # Errors
/// If DPDK has no such device, no driver for it, or not enough memory.
#[cfg(feature = "dpdk")]
pub fn open(spec: &DpdkPortSpec<'_>) -> Result<(DpdkTx, DpdkRx), PortError> {
    start(&[*spec], None, true)?;
    let device = Arc::new(device::Device::open(spec)?);
    Ok((DpdkTx::new(device.clone()), DpdkRx::new(device)?))
}
