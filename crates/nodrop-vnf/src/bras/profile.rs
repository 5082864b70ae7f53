//! Tables of the BRAS, computed from a few numbers.
//!
//! The annex gives the number of table entries and the prefixes of the routes, but not the values in the tables. These
//! are those of PROX, so that results compare with its results.

use std::net::Ipv4Addr;

use nodrop_wire::{MacAddr, checksum, random};

use super::routes::RouteTable;
use super::subscribers::Line;
use super::{CORE_HEADER_BYTES, ETHERNET_BYTES, GRE, GRE_BYTES, GRE_KEYED_IPV4, MPLS, MPLS_BYTES};
use crate::ipv4;

/// Most subscribers.
pub const SUBSCRIBERS_MAX: u32 = 1 << 16;
/// Most routes.
pub const ROUTES_MAX: u32 = 1 << 13;
/// Most next hops.
pub const NEXT_HOPS_MAX: u32 = 64;

/// Distance of two routes, so that hardly two of them share a cache line of a route table.
const ROUTE_STEP: u32 = 1 << 12;
const FIRST_ROUTE: u32 = 10 << 24;
/// TTL of the label and of the tunnel's packets.
const OUTER_TTL: u8 = 64;

/// Assignment of tags to subscribers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TagPlan {
    /// That of PROX. VLAN id 0 occurs, which is not a VLAN but a priority tag.
    #[default]
    Prox,
    /// The same with both tags one higher, for equipment that drops priority tags.
    Shifted,
    /// The tags of PROX, assigned to subscribers in an order that this seed determines.
    Shuffled(u64),
}

/// Contents of the tables.
#[derive(Clone, Copy, Debug)]
pub struct BrasProfile {
    /// Number of subscribers, up to [`SUBSCRIBERS_MAX`].
    pub subscriber_count: u32,
    /// Number of routes, up to [`ROUTES_MAX`].
    pub route_count: u32,
    /// Number of next hops, up to [`NEXT_HOPS_MAX`].
    pub next_hop_count: u32,
    /// Tags of the subscribers.
    pub tag_plan: TagPlan,
    /// The BRAS's end of all tunnels.
    pub address: Ipv4Addr,
}

impl Default for BrasProfile {
    /// Return the profile of the annex.
    fn default() -> Self {
        Self {
            subscriber_count: SUBSCRIBERS_MAX,
            route_count: ROUTES_MAX,
            next_hop_count: NEXT_HOPS_MAX,
            tag_plan: TagPlan::Prox,
            address: Ipv4Addr::new(21, 22, 23, 24),
        }
    }
}

impl BrasProfile {
    /// Return S-tag and C-tag of a subscriber.
    fn subscriber_tags(&self, subscriber: u32) -> (u16, u16) {
        let low = subscriber & 0xff;
        let s_tag = (subscriber >> 8 & 0xff) as u16;
        let c_tag = ((low & 0xf0) << 4 | (low & 0x0c) << 2 | low & 3) as u16;
        if self.tag_plan == TagPlan::Shifted { (s_tag + 1, c_tag + 1) } else { (s_tag, c_tag) }
    }

    /// Return the lines of all subscribers, ordered by key. They are divided evenly among `ports`.
    pub(super) fn lines(&self, ports: &[usize]) -> Vec<Line> {
        let count = self.subscriber_count;
        let keys = match self.tag_plan {
            TagPlan::Shuffled(seed) => random::sample(count.into(), count.into(), seed),
            TagPlan::Prox | TagPlan::Shifted => (0..u64::from(count)).collect(),
        };
        let mut lines = vec![Line { s_tag: 0, c_tag: 0, port: 0 }; count as usize];
        for (subscriber, key) in (0..count).zip(keys) {
            let (s_tag, c_tag) = self.subscriber_tags(subscriber);
            let port = ports[(u64::from(subscriber) * ports.len() as u64 / u64::from(count)) as usize];
            lines[key as usize] = Line { s_tag, c_tag, port: port as u16 };
        }
        lines
    }

    /// Return the routes, which cycle through the next hops.
    pub(super) fn route_table(&self) -> RouteTable {
        let mut table = RouteTable::default();
        for route in 0..self.route_count {
            table.add((FIRST_ROUTE + route * ROUTE_STEP).into(), (route % self.next_hop_count) as u16);
        }
        table
    }

