//! IPv6 without extension headers (RFC 8200 section 3).

use nodrop_model::{Field, Ipv6};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, fit_bits, ip_protocol};

const VERSION: u32 = 6;

impl Header for Ipv6 {
    fn name(&self) -> &'static str {
        "ipv6"
    }

    fn bytes(&self) -> usize {
        40
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        let dscp = fit_bits("IPv6 dscp", self.dscp.into(), 6)?;
        let flow_label = fit_bits("IPv6 flow label", self.flow_label, 20)?;
        frame.extend_from_slice(&(VERSION << 28 | dscp << 22 | flow_label).to_be_bytes());
        frame.extend_from_slice(&(context.payload_bytes as u16).to_be_bytes());
        frame.extend_from_slice(&[ip_protocol(self.name(), context.next, true)?, self.hop_limit]);
        frame.extend_from_slice(&self.src.octets());
        frame.extend_from_slice(&self.dst.octets());
        Ok(())
    }

    /// Return the position of a field; for an address, of its lower half.
    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        match field {
            Field::FlowLabel => Some(FieldPosition { at: 0, width: 4, bits: 20, shift: 0 }),
            Field::Src => FieldPosition::full_bytes(16, 8),
            Field::Dst => FieldPosition::full_bytes(32, 8),
            _ => None,
        }
    }
}
