//! Common interface of headers: length, bytes, variable fields, optional checksum. Each header implements it in its own
//! file.

use nodrop_model::{Field, Layer};

use crate::WireError;

/// Neighbors of a header and the length of its payload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    /// The preceding header.
    pub(crate) previous: Option<&'a Layer>,
    /// The following header; None for the last one.
    pub(crate) next: Option<&'a Layer>,
    /// Bytes after this header that belong to its packet.
    pub(crate) payload_bytes: usize,
}

/// Position of a field within its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldPosition {
    /// Offset of the containing bytes from the start of the header; even, because all header lengths are.
    pub(crate) at: usize,
    /// Number of containing bytes: 2, 4, 6 or 8.
    pub(crate) width: usize,
    /// Width of the field in bits.
    pub(crate) bits: u32,
    /// Number of bits after the field in the same bytes.
    pub(crate) shift: u32,
}

impl FieldPosition {
    /// Return the position of a field that fills its bytes.
    pub(crate) fn full_bytes(at: usize, width: usize) -> Option<Self> {
        Some(Self { at, width, bits: 8 * width as u32, shift: 0 })
    }
}

/// Bytes that a checksum covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// The header itself.
    Header,
    /// Header and payload.
    Packet,
    /// Header, payload, and the pseudo header of the preceding IP header (RFC 768, RFC 8200 section 8.1).
    PseudoAndPacket,
}

/// A header's checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChecksumField {
    /// Offset from the start of the header.
    pub(crate) at: usize,
    /// Bytes that it covers.
    pub(crate) cover: Coverage,
    /// Zero means "no checksum", so a computed zero is sent as all ones (RFC 768).
    pub(crate) zero_is_none: bool,
}

/// A header of the model that can be serialized.
pub(crate) trait Header {
    /// Return the header's name for messages.
    fn name(&self) -> &'static str;

    /// Return the header's length in bytes.
    fn bytes(&self) -> usize;

    /// Append the header to `frame`, with a zero checksum.
    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError>;

    /// Return the position of a field; None if the header has no such field.
    fn field_position(&self, _field: Field) -> Option<FieldPosition> {
        None
    }

    /// Return the checksum field; None if the header has none.
    fn checksum(&self, _around: &Context<'_>) -> Option<ChecksumField> {
        None
    }
}

/// Return the header of a layer.
pub(crate) fn for_layer(layer: &Layer) -> &dyn Header {
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

/// Check that a number fits into `bits` bits.
pub(crate) fn fit_bits(what: &'static str, value: u32, bits: u32) -> Result<u32, WireError> {
    if value >> bits == 0 { Ok(value) } else { Err(WireError::Number { what, value, largest: (1 << bits) - 1 }) }
}

/// Return the EtherType of the next header (IEEE 802 numbers).
pub(crate) fn ether_type(after: &'static str, next: Option<&Layer>) -> Result<u16, WireError> {
    match next {
        Some(Layer::Vlan(_)) => Ok(0x8100),
        Some(Layer::Qinq(_)) => Ok(0x88a8),
        Some(Layer::Mpls(_)) => Ok(0x8847),
        Some(Layer::Ipv4(_)) => Ok(0x0800),
        Some(Layer::Ipv6(_)) => Ok(0x86dd),
        Some(Layer::Arp(_)) => Ok(0x0806),
        other => Err(order_error(after, other)),
    }
}

/// Return the IP protocol number of the next header.
pub(crate) fn ip_protocol(after: &'static str, next: Option<&Layer>, is_v6: bool) -> Result<u8, WireError> {
    match next {
        Some(Layer::IcmpEcho(_)) => Ok(if is_v6 { 58 } else { 1 }),
        Some(Layer::Nd(_)) if is_v6 => Ok(58),
        Some(Layer::Tcp(_)) => Ok(6),
        Some(Layer::Udp(_)) => Ok(17),
        Some(Layer::Gre(_)) => Ok(47),
        other => Err(order_error(after, other)),
    }
}

/// Return the error for a header that cannot follow `after`.
pub(crate) fn order_error(after: &'static str, next: Option<&Layer>) -> WireError {
    WireError::Order { after, next: next.map_or("nothing", |layer| for_layer(layer).name()) }
}

/// Check that no header follows.
pub(crate) fn require_last(after: &'static str, context: &Context<'_>) -> Result<(), WireError> {
    context.next.map_or(Ok(()), |next| Err(order_error(after, Some(next))))
}
