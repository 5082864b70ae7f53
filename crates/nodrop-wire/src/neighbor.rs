//! Who has which address: questions, answers and announcements of ARP (RFC 826, RFC 5227) and of neighbour discovery (RFC
//! 4861, over Ethernet RFC 2464) as frames.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nodrop_model::{Arp, Ethernet, Ipv6, Layer, Nd};

use crate::header::ether_type;
use crate::nd::{ADVERTISEMENT, SOLICITATION, SOURCE_ADDRESS_OPTION, TARGET_ADDRESS_OPTION};
use crate::stack::{self, Stack};
use crate::{MacAddr, Signature, WireError, checksum};

const REQUEST: u16 = 1;
const REPLY: u16 = 2;
const BROADCAST: MacAddr = MacAddr([0xff; 6]);
const NOBODY: MacAddr = MacAddr([0; 6]);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// What a neighbour's message must arrive with, so that it cannot have come from beyond the link.
const HOP_LIMIT: u8 = 255;
const ICMPV6: u8 = 58;
const IPV6_BYTES: usize = 40;
/// A neighbour discovery message before its options.
const MESSAGE_BYTES: usize = 24;
/// The smallest frame without its FCS (IEEE 802.3 clause 4.4.2).
const SMALLEST_FRAME_BYTES: usize = 60;
const TAGS: [u16; 2] = [0x8100, 0x88a8];

/// A VLAN tag as far as it tells links apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The EtherType that announces it.
    pub kind: u16,
    /// VLAN.
    pub id: u16,
}

/// The VLAN tags that these layers are.
///
/// # Errors
/// When one is something else, they come in an order that cannot be, or a number is too large.
pub fn tags(layers: &[Layer]) -> Result<Vec<Tag>, WireError> {
    let one = |layer: &Layer| match layer {
        Layer::Vlan(tag) | Layer::Qinq(tag) => Ok(Tag { kind: ether_type("ethernet", Some(layer))?, id: tag.id }),
        other => Err(crate::header::misplaced("the tags", Some(other))),
    };
    layers.iter().map(one).collect()
}

/// A message between neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Who has `target`?
    Question {
        /// The address that is asked for.
        target: IpAddr,
        /// Who asks; unspecified where it only tries out an address.
        asker: IpAddr,
        /// Where the answer goes.
        asker_mac: MacAddr,
    },
    /// `address` is at `mac`.
    Answer {
        /// The address.
        address: IpAddr,
        /// Its MAC address.
        mac: MacAddr,
    },
}

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// Tags of its frame, outermost first.
    pub tags: Vec<Tag>,
    /// What it says.
    pub message: Message,
}

impl Heard {
    /// Read a frame; None when it is no such message, is damaged, or is test traffic that only looks like one.
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
    let (asker_mac, asker) = (MacAddr(read(packet, 8)?), address(14)?);
    match word(packet, 6)? {
        REQUEST => Some(Message::Question { target: address(24)?, asker, asker_mac }),
        REPLY => Some(Message::Answer { address: asker, mac: asker_mac }),
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
            // Without an option, as from an address being tried out, the answer goes to whence it came (RFC 4861 7.2.4).
            let asker_mac = link_layer_address(message, SOURCE_ADDRESS_OPTION).unwrap_or(from);
            Some(Message::Question { target, asker: address(packet, 8)?, asker_mac })
        }
        ADVERTISEMENT => {
            Some(Message::Answer { address: target, mac: link_layer_address(message, TARGET_ADDRESS_OPTION)? })
        }
        _ => None,
    }
}

