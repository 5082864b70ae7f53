//! IPv6 without extension headers (RFC 8200 section 3).

use nodrop_model::{Field, Ipv6};

use crate::WireError;
use crate::header::{Around, Header, Place, fit, ip_protocol};

const VERSION: u32 = 6;

impl Header for Ipv6 {
    fn name(&self) -> &'static str {
        "ipv6"
    }

    fn bytes(&self) -> usize {
        40
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        let dscp = fit("IPv6 dscp", self.dscp.into(), 6)?;
        let flow_label = fit("IPv6 flow label", self.flow_label, 20)?;
        frame.extend_from_slice(&(VERSION << 28 | dscp << 22 | flow_label).to_be_bytes());
        frame.extend_from_slice(&(around.payload_bytes as u16).to_be_bytes());
        frame.extend_from_slice(&[ip_protocol(self.name(), around.next, true)?, self.hop_limit]);
        frame.extend_from_slice(&self.src.octets());
        frame.extend_from_slice(&self.dst.octets());
        Ok(())
    }

    /// Of an address, its lower half.
    fn place(&self, field: Field) -> Option<Place> {
        match field {
            Field::FlowLabel => Some(Place { at: 0, width: 4, bits: 20, shift: 0 }),
            Field::Src => Place::whole(16, 8),
            Field::Dst => Place::whole(32, 8),
            _ => None,
        }
    }
}
