//! Address resolution messages as frames: requests, replies and announcements of ARP (RFC 826, RFC 5227) and of
//! neighbor discovery (RFC 4861, over Ethernet RFC 2464).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nodrop_model::{Arp, Ethernet, Ipv6, Layer, Nd, SignatureForm};

use crate::header::ether_type;
use crate::nd::{ADVERTISEMENT, SOLICITATION, SOURCE_ADDRESS_OPTION, TARGET_ADDRESS_OPTION};
use crate::stack::{self, Stack};
use crate::{MacAddr, Signature, WireError, checksum};

const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const BROADCAST: MacAddr = MacAddr([0xff; 6]);
const UNKNOWN_MAC: MacAddr = MacAddr([0; 6]);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// Hop limit of neighbor discovery messages; a lower value shows that a router forwarded the message.
const HOP_LIMIT: u8 = 255;
const ICMPV6: u8 = 58;
const IPV6_BYTES: usize = 40;
/// LengthField of a neighbor discovery message before its options.
const MESSAGE_BYTES: usize = 24;
/// The smallest frame without its FCS (IEEE 802.3 clause 4.4.2).
const SMALLEST_FRAME_BYTES: usize = 60;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// A VLAN tag, without priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// EtherType of the tag.
    pub kind: u16,
    /// VLAN identifier.
    pub id: u16,
}

/// Convert VLAN layers to tags.
///
/// # Errors
/// If a layer is no VLAN tag, the order is invalid, or a number is too large.
pub fn parse_tags(layers: &[Layer]) -> Result<Vec<Tag>, WireError> {
    let parse_tag = |layer: &Layer| match layer {
        Layer::Vlan(tag) | Layer::Qinq(tag) => Ok(Tag { kind: ether_type("ethernet", Some(layer))?, id: tag.id }),
        other => Err(crate::header::order_error("the tags", Some(other))),
    };
    layers.iter().map(parse_tag).collect()
}

/// An address resolution message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// A request for the MAC address of `target`.
    Request {
        /// Address to resolve.
        target: IpAddr,
        /// Sender; unspecified for duplicate address detection.
        sender: IpAddr,
        /// MAC address to reply to.
        sender_mac: MacAddr,
    },
    /// A reply or advertisement: `address` has the MAC address `mac`.
    Reply {
        /// IP address.
        address: IpAddr,
        /// MAC address.
        mac: MacAddr,
    },
}

/// A received message with its VLAN tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighborMessage {
    /// VLAN tags, outermost first.
    pub tags: Vec<Tag>,
    /// Message.
    pub message: Message,
}

impl NeighborMessage {
    /// Parse a frame; return None if it is no such message, is damaged, or is test traffic that resembles one.
    #[must_use]
    pub fn parse(frame: &[u8]) -> Option<Self> {
        let (mut tags, mut at) = (Vec::new(), 12);
        while let kind = word(frame, at)?
            && TAGS.contains(&kind)
        {
            tags.push(Tag { kind, id: word(frame, at + 2)? & 0xfff });
            at += 4;
        }
        let packet = frame.get(at + 2..)?;
        let message = match word(frame, at)? {
            0x0806 => arp(packet)?,
            0x86dd => nd(packet, MacAddr(read(frame, 6)?))?,
            _ => return None,
        };
        Some(Self { tags, message })
    }
}

fn arp(packet: &[u8]) -> Option<Message> {
    let is_test = packet.get(28..).is_some_and(|rest| Signature::parse(rest).is_some());
    if is_test || packet.get(..6)? != crate::arp::ETHERNET_IPV4 {
        return None;
    }
    let address = |at| Some(IpAddr::from(Ipv4Addr::from(read::<4>(packet, at)?)));
    let (sender_mac, sender) = (MacAddr(read(packet, 8)?), address(14)?);
    match word(packet, 6)? {
        REQUEST => Some(Message::Request { target: address(24)?, sender, sender_mac }),
        REPLY => Some(Message::Reply { address: sender, mac: sender_mac }),
        _ => None,
    }
}

/// Source: RFC 4861 sections 7.1.1 and 7.1.2.
fn nd(packet: &[u8], from: MacAddr) -> Option<Message> {
    let end = IPV6_BYTES + usize::from(word(packet, 4)?);
    let message = packet.get(IPV6_BYTES..end)?;
    if packet[6..8] != [ICMPV6, HOP_LIMIT] || message.len() < MESSAGE_BYTES {
        return None;
    }
    let is_test = Signature::parse(&packet[end..]).is_some();
    let pseudo = checksum::sum(&packet[8..IPV6_BYTES]) + message.len() as u64 + u64::from(ICMPV6);
    if is_test || checksum::finish(pseudo + checksum::sum(message)) != 0 {
        return None;
    }
    let address = |bytes, at| Some(IpAddr::from(Ipv6Addr::from(read::<16>(bytes, at)?)));
    let target = address(message, 8)?;
    match message[0] {
        SOLICITATION => {
            // Without the option, as in duplicate address detection, the reply goes to the frame's source (RFC 4861
            // 7.2.4).
            let sender_mac = link_layer_address(message, SOURCE_ADDRESS_OPTION).unwrap_or(from);
            Some(Message::Request { target, sender: address(packet, 8)?, sender_mac })
        }
        ADVERTISEMENT => {
            Some(Message::Reply { address: target, mac: link_layer_address(message, TARGET_ADDRESS_OPTION)? })
        }
        _ => None,
    }
}

