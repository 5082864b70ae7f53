//! VLAN tags (IEEE 802.1Q clause 9.6): C-tags, and S-tags in front of them.

use nodrop_model::{Field, Vlan};

use crate::WireError;
use crate::header::{Around, Header, Place, ether_type, fit};

impl Header for Vlan {
    fn name(&self) -> &'static str {
        "vlan"
    }

    fn bytes(&self) -> usize {
        4
    }

    /// Tag control information and the EtherType of what follows; the tag's own stands in the header before.
    fn emit(&self, frame: &mut Vec<u8>, around: &Around<'_>) -> Result<(), WireError> {
        let id = fit("VLAN id", self.id.into(), 12)?;
        let priority = fit("VLAN pcp", self.pcp.into(), 3)?;
        let control = (priority << 13 | u32::from(self.dei) << 12 | id) as u16;
        frame.extend_from_slice(&control.to_be_bytes());
        frame.extend_from_slice(&ether_type(self.name(), around.next)?.to_be_bytes());
        Ok(())
    }

    fn place(&self, field: Field) -> Option<Place> {
        (field == Field::Id).then_some(Place { at: 0, width: 2, bits: 12, shift: 0 })
    }
}
