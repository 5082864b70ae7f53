//! A DPDK port with its buffers, from probing to removal.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::{DpdkPortSpec, eal, ffi};
use crate::PortError;

/// Length of the send queue.
const TX_SLOTS: u16 = 1024;
/// Buffers in addition to those in queues: thread caches and bursts in flight.
const SPARE_BUFFERS: u32 = 2048;
/// DPDK counts slots in 16 bits, and drivers require a multiple of some power of two.
const RX_SLOTS_MAX: u32 = 32768;

const PROBE_REMEDY: &str = "the device must exist, its driver must be installed (Debian: librte-net-* packages; all of them: \
                            librte-meta-net) and a network card must be bound to vfio-pci (`dpdk-devbind.py --status`); see DPDK's \
                            messages on standard error";
const MEMORY_REMEDY: &str = "reserve huge pages (`sysctl vm.nr_hugepages=512`) or use fewer queue slots";

/// Return the maximum number of buffers that a port needs.
pub(super) fn buffer_count_max(queue_slots: u32) -> u32 {
    queue_slots.min(RX_SLOTS_MAX) + u32::from(TX_SLOTS) + 2 * SPARE_BUFFERS
}

/// A started port; closed when its last half is dropped.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) rx_slots: u32,
    pub(super) frame_len_max: usize,
    was_up: AtomicBool,
    // Fields are dropped in this order: buffers outlive the port that holds them.
    pub(super) port: PortId,
    pub(super) tx_pool: BufferPool,
    _rx_pool: BufferPool,
}

impl Device {
    pub(super) fn open(spec: &DpdkPortSpec<'_>) -> Result<Self, PortError> {
        let name = eal::name(spec.device);
        let port = PortId::probe(spec.device, name)?;
        let mut setup = ffi::Setup {
            rx_slots: spec.queue_slots.clamp(64, RX_SLOTS_MAX) as u16,
            tx_slots: TX_SLOTS,
            frame_bytes: u16::try_from(spec.frame_len_max).unwrap_or(u16::MAX),
            socket: 0,
        };
        // SAFETY: the port was just probed, and `setup` outlives the calls.
        check(name, "read the capabilities", unsafe { ffi::nd_port_describe(port.0, &raw mut setup) })?;
        let slots = ring_slots(spec.device).unwrap_or(u32::MAX).min(u32::from(setup.rx_slots));
        let mut rx_setup = setup;
        rx_setup.frame_bytes = rx_setup.frame_bytes.max(slot_bytes(spec.device).unwrap_or(0));
        let rx_pool = BufferPool::create(&format!("rx{}", port.0), slots + SPARE_BUFFERS, &rx_setup)?;
        let tx_pool = BufferPool::create(&format!("tx{}", port.0), u32::from(TX_SLOTS) + SPARE_BUFFERS, &setup)?;
        // SAFETY: as above, and the pool outlives the port, see the order of fields.
        check(name, "start the port", unsafe { ffi::nd_port_start(port.0, &raw mut setup, rx_pool.0) })?;
        Ok(Self {
            name: name.to_owned(),
            rx_slots: ring_slots(spec.device).unwrap_or(u32::from(setup.rx_slots)),
            frame_len_max: spec.frame_len_max.max(2048),
            was_up: AtomicBool::new(false),
            port,
            tx_pool,
            _rx_pool: rx_pool,
        })
    }
}

impl Device {
    /// Return true once the link has come up; before that, drivers set up their queues on a separate thread.
    #[inline]
    pub(super) fn has_link(&self) -> bool {
        if !self.was_up.load(Relaxed) {
            // SAFETY: the port lives as long as the device.
            self.was_up.store(unsafe { ffi::nd_link_is_up(self.port.0) } != 0, Relaxed);
        }
        self.was_up.load(Relaxed)
    }
}

/// Return a parameter of a device; the default if absent, None if it is not a number.
fn parameter(device: &str, key: &str, default: u32) -> Option<u32> {
    let value = device.split(',').filter_map(|part| part.split_once('=')).find(|(name, _)| *name == key);
    value.map_or(Some(default), |(_, value)| value.parse().ok())
}

