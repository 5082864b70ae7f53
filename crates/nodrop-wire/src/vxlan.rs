//! VXLAN (RFC 7348 section 5).

use nodrop_model::{Field, Layer, Vxlan};

use crate::WireError;
use crate::header::{Around, Header, Place, fit, misplaced};

/// The VNI is valid.
const FLAGS: u8 = 0x08;

impl Header for Vxlan {
    fn name(&self) -> &'static str {
        "vxlan"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        if !matches!(around.next, Some(Layer::Ethernet(_))) {
            return Err(misplaced(self.name(), around.next));
        }
        frame.extend_from_slice(&[FLAGS, 0, 0, 0]);
        frame.extend_from_slice(&(fit("VXLAN vni", self.vni, 24)? << 8).to_be_bytes());
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        (field == Field::Vni).then_some(Place { at: 4, width: 4, bits: 24, shift: 8 })
    }
}
