//! UDP (RFC 768).

use nodrop_model::{Field, Layer, Udp};

use crate::WireError;
use crate::header::{ChecksumField, Context, Coverage, FieldPosition, Header, order_error};

impl Header for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        if !matches!(context.next, None | Some(Layer::Vxlan(_))) {
            return Err(order_error(self.name(), context.next));
        }
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        frame.extend_from_slice(&self.dst_port.to_be_bytes());
        frame.extend_from_slice(&((self.bytes() + context.payload_bytes) as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        match field {
            Field::SrcPort => FieldPosition::full_bytes(0, 2),
            Field::DstPort => FieldPosition::full_bytes(2, 2),
            _ => None,
        }
    }

    /// None in front of VXLAN over IPv4 (RFC 7348 section 5); mandatory over IPv6 (RFC 8200 section 8.1).
    fn checksum(&self, context: &Context<'_>) -> Option<ChecksumField> {
        let is_left_out = matches!((context.previous, context.next), (Some(Layer::Ipv4(_)), Some(Layer::Vxlan(_))));
        (!is_left_out).then_some(ChecksumField { at: 6, cover: Coverage::PseudoAndPacket, zero_is_none: true })
    }
}