/// Return the buffer size if the driver requires buffers for complete frames.
fn slot_bytes(device: &str) -> Option<u16> {
    parameter(device, "framesz", 0).and_then(|bytes| u16::try_from(bytes).ok())
}

/// Return the queue depth of devices whose driver sets it by a parameter and ignores the port's setting.
fn ring_slots(device: &str) -> Option<u32> {
    let parameter = |key: &str, default: u32| parameter(device, key, default);
    match eal::name(device).trim_end_matches(|digit: char| digit.is_ascii_digit()) {
        "net_memif" => parameter("rsize", 10).and_then(|log2| 1u32.checked_shl(log2)),
        "net_ring" => Some(1024),
        "net_af_packet" | "eth_af_packet" => parameter("framecnt", 512),
        "net_virtio_user" | "virtio_user" => parameter("queue_size", 256),
        _ => None,
    }
}

/// A probed port.
#[derive(Debug)]
pub(super) struct PortId(pub(super) u16);

impl PortId {
    fn probe(device: &str, name: &str) -> Result<Self, PortError> {
        let (c_device, c_name) = (c_string(device)?, c_string(name)?);
        let mut port = 0;
        // SAFETY: both strings end with NUL and outlive the call, `port` is valid for writes.
        let result = unsafe { ffi::nd_probe(c_device.as_ptr(), c_name.as_ptr(), &raw mut port) };
        if result != 0 {
            let message = format!("DPDK cannot open device {device}: {}; {PROBE_REMEDY}", eal::error_text(result));
            return Err(PortError::Request { port: name.to_owned(), message });
        }
        Ok(Self(port))
    }
}

impl Drop for PortId {
    fn drop(&mut self) {
        // SAFETY: the port was probed and is not used any more.
        unsafe { ffi::nd_port_close(self.0) };
    }
}

/// Packet buffers of one port and direction.
#[derive(Debug)]
pub(super) struct BufferPool(pub(super) *mut ffi::Pool);

// SAFETY: DPDK's pools may be used from any thread.
unsafe impl Send for BufferPool {}
// SAFETY: as above.
unsafe impl Sync for BufferPool {}

impl BufferPool {
    fn create(name: &str, count: u32, setup: &ffi::Setup) -> Result<Self, PortError> {
        let c_name = c_string(name)?;
        // SAFETY: the name ends with NUL and is copied by DPDK.
        let pool = unsafe { ffi::nd_pool_create(c_name.as_ptr(), count, setup.frame_bytes, setup.socket) };
        if pool.is_null() {
            // SAFETY: reads this thread's error number.
            let reason = eal::error_text(unsafe { ffi::nd_error() });
            let message = format!("DPDK cannot allocate {count} buffers: {reason}; {MEMORY_REMEDY}");
            return Err(PortError::Request { port: name.to_owned(), message });
        }
        Ok(Self(pool))
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        // SAFETY: the port that used the buffers is closed, see `Device`.
        unsafe { ffi::nd_pool_free(self.0) };
    }
}

fn check(name: &str, action: &str, result: i32) -> Result<(), PortError> {
    if result == 0 {
        return Ok(());
    }
    let message = format!("cannot {action}: {}; see DPDK's messages on standard error", eal::error_text(result));
    Err(PortError::Request { port: name.to_owned(), message })
}

fn c_string(text: &str) -> Result<CString, PortError> {
    let message = "the name contains a NUL character; remove it".to_owned();
    CString::new(text).map_err(|_| PortError::Request { port: text.to_owned(), message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_that_a_parameter_sets_are_as_deep_as_it_says() {
        for (device, slots) in [
            ("net_memif0,role=client", Some(1024)),
            ("net_memif1,rsize=14,role=server", Some(16384)),
            ("net_virtio_user0,path=/tmp/x,queue_size=512", Some(512)),
            ("net_af_packet0,iface=eth0", Some(512)),
            ("0000:03:00.0", None),
            ("net_memif0,rsize=99", None),
        ] {
            assert_eq!(ring_slots(device), slots, "{device}");
        }
    }
}
