//! Linux packet sockets (packet(7)): any interface, without driver support, also inside a user namespace.
//!
//! Sending uses `sendmmsg` with PACKET_QDISC_BYPASS, so a frame counts as sent only if the driver accepted it.
//! Receiving uses a TPACKET_V2 ring that the kernel fills and timestamps on arrival, so late reads cost no accuracy.

mod neighbors;
mod ring;
mod socket;
mod tx;

pub use neighbors::open_neighbors;
pub use ring::PacketRx;
pub use socket::PromiscuousMode;
pub use tx::{MAX_BATCH, PacketTx};

use crate::PortError;

/// Open both halves of `interface` for test frames: `magic` is the 32-bit word they carry at one of `offsets` from the
/// start of the frame; the kernel drops all other frames before they reach the ring. The kernel also removes the
/// outermost VLAN tag.
///
/// # Errors
/// If the interface does not exist or the kernel denies raw access.
pub fn open(
    interface: &str,
    queue_slots: u32,
    magic: u32,
    offsets: &[usize],
) -> Result<(PacketTx, PacketRx), PortError> {
    let receiver = PacketRx::open_filtered(interface, queue_slots, magic, offsets)?;
    Ok((PacketTx::open(interface)?, receiver))
}
