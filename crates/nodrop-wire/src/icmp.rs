//! Echo requests of ICMP (RFC 792) and ICMPv6 (RFC 4443 section 4.1).

use nodrop_model::{Field, IcmpEcho, Layer};

use crate::WireError;
use crate::header::{Around, ChecksumField, Cover, Header, Place, ends};

const REQUEST: u8 = 8;
const REQUEST_V6: u8 = 128;

impl Header for IcmpEcho {
    fn name(&self) -> &'static str {
        "icmp_echo"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        ends(self.name(), around)?;
        frame.extend_from_slice(&[if is_over_v6(around) { REQUEST_V6 } else { REQUEST }, 0, 0, 0]);
        frame.extend_from_slice(&self.identifier.to_be_bytes());
        frame.extend_from_slice(&self.sequence.to_be_bytes());
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        if field == Field::Identifier { Place::whole(4, 2) } else { None }
    }

    /// ICMPv6 covers the pseudo header too (RFC 4443 section 2.3).
    fn checksum(&self, around: &Around<'_>) -> Option<ChecksumField> {
        let cover = if is_over_v6(around) { Cover::PseudoAndPacket } else { Cover::Packet };
        Some(ChecksumField { at: 2, cover, zero_is_none: false })
    }
}

fn is_over_v6(around: &Around<'_>) -> bool {
    matches!(around.previous, Some(Layer::Ipv6(_)))
}
