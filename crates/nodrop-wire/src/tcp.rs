//! TCP without options or state (RFC 9293 section 3.1).

use nodrop_model::{Field, Tcp};

use crate::WireError;
use crate::header::{Around, ChecksumField, Cover, Header, Place, ends};

const WINDOW: u16 = u16::MAX;

impl Header for Tcp {
    fn name(&self) -> &'static str {
        "tcp"
    }

    fn bytes(&self) -> usize {
        20
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        ends(self.name(), around)?;
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        frame.extend_from_slice(&self.dst_port.to_be_bytes());
        frame.extend_from_slice(&self.sequence.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&[5 << 4, self.flags]);
        frame.extend_from_slice(&WINDOW.to_be_bytes());
        frame.extend_from_slice(&[0; 4]);
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        match field {
            Field::SrcPort => Place::whole(0, 2),
            Field::DstPort => Place::whole(2, 2),
            _ => None,
        }
    }

    fn checksum(&self, _around: &Around<'_>) -> Option<ChecksumField> {
        Some(ChecksumField { at: 16, cover: Cover::PseudoAndPacket, zero_is_none: false })
    }
}
