//! Ethernet II (IEEE 802.3 clause 3.1.1).

use std::str::FromStr;

use crate::WireError;

/// A 48-bit MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacAddr(pub [u8; 6]);

impl FromStr for MacAddr {
    type Err = WireError;

    fn from_str(text: &str) -> Result<Self, WireError> {
        let wrong = || WireError::Mac(text.to_owned());
        let parts: Vec<&str> = text.split(':').collect();
        let parts: [&str; 6] = parts.try_into().map_err(|_| wrong())?;
        let mut bytes = [0; 6];
        for (byte, part) in bytes.iter_mut().zip(parts) {
            let hex = part.len() == 2 && part.bytes().all(|c| c.is_ascii_hexdigit());
            *byte = hex.then(|| u8::from_str_radix(part, 16).ok()).flatten().ok_or_else(wrong)?;
        }
        Ok(Self(bytes))
    }
}

/// The header in front of every frame.
#[derive(Clone, Copy, Debug)]
pub struct Ethernet {
    /// Destination.
    pub dst: MacAddr,
    /// Source.
    pub src: MacAddr,
    /// Type of what follows.
    pub ether_type: u16,
}

impl Ethernet {
    /// Header length.
    pub const BYTES: usize = 14;
    /// EtherType of IPv4.
    pub const IPV4: u16 = 0x0800;

    /// Append the header.
    pub fn emit(&self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.dst.0);
        frame.extend_from_slice(&self.src.0);
        frame.extend_from_slice(&self.ether_type.to_be_bytes());
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
