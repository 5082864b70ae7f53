//! What stands in for DPDK in programs built without it.

use super::Asked;
use crate::{Fill, PortError, Receive, Received, Transmit};

/// The sending half of a port; there is none.
#[derive(Debug)]
pub enum DpdkTx {}

/// The receiving half of a port; there is none.
#[derive(Debug)]
pub enum DpdkRx {}

/// Refuses.
///
/// # Errors
/// Always, with what to do.
pub fn start(ports: &[Asked<'_>], _core: Option<usize>, _huge_pages: bool) -> Result<(), PortError> {
    ports.first().map_or(Ok(()), |asked| Err(refusal(asked)))
}

/// Refuses.
///
/// # Errors
/// Always, with what to do.
pub fn open(asked: &Asked<'_>) -> Result<(DpdkTx, DpdkRx), PortError> {
    Err(refusal(asked))
}

/// Nothing is there to be described.
#[must_use]
pub fn describe(_device: &str) -> String {
    String::new()
}

fn refusal(asked: &Asked<'_>) -> PortError {
    PortError::Request {
        port: asked.device.to_owned(),
        message:
            "a DPDK port asked, this program was built without DPDK; install libdpdk-dev and pkg-config and build \
                  again with scripts/install, or with cargo's --features dpdk"
                .to_owned(),
    }
}

impl Transmit for DpdkTx {
    fn transmit(&mut self, _count: usize, _frame_len_max: usize, _fill: impl Fill) -> Result<usize, PortError> {
        match *self {}
    }
}

impl Receive for DpdkRx {
    fn receive(&mut self, _budget: usize, _sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        match *self {}
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        match *self {}
    }

    fn queue_slots(&self) -> u32 {
        match *self {}
    }
}
