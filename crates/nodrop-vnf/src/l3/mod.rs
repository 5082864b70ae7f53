//! A router with static routes for IPv4 and IPv6 (RFC 1812 section 5, RFC 8200), on Ethernet ports of its own.
//!
//! It answers ARP and neighbour solicitations for its addresses and asks for its next hops' MAC addresses; these are kept
//! until it ends. It sends no ICMP errors: a packet it cannot forward is counted and dropped.

mod arp;
mod ipv4;
mod ipv6;
mod nd;
mod neighbors;
mod routes;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use nodrop_wire::MacAddr;

use crate::{Cause, FrameBuffer, Network, Verdict};
use neighbors::{Neighbors, Next};
use routes::Routes;

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const ARP: [u8; 2] = [0x08, 0x06];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// A port of the router.
#[derive(Clone, Debug)]
pub struct RouterPort {
    /// The station it is on its link.
    pub mac: MacAddr,
    /// Its own addresses.
    pub addresses: Vec<IpAddr>,
}

/// A prefix and where it is reached.
#[derive(Clone, Copy, Debug)]
pub struct StaticRoute {
    /// The prefix.
    pub prefix: IpNet,
    /// Next hop.
    pub via: IpAddr,
    /// Position of the port the next hop is behind.
    pub port: usize,
}

/// A next hop whose MAC address is known beforehand.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// Next hop.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: MacAddr,
}

/// The router.
#[derive(Clone, Debug)]
pub struct Router {
    ports: Vec<RouterPort>,
    routes4: Routes<u32>,
    routes6: Routes<u128>,
    neighbors: Neighbors,
}

impl Router {
    /// A router with these ports and routes. Where two prefixes hold an address the longer one counts, of equal prefixes
    /// the first.
    #[must_use]
    pub fn new(ports: Vec<RouterPort>, routes: &[StaticRoute], known: &[Neighbor]) -> Self {
        let mut router =
            Self { ports, routes4: Routes::default(), routes6: Routes::default(), neighbors: Neighbors::default() };
        for route in routes {
            let next = router.neighbors.place(route.via, route.port);
            match route.prefix {
                IpNet::V4(prefix) => {
                    router.routes4.add(prefix.network().to_bits(), prefix.netmask().to_bits(), next);
                }
                IpNet::V6(prefix) => {
                    router.routes6.add(prefix.network().to_bits(), prefix.netmask().to_bits(), next);
                }
            }
        }
        for neighbor in known {
            router.neighbors.learn(neighbor.address, neighbor.mac);
        }
        router
    }

    fn owns(&self, port: usize, address: impl Into<IpAddr>) -> bool {
        self.ports[port].addresses.contains(&address.into())
    }

    fn is_local(&self, address: impl Into<IpAddr>) -> bool {
        let address = address.into();
        self.ports.iter().any(|port| port.addresses.contains(&address))
    }

    /// The address a question from this port is asked with.
    fn source<A>(&self, port: usize, of: impl Fn(&IpAddr) -> Option<A>) -> Option<A> {
        self.ports[port].addresses.iter().find_map(of)
    }

    /// The rest of a packet's way, once it may be forwarded and a route is found.
    #[inline]
    fn leave(&mut self, frame: &mut FrameBuffer, next: usize, now_ms: u64) -> Verdict {
        let (to, address) = match self.neighbors.next(next, now_ms) {
            Next::Known(to, mac) => {
                frame.address(mac.0, self.ports[to].mac.0);
                return Verdict::Forward(to);
            }
            Next::AskedLately => return Verdict::Drop(Cause::Unresolved),
            Next::Ask(to, address) => (to, address),
        };
        let mac = self.ports[to].mac;
        let asked = match address {
            IpAddr::V4(target) => {
                arp::ask(frame, mac, self.source(to, ipv4_of).unwrap_or(Ipv4Addr::UNSPECIFIED), target);
                true
            }
            IpAddr::V6(target) => self.source(to, ipv6_of).map(|source| nd::ask(frame, mac, source, target)).is_some(),
        };
        if asked { Verdict::Ask(Cause::Unresolved, to) } else { Verdict::Drop(Cause::Unresolved) }
    }
}

fn ipv4_of(address: &IpAddr) -> Option<Ipv4Addr> {
    if let IpAddr::V4(address) = address { Some(*address) } else { None }
}

fn ipv6_of(address: &IpAddr) -> Option<Ipv6Addr> {
    if let IpAddr::V6(address) = address { Some(*address) } else { None }
}

impl Network for Router {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> Verdict {
        let (Some(dst), Some(kind)) = (frame.read::<6>(0), frame.read::<2>(12)) else {
            return Verdict::Drop(Cause::Malformed);
        };
        let is_group = dst[0] & 1 != 0;
        if !is_group && dst != self.ports[from].mac.0 {
            return Verdict::Drop(Cause::NotForUs);
        }
        match kind {
            ARP => self.handle_arp(frame, from),
            IPV6 if nd::is_for_neighbors(frame) => self.handle_nd(frame, from),
            IPV4 | IPV6 if is_group => Verdict::Drop(Cause::NotForwardable),
            IPV4 => self.forward_ipv4(frame, now_ms),
            IPV6 => self.forward_ipv6(frame, now_ms),
            _ => Verdict::Drop(Cause::NotIp),
        }
    }
}