fn link_layer_address(message: &[u8], kind: u8) -> Option<MacAddr> {
    let mut options = &message[MESSAGE_BYTES..];
    while let [found, 1..=u8::MAX, ..] = options {
        if *found == kind {
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

/// Who speaks: a MAC address, and the tags its frames have.
#[derive(Clone, Copy, Debug)]
pub struct Speaker<'a> {
    /// Its MAC address.
    pub mac: MacAddr,
    /// VLAN tags, outermost first.
    pub tags: &'a [Layer],
}

impl Speaker<'_> {
    /// Who has `target`? Tell `source`.
    ///
    /// # Errors
    /// When the two are of different IP versions, or the tags cannot be.
    pub fn ask(&self, source: IpAddr, target: IpAddr) -> Result<Vec<u8>, WireError> {
        match (source, target) {
            (IpAddr::V4(source), IpAddr::V4(target)) => self.arp(BROADCAST, REQUEST, source, (NOBODY, target)),
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

    /// `own` is here, to a neighbour that asked.
    ///
    /// # Errors
    /// As [`Speaker::ask`].
    pub fn tell(&self, own: IpAddr, asker: IpAddr, asker_mac: MacAddr) -> Result<Vec<u8>, WireError> {
        match (own, asker) {
            (IpAddr::V4(own), IpAddr::V4(asker)) => self.arp(asker_mac, REPLY, own, (asker_mac, asker)),
            (IpAddr::V6(own), IpAddr::V6(asker)) if asker.is_unspecified() => self.advertise(own),
            (IpAddr::V6(own), IpAddr::V6(asker)) => self.nd(asker_mac, (own, asker), (true, true), own),
            _ => Err(WireError::Versions { source_ip: asker, target: own }),
        }
    }

    /// `own` is here, to everybody: an ARP announcement (RFC 5227 section 3), an unsolicited neighbour advertisement (RFC
    /// 4861 section 7.2.6).
    ///
    /// # Errors
    /// When the tags cannot be.
    pub fn announce(&self, own: IpAddr) -> Result<Vec<u8>, WireError> {
        match own {
            IpAddr::V4(own) => self.arp(BROADCAST, REQUEST, own, (NOBODY, own)),
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
        let stack = Stack::new(&layers)?;
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
            let (speaker, tags) = (Speaker { mac: OWN, tags: layers }, tags(layers).unwrap());
            for (own, other) in addresses() {
                let heard = |frame: Vec<u8>| Heard::parse(&frame).unwrap();
                let question = Message::Question { target: other, asker: own, asker_mac: OWN };
                let answer = Message::Answer { address: own, mac: OWN };
                let announcement =
                    if own.is_ipv4() { Message::Question { target: own, asker: own, asker_mac: OWN } } else { answer };
                for (frame, message) in [
                    (speaker.ask(own, other), question),
                    (speaker.tell(own, other, OTHER), answer),
                    (speaker.announce(own), announcement),
                ] {
                    assert_eq!(heard(frame.unwrap()), Heard { tags: tags.clone(), message });
                }
            }
        }
    }

    #[test]
    fn a_question_goes_to_all_or_to_the_group_of_the_address_and_the_answer_to_the_asker() {
        let speaker = Speaker { mac: OWN, tags: &[] };
        let [(own4, other4), (own6, other6)] = addresses();
        assert_eq!(speaker.ask(own4, other4).unwrap()[..6], [0xff; 6]);
        assert_eq!(speaker.ask(own6, other6).unwrap()[..6], [0x33, 0x33, 0xff, 0, 0x7f, 0xff]);
        for (own, other) in addresses() {
            assert_eq!(speaker.tell(own, other, OTHER).unwrap()[..6], OTHER.0);
        }
        assert_eq!(speaker.ask(own4, other4).unwrap().len(), SMALLEST_FRAME_BYTES);
        assert!(speaker.ask(own4, other6).unwrap_err().to_string().contains("IP version"));
    }

    #[test]
    fn who_tries_out_an_address_is_answered_to_all() {
        let unspecified = Ipv6Addr::UNSPECIFIED.into();
        let frame = Speaker { mac: OWN, tags: &[] }.tell(addresses()[1].0, unspecified, OTHER).unwrap();
        assert_eq!(frame[..6], [0x33, 0x33, 0, 0, 0, 1]);
        // Override alone: nobody in particular is answered.
        assert_eq!(frame[14 + 40 + 4], 0x20);
    }

    #[test]
    fn a_damaged_cut_or_routed_message_says_nothing() {
        for (own, other) in addresses() {
            let whole = Speaker { mac: OWN, tags: &[] }.ask(own, other).unwrap();
            let end = if own.is_ipv4() { 14 + 28 } else { whole.len() };
            assert!((0..end).all(|len| Heard::parse(&whole[..len]).is_none()));
        }
        let mut routed = Speaker { mac: OWN, tags: &[] }.ask(addresses()[1].0, addresses()[1].1).unwrap();
        routed[14 + 7] = 254;
        assert_eq!(Heard::parse(&routed), None);
        routed[14 + 7] = 255;
        routed[70] ^= 1;
        assert_eq!(Heard::parse(&routed), None);
    }

    #[test]
    fn test_traffic_that_looks_like_a_question_is_none() {
        let mut frame = Speaker { mac: OWN, tags: &[] }.ask(addresses()[0].0, addresses()[0].1).unwrap();
        assert!(Heard::parse(&frame).is_some());
        Signature::emit_static(1, &mut frame[14 + 28..]);
        assert_eq!(Heard::parse(&frame), None);
    }

    #[test]
    fn only_vlan_tags_are_tags() {
        let mpls = Layer::Mpls(nodrop_model::Mpls { label: 16, tc: 0, ttl: 64 });
        assert!(tags(&[mpls]).is_err());
    }
}
