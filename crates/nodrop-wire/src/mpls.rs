//! An entry of an MPLS label stack (RFC 3032 section 2.1, RFC 5462). A packet may follow the last entry, or a frame of
//! a pseudowire without control word (RFC 4448 section 4.6).

use nodrop_model::{Field, Layer, Mpls};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, fit_bits, order_error};

impl Header for Mpls {
    fn name(&self) -> &'static str {
        "mpls"
    }

    fn bytes(&self) -> usize {
        4
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        let is_bottom = match context.next {
            Some(Layer::Mpls(_)) => 0,
            Some(Layer::Ipv4(_) | Layer::Ipv6(_) | Layer::Ethernet(_)) => 1,
            other => return Err(order_error(self.name(), other)),
        };
        let label = fit_bits("MPLS label", self.label, 20)?;
        let class = fit_bits("MPLS tc", self.tc.into(), 3)?;
        let entry = label << 12 | class << 9 | is_bottom << 8 | u32::from(self.ttl);
        frame.extend_from_slice(&entry.to_be_bytes());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        (field == Field::Label).then_some(FieldPosition { at: 0, width: 4, bits: 20, shift: 12 })
    }
}
