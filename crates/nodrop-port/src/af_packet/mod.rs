//! Linux packet sockets (packet(7)): any interface, no driver support needed, also inside a user namespace.
//!
//! Sending goes through `sendmmsg` past the queueing discipline, so that a frame is counted as sent only when the driver
//! took it. Receiving goes through a TPACKET_V2 ring that the kernel fills and stamps on arrival, so that reading late costs
//! no accuracy.

mod neighbors;
mod ring;
mod socket;
mod tx;

pub use neighbors::open_neighbors;
pub use ring::PacketRx;
pub use socket::Promiscuous;
pub use tx::{MAX_BATCH, PacketTx};

use crate::PortError;

/// Open both halves of `interface` for test frames: `magic` is the 32-bit word they carry at one of `offsets` from the start
/// of the frame; the kernel drops all other frames before they reach the ring. It takes the first VLAN tag out of a frame.
///
/// # Errors
/// When the interface does not exist or the kernel refuses raw access.
pub fn open(
    interface: &str,
    queue_slots: u32,
    magic: u32,
    offsets: &[usize],
) -> Result<(PacketTx, PacketRx), PortError> {
    let receiver = PacketRx::open_filtered(interface, queue_slots, magic, offsets)?;
    Ok((PacketTx::open(interface)?, receiver))
}
