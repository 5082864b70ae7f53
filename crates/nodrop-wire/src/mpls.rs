//! An entry of an MPLS label stack (RFC 3032 section 2.1, RFC 5462). Behind the last may come a packet, or a frame of a
//! pseudowire without control word (RFC 4448 section 4.6).

use nodrop_model::{Field, Layer, Mpls};

use crate::WireError;
use crate::header::{Around, Header, Place, fit, misplaced};

impl Header for Mpls {
    fn name(&self) -> &'static str {
        "mpls"
    }

    fn bytes(&self) -> usize {
        4
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        let is_bottom = match around.next {
            Some(Layer::Mpls(_)) => 0,
            Some(Layer::Ipv4(_) | Layer::Ipv6(_) | Layer::Ethernet(_)) => 1,
            other => return Err(misplaced(self.name(), other)),
        };
        let label = fit("MPLS label", self.label, 20)?;
        let class = fit("MPLS tc", self.tc.into(), 3)?;
        let entry = label << 12 | class << 9 | is_bottom << 8 | u32::from(self.ttl);
        frame.extend_from_slice(&entry.to_be_bytes());
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        (field == Field::Label).then_some(Place { at: 0, width: 4, bits: 20, shift: 12 })
    }
}
