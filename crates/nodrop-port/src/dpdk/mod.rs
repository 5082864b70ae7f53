//! DPDK devices: network cards past the kernel, and memif, vhost-user, ring, pcap and null devices.
//!
//! A port is named as DPDK names it, a device with its parameters: `0000:03:00.0`, `net_memif0,role=client,rsize=12`,
//! `net_null0,no-rx=1`. Built with the cargo feature `dpdk`; without it ports of this kind cannot be opened, and say so.

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
mod absent;

#[cfg(not(feature = "dpdk"))]
pub use absent::{DpdkRx, DpdkTx, describe, open, start};
#[cfg(feature = "dpdk")]
pub use {
    device::open,
    eal::{describe, start},
    rx::DpdkRx,
    tx::DpdkTx,
};

/// Whether this program was built with DPDK.
pub const BUILT: bool = cfg!(feature = "dpdk");

/// A port to open.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// DPDK's device arguments.
    pub device: &'a str,
    /// Received frames it should hold.
    pub queue_slots: u32,
    /// Longest frame it will send or receive, without FCS.
    pub frame_len_max: usize,
}
