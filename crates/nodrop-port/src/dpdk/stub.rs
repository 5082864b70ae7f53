//! Stubs for programs built without DPDK.

use super::DpdkPortSpec;
use crate::{Fill, PortError, Receive, ReceivedFrame, Transmit};

/// The sending half of a port; has no values.
#[derive(Debug)]
pub enum DpdkTx {}

/// The receiving half of a port; has no values.
#[derive(Debug)]
pub enum DpdkRx {}

/// Fail, because DPDK is not built in.
///
/// # Errors
/// Always; the message contains the fix.
pub fn start(ports: &[DpdkPortSpec<'_>], _core: Option<usize>, _huge_pages: bool) -> Result<(), PortError> {
    ports.first().map_or(Ok(()), |spec| Err(not_built_error(spec)))
}

/// Fail, because DPDK is not built in.
///
/// # Errors
/// Always; the message contains the fix.
pub fn open(spec: &DpdkPortSpec<'_>) -> Result<(DpdkTx, DpdkRx), PortError> {
    Err(not_built_error(spec))
}

/// Return an empty string.
#[must_use]
pub fn describe(_device: &str) -> String {
    String::new()
}

fn not_built_error(spec: &DpdkPortSpec<'_>) -> PortError {
    PortError::Request {
        port: spec.device.to_owned(),
        message: "this program was built without DPDK; install libdpdk-dev and pkg-config and rebuild \
                  it with scripts/install, or with cargo's --features dpdk"
            .to_owned(),
    }
}

impl Transmit for DpdkTx {
    fn transmit(&mut self, _count: usize, _frame_len_max: usize, _fill: impl Fill) -> Result<usize, PortError> {
        match *self {}
    }
}

impl Receive for DpdkRx {
    fn receive(&mut self, _budget: usize, _sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        match *self {}
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        match *self {}
    }

    fn queue_slots(&self) -> u32 {
        match *self {}
    }
}
