//! What every header has: a length, bytes, fields that can change, perhaps a checksum. One file per header implements it.

use nodrop_model::{Field, Layer};

use crate::WireError;

/// A header's neighbours, and what it has to carry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Around<'a> {
    /// The header before.
    pub(crate) previous: Option<&'a Layer>,
    /// The header behind; none for the last one.
    pub(crate) next: Option<&'a Layer>,
    /// Bytes behind this header that belong to its packet.
    pub(crate) payload_bytes: usize,
}

/// A field within its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Of the bytes that hold it, from the start of the header; even, as every header's length is.
    pub(crate) at: usize,
    /// How many they are: 2, 4, 6 or 8.
    pub(crate) width: usize,
    /// Bits of the field.
    pub(crate) bits: u32,
    /// Bits behind it in the same bytes.
    pub(crate) shift: u32,
}

impl Place {
    /// A field that fills its bytes.
    pub(crate) fn whole(at: usize, width: usize) -> Option<Self> {
        Some(Self { at, width, bits: 8 * width as u32, shift: 0 })
    }
}

/// What a checksum field covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// The header itself.
    Header,
    /// Header and payload.
    Packet,
    /// Header and payload, and the pseudo header of the IP header before (RFC 768, RFC 8200 section 8.1).
    PseudoAndPacket,
}

/// A header's checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChecksumField {
    /// From the start of the header.
    pub(crate) at: usize,
    /// What it covers.
    pub(crate) cover: Cover,
    /// Zero means that there is none, so that a computed zero is sent as all ones (RFC 768).
    pub(crate) zero_is_none: bool,
}

/// A header as the model has it, to be written.
pub(crate) trait Header {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Its length.
    fn bytes(&self) -> usize;

    /// Append it, its checksum zero.
    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError>;

    /// Where a field of it is; none when it has no such field.
    fn place(&self, _field: Field) -> Option<Place> {
        None
    }

    /// Its checksum, if it has one.
    fn checksum(&self, _around: &Around<'_>) -> Option<ChecksumField> {
        None
    }
}

/// The header of a layer.
pub(crate) fn of(layer: &Layer) -> &dyn Header {
    match layer {
        Layer::Ethernet(header) => header,
        Layer::Vlan(header) | Layer::Qinq(header) => header,
        Layer::Mpls(header) => header,
        Layer::Ipv4(header) => header,
        Layer::Ipv6(header) => header,
        Layer::Udp(header) => header,
        Layer::Tcp(header) => header,
        Layer::IcmpEcho(header) => header,
        Layer::Vxlan(header) => header,
        Layer::Gre(header) => header,
        Layer::Arp(header) => header,
        Layer::Nd(header) => header,
    }
}

/// A number that has to fit into so many bits.
pub(crate) fn fit(what: &'static str, value: u32, bits: u32) -> Result<u32, WireError> {
    if value >> bits == 0 { Ok(value) } else { Err(WireError::Number { what, value, largest: (1 << bits) - 1 }) }
}

/// The EtherType that announces what is next (IEEE 802 numbers).
pub(crate) fn ether_type(after: &'static str, next: Option<&Layer>) -> Result<u16, WireError> {
    match next {
        Some(Layer::Vlan(_)) => Ok(0x8100),
        Some(Layer::Qinq(_)) => Ok(0x88a8),
        Some(Layer::Mpls(_)) => Ok(0x8847),
        Some(Layer::Ipv4(_)) => Ok(0x0800),
        Some(Layer::Ipv6(_)) => Ok(0x86dd),
        Some(Layer::Arp(_)) => Ok(0x0806),
        other => Err(misplaced(after, other)),
    }
}

/// The IP protocol number that announces what is next.
pub(crate) fn ip_protocol(after: &'static str, next: Option<&Layer>, is_v6: bool) -> Result<u8, WireError> {
    match next {
        Some(Layer::IcmpEcho(_)) => Ok(if is_v6 { 58 } else { 1 }),
        Some(Layer::Nd(_)) if is_v6 => Ok(58),
        Some(Layer::Tcp(_)) => Ok(6),
        Some(Layer::Udp(_)) => Ok(17),
        Some(Layer::Gre(_)) => Ok(47),
        other => Err(misplaced(after, other)),
    }
}

/// Why `next` cannot follow.
pub(crate) fn misplaced(after: &'static str, next: Option<&Layer>) -> WireError {
    WireError::Order { after, next: next.map_or("nothing", |layer| of(layer).name()) }
}

/// What a last header says of anything behind it.
pub(crate) fn ends(after: &'static str, around: &Around<'_>) -> Result<(), WireError> {
    around.next.map_or(Ok(()), |next| Err(misplaced(after, Some(next))))
}
