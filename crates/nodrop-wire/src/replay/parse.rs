//! Parser for frames of a capture file: the end of the headers, and the length and checksum fields that depend on the
//! payload.

use crate::stack::Checksum;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const ARP: u16 = 0x0806;
const ETHERNET: u16 = 0x6558;
const ARP_BYTES: usize = 28;
/// Source: RFC 7348 section 8.
const VXLAN_PORT: u16 = 4789;
/// Maximum number of headers; further headers count as payload.
const HEADERS_MAX: usize = 32;

/// A length field: the number of bytes from an offset to the end of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LengthField {
    pub(super) at: usize,
    pub(super) from: usize,
    /// Offset of the end of the packet.
    pub(super) end: usize,
}

/// The structure of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParsedFrame {
    /// Offset of the end of the last recognized header.
    pub(super) payload_at: usize,
    /// Offset of the end of the innermost packet; padding follows.
    pub(super) end: usize,
    /// LengthField fields, outermost first.
    pub(super) lengths: Vec<LengthField>,
    /// Checksums, outermost first.
    pub(super) checksums: Vec<Checksum>,
    /// The packet cannot be extended, so the signature follows it.
    pub(super) is_full: bool,
}

/// The next header and its offset.
#[derive(Clone, Copy, Debug)]
enum Next {
    Ethernet(usize),
    /// By EtherType.
    EtherType(u16, usize),
    Mpls(usize),
    /// By IP protocol number, with the pseudo header: its addresses, and the protocol.
    Transport(u8, usize, (usize, usize)),
}

impl ParsedFrame {
    /// Parse a frame up to the last recognized header.
    pub(super) fn parse(frame: &[u8]) -> Self {
        let mut parsed =
            Self { payload_at: 0, end: frame.len(), lengths: Vec::new(), checksums: Vec::new(), is_full: false };
        let mut next = Some(Next::Ethernet(0));
        for _ in 0..HEADERS_MAX {
            next = match next {
                Some(Next::Ethernet(at)) => parsed.ethernet(frame, at),
                Some(Next::EtherType(kind, at)) => parsed.ether_type(frame, kind, at),
                Some(Next::Mpls(at)) => parsed.mpls(frame, at),
                Some(Next::Transport(protocol, at, addresses)) => parsed.transport(frame, protocol, at, addresses),
                None => break,
            };
        }
        parsed
    }

    /// Record the end of a header; return false if the packet ends before it.
    fn end_header(&mut self, to: usize) -> bool {
        let fits = to <= self.end;
        if fits {
            self.payload_at = to;
        }
        fits
    }

    /// Record a length field. An impossible length, as before segmentation by the sender's network card, means the rest
    /// of the frame.
    fn record_length(&mut self, frame: &[u8], at: usize, from: usize) {
        let end = from + usize::from(word(frame, at).unwrap_or(0));
        if end >= self.payload_at && end <= self.end {
            self.end = end;
        }
        self.lengths.push(LengthField { at, from, end: self.end });
    }

    fn ethernet(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        let kind = word(frame, at + 12)?;
        self.end_header(at + 14).then_some(Next::EtherType(kind, at + 14))
    }

    fn ether_type(&mut self, frame: &[u8], kind: u16, at: usize) -> Option<Next> {
        match kind {
            0x8100 | 0x88a8 | 0x9100 => {
                let kind = word(frame, at + 2)?;
                self.end_header(at + 4).then_some(Next::EtherType(kind, at + 4))
            }
            0x8847 | 0x8848 => Some(Next::Mpls(at)),
            0x8864 => self.pppoe(frame, at),
            IPV4 => self.ipv4(frame, at),
            IPV6 => self.ipv6(frame, at),
            ETHERNET => Some(Next::Ethernet(at)),
            ARP => {
                self.is_full = self.end_header(at + ARP_BYTES);
                self.end = self.payload_at;
                None
            }
            _ => None,
        }
    }

    /// RFC 3032; the first bits after the last label determine the packet type (RFC 4928 section 3).
    fn mpls(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        let is_last = *frame.get(at + 2)? & 1 == 1;
        if !self.end_header(at + 4) {
            return None;
        }
        match frame.get(at + 4)? >> 4 {
            _ if !is_last => Some(Next::Mpls(at + 4)),
            4 => Some(Next::EtherType(IPV4, at + 4)),
            6 => Some(Next::EtherType(IPV6, at + 4)),
            _ => None,
        }
    }

