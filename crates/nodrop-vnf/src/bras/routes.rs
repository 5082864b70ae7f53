//! Longest prefix match over routes that are all /24: a table with an entry for each of them.

use std::net::Ipv4Addr;

/// Routes with a prefix of 24 bits, as all of the annex.
#[derive(Clone, Debug)]
pub(super) struct RouteTable {
    /// Next hop plus one, by the first 24 bits of an address; 0 means none. Pages without an entry take no memory.
    next_hops: Vec<u16>,
}

impl Default for RouteTable {
    fn default() -> Self {
        Self { next_hops: vec![0; 1 << 24] }
    }
}

impl RouteTable {
    /// Route the /24 network of this address to a next hop.
    pub(super) fn add(&mut self, network: Ipv4Addr, next_hop: u16) {
        self.next_hops[index(network)] = next_hop + 1;
    }

    /// Return the next hop for an address.
    #[inline]
    pub(super) fn find(&self, address: Ipv4Addr) -> Option<usize> {
        usize::from(self.next_hops[index(address)]).checked_sub(1)
    }
}

#[inline]
fn index(address: Ipv4Addr) -> usize {
    (address.to_bits() >> 8) as usize
}

#[cfg(test)]
mod tests {
    use super::super::BrasProfile;

    /// The prefix of the annex: 0000101x.xxxxxxxx.xxxx0000.0/24.
    const ROUTED: u32 = 0b0000_1010_0000_0000_0000_0000_0000_0000;
    const FIXED: u32 = 0b1111_1110_0000_0000_0000_1111_0000_0000;

    #[test]
    fn an_address_is_routed_if_it_matches_the_mask_of_the_annex() {
        let table = BrasProfile::default().route_table();
        let mut routed = 0;
        // All networks from 9.0.0.0 to 12.255.255.0, each with four hosts, which include the first and the last.
        for network in 0x0009_0000..0x000d_0000_u32 {
            for host in [0, 1, 77, 255] {
                let address = network << 8 | host;
                let expected = (address & FIXED == ROUTED).then_some((address >> 12 & 63) as usize);
                assert_eq!(table.find(address.into()), expected, "{address:#x}");
                routed += usize::from(expected.is_some());
            }
        }
        assert_eq!(routed, 8192 * 4);
    }
}
