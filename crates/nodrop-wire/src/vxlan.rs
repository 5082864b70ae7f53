//! VXLAN (RFC 7348 section 5).

use nodrop_model::{Field, Layer, Vxlan};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, fit_bits, order_error};

/// Flag: the VNI is valid.
const FLAGS: u8 = 0x08;

impl Header for Vxlan {
    fn name(&self) -> &'static str {
        "vxlan"
    }

    fn bytes(&self) -> usize {
        8
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        if !matches!(context.next, Some(Layer::Ethernet(_))) {
            return Err(order_error(self.name(), context.next));
        }
        frame.extend_from_slice(&[FLAGS, 0, 0, 0]);
        frame.extend_from_slice(&(fit_bits("VXLAN vni", self.vni, 24)? << 8).to_be_bytes());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        (field == Field::Vni).then_some(FieldPosition { at: 4, width: 4, bits: 24, shift: 8 })
    }
}
