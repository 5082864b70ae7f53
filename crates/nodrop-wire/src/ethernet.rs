//! Ethernet II (IEEE 802.3 clause 3.1.1).

use std::fmt;
use std::str::FromStr;

use nodrop_model::{Ethernet, Field};

use crate::WireError;
use crate::header::{Context, FieldPosition, Header, ether_type};

/// A 48-bit MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAddr(pub [u8; 6]);

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddr {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let error = || WireError::Mac(text.to_owned());
        let parts: Vec<&str> = text.split(':').collect();
        let parts: [&str; 6] = parts.try_into().map_err(|_| error())?;
        let mut bytes = [0; 6];
        for (byte, part) in bytes.iter_mut().zip(parts) {
            let hex = part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
            *byte = hex.then(|| u8::from_str_radix(part, 16).ok()).flatten().ok_or_else(error)?;
        }
        Ok(Self(bytes))
    }
}

impl Header for Ethernet {
    fn name(&self) -> &'static str {
        "ethernet"
    }

    fn bytes(&self) -> usize {
        14
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        frame.extend_from_slice(&self.dst.parse::<MacAddr>()?.0);
        frame.extend_from_slice(&self.src.parse::<MacAddr>()?.0);
        frame.extend_from_slice(&ether_type(self.name(), context.next)?.to_be_bytes());
        Ok(())
    }

    fn field_position(&self, field: Field) -> Option<FieldPosition> {
        match field {
            Field::Dst => FieldPosition::full_bytes(0, 6),
            Field::Src => FieldPosition::full_bytes(6, 6),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mac_address_is_six_hexadecimal_bytes() {
        assert_eq!("02:6e:64:00:00:0A".parse(), Ok(MacAddr([2, 0x6e, 0x64, 0, 0, 10])));
        for wrong in ["", "02:6e:64:00:00", "02:6e:64:00:00:00:00", "2:6e:64:00:00:00", "02:6e:64:00:00:+1"] {
            assert_eq!(wrong.parse::<MacAddr>(), Err(WireError::Mac(wrong.to_owned())));
        }
    }
}
