//! UDP (RFC 768).

use nodrop_model::{Field, Layer, Udp};

use crate::WireError;
use crate::header::{Around, ChecksumField, Cover, Header, Place, misplaced};

impl Header for Udp {
    fn name(&self) -> &'static str {
        "udp"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        if !matches!(around.next, None | Some(Layer::Vxlan(_))) {
            return Err(misplaced(self.name(), around.next));
        }
        frame.extend_from_slice(&self.src_port.to_be_bytes());
        frame.extend_from_slice(&self.dst_port.to_be_bytes());
        frame.extend_from_slice(&((self.bytes() + around.payload_bytes) as u16).to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        match field {
            Field::SrcPort => Place::whole(0, 2),
            Field::DstPort => Place::whole(2, 2),
            _ => None,
        }
    }

    /// None in front of VXLAN over IPv4 (RFC 7348 section 5); over IPv6 always (RFC 8200 section 8.1).
    fn checksum(&self, around: &Around<'_>) -> Option<ChecksumField> {
        let is_left_out = matches!((around.previous, around.next), (Some(Layer::Ipv4(_)), Some(Layer::Vxlan(_))));
        (!is_left_out).then_some(ChecksumField { at: 6, cover: Cover::PseudoAndPacket, zero_is_none: true })
    }
}