fn link_layer_address(message: &[u8], kind: u8) -> Option<MacAddr> {
    let mut options = &message[MESSAGE_BYTES..];
    while let [option, 1..=u8::MAX, ..] = options {
        if *option == kind {
            return read(options, 2).map(MacAddr);
        }
        options = options.get(8 * usize::from(options[1])..)?;
    }
    None
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    read(bytes, at).map(u16::from_be_bytes)
}

fn read<const COUNT: usize>(bytes: &[u8], at: usize) -> Option<[u8; COUNT]> {
    bytes.get(at..at + COUNT)?.try_into().ok()
}

/// Builds the messages of one station.
#[derive(Clone, Copy, Debug)]
pub struct NeighborEncoder<'a> {
    /// MAC address of the station.
    pub mac: MacAddr,
    /// VLAN tags of its frames, outermost first.
    pub tags: &'a [Layer],
}

impl NeighborEncoder<'_> {
    /// Build a request for the MAC address of `target`.
    ///
    /// # Errors
    /// If the two addresses are of different IP versions, or the tags are invalid.
    pub fn request(&self, source: IpAddr, target: IpAddr) -> Result<Vec<u8>, WireError> {
        match (source, target) {
            (IpAddr::V4(source), IpAddr::V4(target)) => self.arp(BROADCAST, REQUEST, source, (UNKNOWN_MAC, target)),
            (IpAddr::V6(source), IpAddr::V6(target)) => {
                let [.., a, b, c] = target.octets();
                // Solicited-node address (RFC 4291 section 2.7.1) and its Ethernet group (RFC 2464 section 7).
                let low = u16::from_be_bytes([b, c]);
                let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low);
                self.nd(MacAddr([0x33, 0x33, 0xff, a, b, c]), (source, group), (false, false), target)
            }
            _ => Err(WireError::Versions { source_ip: source, target }),
        }
    }

    /// Build a reply to a request for `own`.
    ///
    /// # Errors
    /// Same as [`NeighborEncoder::request`].
    pub fn reply(&self, own: IpAddr, requester: IpAddr, requester_mac: MacAddr) -> Result<Vec<u8>, WireError> {
        match (own, requester) {
            (IpAddr::V4(own), IpAddr::V4(requester)) => self.arp(requester_mac, REPLY, own, (requester_mac, requester)),
            (IpAddr::V6(own), IpAddr::V6(requester)) if requester.is_unspecified() => self.advertise(own),
            (IpAddr::V6(own), IpAddr::V6(requester)) => self.nd(requester_mac, (own, requester), (true, true), own),
            _ => Err(WireError::Versions { source_ip: requester, target: own }),
        }
    }

    /// Build an announcement of `own`: an ARP announcement (RFC 5227 section 3) or an unsolicited neighbor
    /// advertisement (RFC 4861 section 7.2.6).
    ///
    /// # Errors
    /// If the tags are invalid.
    pub fn announce(&self, own: IpAddr) -> Result<Vec<u8>, WireError> {
        match own {
            IpAddr::V4(own) => self.arp(BROADCAST, REQUEST, own, (UNKNOWN_MAC, own)),
            IpAddr::V6(own) => self.advertise(own),
        }
    }

    fn advertise(&self, own: Ipv6Addr) -> Result<Vec<u8>, WireError> {
        self.nd(MacAddr([0x33, 0x33, 0, 0, 0, 1]), (own, ALL_NODES), (true, false), own)
    }

    fn arp(
        &self,
        dst: MacAddr,
        operation: u16,
        sender_ip: Ipv4Addr,
        (target_mac, target_ip): (MacAddr, Ipv4Addr),
    ) -> Result<Vec<u8>, WireError> {
        let (sender_mac, target_mac) = (self.mac.to_string(), target_mac.to_string());
        self.frame(dst, [Layer::Arp(Arp { operation, sender_mac, sender_ip, target_mac, target_ip })])
    }

    fn nd(
        &self,
        to_mac: MacAddr,
        (src, dst): (Ipv6Addr, Ipv6Addr),
        (advertises, solicited): (bool, bool),
        target: Ipv6Addr,
    ) -> Result<Vec<u8>, WireError> {
        let ip = Ipv6 { src, dst, dscp: 0, flow_label: 0, hop_limit: HOP_LIMIT };
        let nd = Nd { advertises, solicited, target, mac: self.mac.to_string() };
        self.frame(to_mac, [Layer::Ipv6(ip), Layer::Nd(nd)])
    }

    fn frame<const COUNT: usize>(&self, dst: MacAddr, packet: [Layer; COUNT]) -> Result<Vec<u8>, WireError> {
        let ethernet = Layer::Ethernet(Ethernet { src: self.mac.to_string(), dst: dst.to_string() });
        let layers: Vec<Layer> = [ethernet].into_iter().chain(self.tags.iter().cloned()).chain(packet).collect();
        let stack = Stack::new(&layers, SignatureForm::Payload)?;
        let mut frame = stack.emit(stack.smallest_frame_bytes())?;
        let checksums = stack.checksums(&frame);
        stack::seal(&mut frame, &checksums);
        frame.truncate(SMALLEST_FRAME_BYTES.max(stack.bytes));
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodrop_model::Vlan;

    const OWN: MacAddr = MacAddr([2, 0x6e, 0x64, 0, 0, 1]);
    const OTHER: MacAddr = MacAddr([2, 0x6e, 0x64, 0, 1, 1]);

    fn tagged() -> [Layer; 2] {
        let vlan = |id| Vlan { id, pcp: 3, dei: false };
        [Layer::Qinq(vlan(7)), Layer::Vlan(vlan(100))]
    }

    fn addresses() -> [(IpAddr, IpAddr); 2] {
        [("198.18.0.1", "198.18.255.254"), ("2001:2::1", "2001:2::7fff")]
            .map(|(own, other)| (own.parse().unwrap(), other.parse().unwrap()))
    }

    #[test]
    fn a_question_an_answer_and_an_announcement_are_read_back_with_and_without_tags() {
        let both = tagged();
        for layers in [&both[..0], &both[1..], &both[..]] {
            let (encoder, tags) = (NeighborEncoder { mac: OWN, tags: layers }, parse_tags(layers).unwrap());
            for (own, other) in addresses() {
                let parsed = |frame: Vec<u8>| NeighborMessage::parse(&frame).unwrap();
                let request = Message::Request { target: other, sender: own, sender_mac: OWN };
                let reply = Message::Reply { address: own, mac: OWN };
                let announcement =
                    if own.is_ipv4() { Message::Request { target: own, sender: own, sender_mac: OWN } } else { reply };
                for (frame, message) in [
                    (encoder.request(own, other), request),
                    (encoder.reply(own, other, OTHER), reply),
                    (encoder.announce(own), announcement),
                ] {
                    assert_eq!(parsed(frame.unwrap()), NeighborMessage { tags: tags.clone(), message });
                }
            }
        }
    }

    #[test]
    fn a_question_goes_to_all_or_to_the_group_of_the_address_and_the_answer_to_the_asker() {
        let encoder = NeighborEncoder { mac: OWN, tags: &[] };
        let [(own4, other4), (own6, other6)] = addresses();
        assert_eq!(encoder.request(own4, other4).unwrap()[..6], [0xff; 6]);
        assert_eq!(encoder.request(own6, other6).unwrap()[..6], [0x33, 0x33, 0xff, 0, 0x7f, 0xff]);
        for (own, other) in addresses() {
            assert_eq!(encoder.reply(own, other, OTHER).unwrap()[..6], OTHER.0);
        }
        assert_eq!(encoder.request(own4, other4).unwrap().len(), SMALLEST_FRAME_BYTES);
        assert!(encoder.request(own4, other6).unwrap_err().to_string().contains("IP version"));
    }

    #[test]
    fn who_tries_out_an_address_is_answered_to_all() {
        let unspecified = Ipv6Addr::UNSPECIFIED.into();
        let frame = NeighborEncoder { mac: OWN, tags: &[] }.reply(addresses()[1].0, unspecified, OTHER).unwrap();
        assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
        // Override alone: the advertisement is unsolicited.
        assert_eq!(frame[14 + 40 + 4], 0x20);
    }

    #[test]
    fn a_damaged_cut_or_routed_message_says_nothing() {
        for (own, other) in addresses() {
            let whole = NeighborEncoder { mac: OWN, tags: &[] }.request(own, other).unwrap();
            let end = if own.is_ipv4() { 14 + 28 } else { whole.len() };
            assert!((0..end).all(|len| NeighborMessage::parse(&whole[..len]).is_none()));
        }
        let mut routed = NeighborEncoder { mac: OWN, tags: &[] }.request(addresses()[1].0, addresses()[1].1).unwrap();
        routed[14 + 7] = 254;
        assert_eq!(NeighborMessage::parse(&routed), None);
        routed[14 + 7] = 255;
        routed[70] ^= 1;
        assert_eq!(NeighborMessage::parse(&routed), None);
    }

    #[test]
    fn test_traffic_that_looks_like_a_question_is_none() {
        let mut frame = NeighborEncoder { mac: OWN, tags: &[] }.request(addresses()[0].0, addresses()[0].1).unwrap();
        assert!(NeighborMessage::parse(&frame).is_some());
        Signature::emit_static(1, &mut frame[14 + 28..]);
        assert_eq!(NeighborMessage::parse(&frame), None);
    }

    #[test]
    fn only_vlan_tags_are_tags() {
        let mpls = Layer::Mpls(nodrop_model::Mpls { label: 16, tc: 0, ttl: 64 });
        assert!(parse_tags(&[mpls]).is_err());
    }
}