    /// Return the tunnels of the next hops, which cycle through `ports`; `mac` returns the MAC address of a port.
    pub(super) fn tunnels(&self, ports: &[usize], mac: impl Fn(usize) -> MacAddr) -> Vec<Tunnel> {
        let tunnel = |next_hop: u32| {
            let (port, number) = (ports[next_hop as usize % ports.len()], next_hop + 1);
            // The decimal digits of the number, as hexadecimal digits.
            let digits = ((number / 10) << 4) + number % 10;
            let end = Ipv4Addr::new(number as u8, 1, 1, 1);
            Tunnel::new(port, mac(port), MacAddr([0, 0, 0, 0, 0, digits as u8]), digits << 8 | 0x12, self.address, end)
        };
        (0..self.next_hop_count).map(tunnel).collect()
    }
}

/// A next hop and the headers of frames to it.
#[derive(Clone, Debug)]
pub(super) struct Tunnel {
    pub(super) port: usize,
    /// Headers, with zeros for length, checksum and key.
    headers: [u8; CORE_HEADER_BYTES],
    /// Sum of the IPv4 header without its length.
    static_sum: u64,
}

impl Tunnel {
    fn new(port: usize, src: MacAddr, dst: MacAddr, label: u32, near: Ipv4Addr, far: Ipv4Addr) -> Self {
        const IP: usize = ETHERNET_BYTES + MPLS_BYTES;
        let bottom_of_stack = 1 << 8;
        let entry = label << 12 | bottom_of_stack | u32::from(OUTER_TTL);
        let mut headers = [0; CORE_HEADER_BYTES];
        headers[..6].copy_from_slice(&dst.0);
        headers[6..12].copy_from_slice(&src.0);
        headers[12..14].copy_from_slice(&MPLS);
        headers[14..18].copy_from_slice(&entry.to_be_bytes());
        headers[IP..IP + 12].copy_from_slice(&[0x45, 0, 0, 0, 0, 0, 0, 0, OUTER_TTL, GRE, 0, 0]);
        headers[IP + 12..IP + 16].copy_from_slice(&near.octets());
        headers[IP + 16..IP + 20].copy_from_slice(&far.octets());
        headers[IP + 20..IP + 24].copy_from_slice(&GRE_KEYED_IPV4);
        Self { port, headers, static_sum: checksum::sum(&headers[IP..IP + ipv4::HEADER_BYTES]) }
    }

    /// Return the headers in front of a packet of `packet_bytes` in the tunnel of this key.
    #[inline]
    pub(super) fn headers(&self, packet_bytes: usize, key: u32) -> [u8; CORE_HEADER_BYTES] {
        let total_bytes = (ipv4::HEADER_BYTES + GRE_BYTES + packet_bytes) as u16;
        let mut headers = self.headers;
        headers[20..22].copy_from_slice(&total_bytes.to_be_bytes());
        let checksum = checksum::finish(self.static_sum + u64::from(total_bytes));
        headers[28..30].copy_from_slice(&checksum.to_be_bytes());
        headers[42..46].copy_from_slice(&key.to_be_bytes());
        headers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tags_of_prox() {
        let lines = BrasProfile::default().lines(&[0, 1]);
        let expected = [
            (0, 0, 0, 0),
            (255, 0, 0xf33, 0),
            (256, 1, 0, 0),
            (257, 1, 1, 0),
            (32_767, 0x7f, 0xf33, 0),
            (32_768, 0x80, 0, 1),
            (65_535, 0xff, 0xf33, 1),
        ];
        for (key, s_tag, c_tag, port) in expected {
            assert_eq!(lines[key], Line { s_tag, c_tag, port });
        }
    }

    #[test]
    fn shuffled_tags_have_no_formula_but_depend_on_the_seed_alone() {
        let lines = |seed| BrasProfile { tag_plan: TagPlan::Shuffled(seed), ..BrasProfile::default() }.lines(&[0]);
        let prox = BrasProfile::default().lines(&[0]);
        assert_eq!(lines(1), lines(1));
        assert_ne!(lines(1), lines(2));
        let unmoved = lines(1).iter().zip(&prox).filter(|(one, other)| one == other).count();
        assert!(unmoved < 10, "{unmoved} subscribers have kept their tags");
    }
}
