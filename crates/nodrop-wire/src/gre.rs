//! GRE (RFC 2784) with or without a key (RFC 2890).

use nodrop_model::{Field, Gre, Layer};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, ether_type};

const KEY_PRESENT: u16 = 0x2000;
/// Transparent Ethernet bridging (RFC 1701).
const ETHERNET: u16 = 0x6558;

impl Header for Gre {
    fn name(&self) -> &'static str {
        "gre"
    }

    fn bytes(&self) -> usize {
        if self.key.is_some() { 8 } else { 4 }
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        let protocol = match context.next {
            Some(Layer::Ethernet(_)) => ETHERNET,
            next => ether_type(self.name(), next)?,
        };
        frame.extend_from_slice(&self.key.map_or(0, |_| KEY_PRESENT).to_be_bytes());
        frame.extend_from_slice(&protocol.to_be_bytes());
        self.key.into_iter().for_each(|key| frame.extend_from_slice(&key.to_be_bytes()));
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        self.key.filter(|_| field == Field::Key).and_then(|_| FieldPosition::full_bytes(4, 4))
    }
}
