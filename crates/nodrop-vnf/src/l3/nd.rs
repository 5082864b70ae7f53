//! Neighbor discovery over Ethernet: solicitations and advertisements (RFC 4861 sections 4.3, 4.4, 7; RFC 2464).

use std::net::Ipv6Addr;

use nodrop_wire::{MacAddr, checksum};

use super::{ETHERNET_BYTES, IPV6, Router};
use crate::{Cause, ForwardingDecision, FrameBuffer};

const SOLICITATION: u8 = 135;
const ADVERTISEMENT: u8 = 136;
const SOURCE_ADDRESS_OPTION: u8 = 1;
const TARGET_ADDRESS_OPTION: u8 = 2;
/// Flags: router, solicited, override.
const ADVERTISED: u8 = 0xe0;
const ICMPV6: u8 = 58;
/// Hop limit of neighbor discovery messages; a lower value shows that a router forwarded the message.
const HOP_LIMIT: u8 = 255;
/// Length of a message with one link-layer address option.
const MESSAGE_BYTES: usize = 32;

const NEXT_HEADER_AT: usize = ETHERNET_BYTES + 6;
const SOURCE_AT: usize = ETHERNET_BYTES + 8;
const ADDRESSES_BYTES: usize = 32;
const MESSAGE_AT: usize = ETHERNET_BYTES + 40;
const TARGET_AT: usize = MESSAGE_AT + 8;
const OPTION_AT: usize = MESSAGE_AT + 24;

/// Return true if the frame is a neighbor solicitation or advertisement.
#[inline]
pub(super) fn is_neighbor_message(frame: &FrameBuffer) -> bool {
    frame.bytes().get(NEXT_HEADER_AT) == Some(&ICMPV6)
        && matches!(frame.bytes().get(MESSAGE_AT), Some(&(SOLICITATION | ADVERTISEMENT)))
}

impl Router {
    pub(super) fn handle_nd(&mut self, frame: &mut FrameBuffer, from: usize) -> ForwardingDecision {
        let (Some(source), Some(target)) = (frame.read::<16>(SOURCE_AT), frame.read::<16>(TARGET_AT)) else {
            return ForwardingDecision::Drop(Cause::Malformed);
        };
        if !is_valid(frame) {
            return ForwardingDecision::Drop(Cause::Malformed);
        }
        let (source, target) = (Ipv6Addr::from(source), Ipv6Addr::from(target));
        let solicits = frame.bytes()[MESSAGE_AT] == SOLICITATION;
        let (neighbor, option) =
            if solicits { (source, SOURCE_ADDRESS_OPTION) } else { (target, TARGET_ADDRESS_OPTION) };
        let mac = link_layer_address(frame, option);
        if let Some(mac) = mac {
            self.neighbors.learn(neighbor.into(), mac);
        }
        if !solicits || !self.owns(from, target) {
            return ForwardingDecision::Consume;
        }
        // Without the option, as in duplicate address detection, the reply goes to the frame's source (RFC 4861 7.2.4).
        let reply_mac = mac.map_or_else(|| frame.read(6).unwrap_or_default(), |mac| mac.0);
        let to = if source.is_unspecified() { Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1) } else { source };
        let own = self.ports[from].mac;
        emit(frame, (own, reply_mac), (target, to), [ADVERTISEMENT, ADVERTISED, TARGET_ADDRESS_OPTION], target);
        ForwardingDecision::Reply(from)
    }
}

/// Replace `frame` by a solicitation for `target`.
pub(super) fn write_solicitation(frame: &mut FrameBuffer, mac: MacAddr, source: Ipv6Addr, target: Ipv6Addr) {
    let [.., a, b, c] = target.octets();
    // Solicited-node address (RFC 4291 section 2.7.1) and its Ethernet group (RFC 2464 section 7).
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), u16::from_be_bytes([b, c]));
    emit(frame, (mac, [0x33, 0x33, 0xff, a, b, c]), (source, group), [SOLICITATION, 0, SOURCE_ADDRESS_OPTION], target);
}

/// Source: RFC 4861 sections 7.1.1 and 7.1.2.
fn is_valid(frame: &FrameBuffer) -> bool {
    let bytes = frame.bytes();
    let (Some(length), Some(limit)) = (frame.read::<2>(ETHERNET_BYTES + 4), bytes.get(ETHERNET_BYTES + 7)) else {
        return false;
    };
    let Some(message) = bytes[MESSAGE_AT..].get(..usize::from(u16::from_be_bytes(length))) else { return false };
    let sum = checksum::sum(&bytes[SOURCE_AT..SOURCE_AT + ADDRESSES_BYTES]) + pseudo_tail(message.len());
    *limit == HOP_LIMIT && message.len() >= 24 && checksum::finish(sum + checksum::sum(message)) == 0
}

/// Return the link-layer address option, if it is the first option, where all senders place it.
fn link_layer_address(frame: &FrameBuffer, kind: u8) -> Option<MacAddr> {
    (frame.read(OPTION_AT)? == [kind, 1]).then(|| frame.read(OPTION_AT + 2).map(MacAddr)).flatten()
}

/// Return the sum of length and next header, the part of the pseudo header after the addresses (RFC 8200 section 8.1).
fn pseudo_tail(message_bytes: usize) -> u64 {
    message_bytes as u64 + u64::from(ICMPV6)
}

fn emit(
    frame: &mut FrameBuffer,
    (mac, dst_mac): (MacAddr, [u8; 6]),
    (source, dst): (Ipv6Addr, Ipv6Addr),
    [kind, flags, option]: [u8; 3],
    target: Ipv6Addr,
) {
    let mut bytes = Vec::with_capacity(MESSAGE_AT + MESSAGE_BYTES);
    bytes.extend_from_slice(&dst_mac);
    bytes.extend_from_slice(&mac.0);
    bytes.extend_from_slice(&IPV6);
    bytes.extend_from_slice(&[0x60, 0, 0, 0, 0, MESSAGE_BYTES as u8, ICMPV6, HOP_LIMIT]);
    bytes.extend_from_slice(&source.octets());
    bytes.extend_from_slice(&dst.octets());
    bytes.extend_from_slice(&[kind, 0, 0, 0, flags, 0, 0, 0]);
    bytes.extend_from_slice(&target.octets());
    bytes.extend_from_slice(&[option, 1]);
    bytes.extend_from_slice(&mac.0);
    let sum = checksum::sum(&bytes[SOURCE_AT..]) + pseudo_tail(MESSAGE_BYTES);
    bytes[MESSAGE_AT + 2..MESSAGE_AT + 4].copy_from_slice(&checksum::finish(sum).to_be_bytes());
    frame.load(&bytes);
}