    /// RFC 2516 section 4, including the PPP protocol field.
    fn pppoe(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        let kind = match word(frame, at + 6)? {
            0x0021 => IPV4,
            0x0057 => IPV6,
            _ => return None,
        };
        self.end_header(at + 8).then(|| self.record_length(frame, at + 4, at + 6))?;
        Some(Next::EtherType(kind, at + 8))
    }

    fn ipv4(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        let first = *frame.get(at)?;
        let header_bytes = 4 * usize::from(first & 15);
        if first >> 4 != 4 || header_bytes < 20 || !self.end_header(at + header_bytes) {
            return None;
        }
        self.record_length(frame, at + 2, at);
        self.checksums.push(Checksum::new(at + 10, at..at + header_bytes, None, false));
        // In a fragment, the transport checksum is absent or covers bytes of other fragments.
        let is_fragment = word(frame, at + 6)? & 0x3fff != 0;
        (!is_fragment).then_some(Next::Transport(frame[at + 9], at + header_bytes, (at + 12, at + 20)))
    }

    fn ipv6(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        if frame.get(at)? >> 4 != 6 || !self.end_header(at + 40) {
            return None;
        }
        self.record_length(frame, at + 4, at + 40);
        let (mut protocol, mut header_at) = (frame[at + 6], at + 40);
        // Hop-by-hop options, routing, destination options (RFC 8200 section 4).
        while let 0 | 43 | 60 = protocol {
            let header_bytes = 8 * (1 + usize::from(*frame.get(header_at + 1)?));
            if !self.end_header(header_at + header_bytes) {
                return None;
            }
            (protocol, header_at) = (frame[header_at], header_at + header_bytes);
        }
        if protocol == 44 {
            self.end_header(header_at + 8);
            return None;
        }
        Some(Next::Transport(protocol, header_at, (at + 8, at + 40)))
    }

    fn transport(&mut self, frame: &[u8], protocol: u8, at: usize, addresses: (usize, usize)) -> Option<Next> {
        let pseudo = Some((addresses.0, addresses.1, protocol));
        match protocol {
            4 => Some(Next::EtherType(IPV4, at)),
            41 => Some(Next::EtherType(IPV6, at)),
            6 => {
                let header_bytes = 4 * usize::from(frame.get(at + 12)? >> 4);
                if header_bytes >= 20 && self.end_header(at + header_bytes) {
                    self.checksums.push(Checksum::new(at + 16, at..self.end, pseudo, false));
                }
                None
            }
            17 => self.udp(frame, at, pseudo),
            1 | 58 if self.end_header(at + 8) => {
                let pseudo = pseudo.filter(|_| protocol == 58);
                self.checksums.push(Checksum::new(at + 2, at..self.end, pseudo, false));
                // Neighbor discovery: only options may follow (RFC 4861 section 4).
                if protocol == 58 && (133..=137).contains(&frame[at]) {
                    (self.is_full, self.payload_at) = (true, self.end);
                }
                None
            }
            47 => self.gre(frame, at),
            _ => None,
        }
    }

    fn udp(&mut self, frame: &[u8], at: usize, pseudo: Option<(usize, usize, u8)>) -> Option<Next> {
        let (to, sum) = (word(frame, at + 2)?, word(frame, at + 6)?);
        if !self.end_header(at + 8) {
            return None;
        }
        self.record_length(frame, at + 4, at);
        if sum != 0 {
            self.checksums.push(Checksum::new(at + 6, at..self.end, pseudo, true));
        }
        (to == VXLAN_PORT && self.end_header(at + 16)).then_some(Next::Ethernet(at + 16))
    }

    /// RFC 2784 and RFC 2890.
    fn gre(&mut self, frame: &[u8], at: usize) -> Option<Next> {
        let (flags, kind) = (word(frame, at)?, word(frame, at + 2)?);
        let options = [0x8000, 0x2000, 0x1000].into_iter().filter(|flag| flags & flag != 0).count();
        if flags & 7 != 0 || !self.end_header(at + 4 + 4 * options) {
            return None;
        }
        if flags & 0x8000 != 0 {
            self.checksums.push(Checksum::new(at + 4, at..self.end, None, false));
        }
        Some(Next::EtherType(kind, self.payload_at))
    }
}

fn word(frame: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*frame.get(at..)?.first_chunk()?))
}
