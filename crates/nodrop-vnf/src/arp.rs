//! ARP packets for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use nodrop_wire::MacAddr;

use crate::FrameBuffer;

/// EtherType of ARP.
pub(crate) const ETHER_TYPE: [u8; 2] = [0x08, 0x06];
pub(crate) const REQUEST: u16 = 1;
pub(crate) const REPLY: u16 = 2;
/// Hardware type Ethernet, protocol IPv4, and the address lengths.
const ETHERNET_IPV4: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
/// The smallest frame without its FCS (IEEE 802.3 clause 4.4.2).
const SMALLEST_FRAME_BYTES: usize = 60;

/// An ARP packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arp {
    pub(crate) operation: u16,
    pub(crate) sender_mac: MacAddr,
    pub(crate) sender: Ipv4Addr,
    pub(crate) target_mac: MacAddr,
    pub(crate) target: Ipv4Addr,
}

impl Arp {
    /// Read the packet that begins at this offset of a frame.
    pub(crate) fn read(frame: &FrameBuffer, at: usize) -> Option<Self> {
        if frame.read(at)? != ETHERNET_IPV4 {
            return None;
        }
        Some(Self {
            operation: u16::from_be_bytes(frame.read(at + 6)?),
            sender_mac: MacAddr(frame.read(at + 8)?),
            sender: frame.read::<4>(at + 14)?.into(),
            target_mac: MacAddr(frame.read(at + 18)?),
            target: frame.read::<4>(at + 24)?.into(),
        })
    }

    /// Return the reply of `target` with this MAC address.
    pub(crate) fn reply(&self, mac: MacAddr) -> Self {
        Self {
            operation: REPLY,
            sender_mac: mac,
            sender: self.target,
            target_mac: self.sender_mac,
            target: self.sender,
        }
    }

    /// Replace `frame` by the packet behind this header, which ends with the EtherType of ARP.
    pub(crate) fn write(&self, header: &[u8], frame: &mut FrameBuffer) {
        let mut bytes = Vec::with_capacity(SMALLEST_FRAME_BYTES);
        bytes.extend_from_slice(header);
        bytes.extend_from_slice(&ETHERNET_IPV4);
        bytes.extend_from_slice(&self.operation.to_be_bytes());
        bytes.extend_from_slice(&self.sender_mac.0);
        bytes.extend_from_slice(&self.sender.octets());
        bytes.extend_from_slice(&self.target_mac.0);
        bytes.extend_from_slice(&self.target.octets());
        bytes.resize(bytes.len().max(SMALLEST_FRAME_BYTES), 0);
        frame.load(&bytes);
    }
}
