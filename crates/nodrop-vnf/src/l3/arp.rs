//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use nodrop_wire::MacAddr;

use super::{ARP, ETHERNET_BYTES, Router};
use crate::{Cause, ForwardingDecision, FrameBuffer};

/// Hardware type Ethernet, protocol IPv4, and the address lengths.
const ETHERNET_IPV4: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];
const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const BROADCAST: [u8; 6] = [0xff; 6];
/// The smallest frame without its FCS (IEEE 802.3 clause 4.4.2).
const SMALLEST_FRAME_BYTES: usize = 60;

/// The fields of an ARP packet.
struct Arp {
    operation: u16,
    sender_mac: [u8; 6],
    sender: Ipv4Addr,
    target: Ipv4Addr,
}

impl Router {
    pub(super) fn handle_arp(&mut self, frame: &mut FrameBuffer, from: usize) -> ForwardingDecision {
        let Some(packet) = parse(frame) else { return ForwardingDecision::Drop(Cause::Malformed) };
        if !self.owns(from, packet.target) {
            return ForwardingDecision::Consume;
        }
        self.neighbors.learn(packet.sender.into(), MacAddr(packet.sender_mac));
        if packet.operation != REQUEST {
            return ForwardingDecision::Consume;
        }
        let own = self.ports[from].mac;
        emit(frame, packet.sender_mac, REPLY, (own.0, packet.target), (packet.sender_mac, packet.sender));
        ForwardingDecision::Reply(from)
    }
}

/// Replace `frame` by a request for the MAC address of `target`.
pub(super) fn write_request(frame: &mut FrameBuffer, mac: MacAddr, source: Ipv4Addr, target: Ipv4Addr) {
    emit(frame, BROADCAST, REQUEST, (mac.0, source), ([0; 6], target));
}

fn parse(frame: &FrameBuffer) -> Option<Arp> {
    if frame.read(ETHERNET_BYTES)? != ETHERNET_IPV4 {
        return None;
    }
    Some(Arp {
        operation: u16::from_be_bytes(frame.read(20)?),
        sender_mac: frame.read(22)?,
        sender: frame.read::<4>(28)?.into(),
        target: frame.read::<4>(38)?.into(),
    })
}

fn emit(
    frame: &mut FrameBuffer,
    dst: [u8; 6],
    operation: u16,
    (sender_mac, sender): ([u8; 6], Ipv4Addr),
    (target_mac, target): ([u8; 6], Ipv4Addr),
) {
    let mut bytes = Vec::with_capacity(SMALLEST_FRAME_BYTES);
    bytes.extend_from_slice(&dst);
    bytes.extend_from_slice(&sender_mac);
    bytes.extend_from_slice(&ARP);
    bytes.extend_from_slice(&ETHERNET_IPV4);
    bytes.extend_from_slice(&operation.to_be_bytes());
    bytes.extend_from_slice(&sender_mac);
    bytes.extend_from_slice(&sender.octets());
    bytes.extend_from_slice(&target_mac);
    bytes.extend_from_slice(&target.octets());
    bytes.resize(SMALLEST_FRAME_BYTES, 0);
    frame.load(&bytes);
}
