//! IPv4 without options (RFC 791 section 3.1).

use nodrop_model::{Field, Ipv4};

use crate::WireError;
use crate::header::{ChecksumField, Context, Coverage, FieldPosition, Header, fit_bits, ip_protocol};

const DONT_FRAGMENT: u16 = 0x4000;

impl Header for Ipv4 {
    fn name(&self) -> &'static str {
        "ipv4"
    }

    fn bytes(&self) -> usize {
        20
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        let total = (self.bytes() + context.payload_bytes) as u16;
        frame.extend_from_slice(&[0x45, (fit_bits("IPv4 dscp", self.dscp.into(), 6)? << 2) as u8]);
        frame.extend_from_slice(&total.to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(&DONT_FRAGMENT.to_be_bytes());
        frame.extend_from_slice(&[self.ttl, ip_protocol(self.name(), context.next, false)?, 0, 0]);
        frame.extend_from_slice(&self.src.octets());
        frame.extend_from_slice(&self.dst.octets());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        match field {
            Field::Src => FieldPosition::full_bytes(12, 4),
            Field::Dst => FieldPosition::full_bytes(16, 4),
            _ => None,
        }
    }

    fn checksum(&self, _around: &Context<'_>) -> Option<ChecksumField> {
        Some(ChecksumField { at: 10, cover: Coverage::Header, zero_is_none: false })
    }
}
