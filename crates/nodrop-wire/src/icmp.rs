//! Echo requests of ICMP (RFC 792) and ICMPv6 (RFC 4443 section 4.1).

use nodrop_model::{Field, IcmpEcho, Layer};

use crate::WireError;
use crate::header::{ChecksumField, Context, Coverage, FieldPosition, Header, require_last};

const REQUEST: u8 = 8;
const REQUEST_V6: u8 = 128;

impl Header for IcmpEcho {
    fn name(&self) -> &'static str {
        "icmp_echo"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        require_last(self.name(), context)?;
        frame.extend_from_slice(&[if is_over_v6(context) { REQUEST_V6 } else { REQUEST }, 0, 0, 0]);
        frame.extend_from_slice(&self.identifier.to_be_bytes());
        frame.extend_from_slice(&self.sequence.to_be_bytes());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        if field == Field::Identifier { FieldPosition::full_bytes(4, 2) } else { None }
    }

    /// The ICMPv6 checksum also covers the pseudo header (RFC 4443 section 2.3).
    fn checksum(&self, context: &Context<'_>) -> Option<ChecksumField> {
        let cover = if is_over_v6(context) { Coverage::PseudoAndPacket } else { Coverage::Packet };
        Some(ChecksumField { at: 2, cover, zero_is_none: false })
    }
}

fn is_over_v6(context: &Context<'_>) -> bool {
    matches!(context.previous, Some(Layer::Ipv6(_)))
}
