//! VLAN tags (IEEE 802.1Q clause 9.6): C-tags, and S-tags in front of them.

use nodrop_model::{Field, Vlan};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, ether_type, fit_bits};

impl Header for Vlan {
    fn name(&self) -> &'static str {
        "vlan"
    }

    fn bytes(&self) -> usize {
        4
    }

    /// Write tag control information and the EtherType of the next header; the tag's own EtherType is in the preceding
    /// header.
    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        let id = fit_bits("VLAN id", self.id.into(), 12)?;
        let priority = fit_bits("VLAN pcp", self.pcp.into(), 3)?;
        let control = (priority << 13 | u32::from(self.dei) << 12 | id) as u16;
        frame.extend_from_slice(&control.to_be_bytes());
        frame.extend_from_slice(&ether_type(self.name(), context.next)?.to_be_bytes());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        (field == Field::Id).then_some(FieldPosition { at: 0, width: 2, bits: 12, shift: 0 })
    }
}
