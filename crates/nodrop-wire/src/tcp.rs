//! TCP without options or state (RFC 9293 section 3.1).

use nodrop_model::{Field, Tcp};

use crate::WireError;
use crate::header::{ChecksumField, Context, Coverage, FieldPosition, Header, require_last};

const WINDOW: u16 = u16::MAX;

impl Header for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn bytes(&self) -> usize {
        20
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        require_last(self.name(), context)?;
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        frame.extend_from_slice(&self.dst_port.to_be_bytes());
        frame.extend_from_slice(&self.sequence.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&[5 << 4, self.flags]);
        frame.extend_from_slice(&WINDOW.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        match field {
            Field::SrcPort => FieldPosition::full_bytes(0, 2),
            Field::DstPort => FieldPosition::full_bytes(2, 2),
            _ => None,
        }
    }

    fn checksum(&self, _around: &Context<'_>) -> Option<ChecksumField> {
        Some(ChecksumField { at: 16, cover: Coverage::PseudoAndPacket, zero_is_none: false })
    }
}
