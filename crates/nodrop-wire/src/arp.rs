//! ARP for IPv4 over Ethernet (RFC 826).

use nodrop_model::Arp;

use crate::header::{Context, Header, require_last};
use crate::{MacAddr, WireError};

/// Hardware type Ethernet, protocol IPv4, and the address lengths.
pub(crate) const ETHERNET_IPV4: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];

impl Header for Arp {
    fn name(&self) -> &'static str {
        "arp"
    }

    fn bytes(&self) -> usize {
        28
    }

    fn emit(&self, frame: &mut Vec<u8>, context: &Context<'_>) -> Result<(), WireError> {
        require_last(self.name(), context)?;
        frame.extend_from_slice(&ETHERNET_IPV4);
        frame.extend_from_slice(&self.operation.to_be_bytes());
        frame.extend_from_slice(&self.sender_mac.parse::<MacAddr>()?.0);
        frame.extend_from_slice(&self.sender_ip.octets());
        frame.extend_from_slice(&self.target_mac.parse::<MacAddr>()?.0);
        frame.extend_from_slice(&self.target_ip.octets());
        Ok(())
    }
}
