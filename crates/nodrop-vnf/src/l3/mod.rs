//! A router with static routes for IPv4 and IPv6 (RFC 1812 section 5, RFC 8200) on Ethernet ports.
//!
//! It replies to ARP requests and neighbor solicitations for its addresses and resolves its next hops, whose MAC
//! addresses are cached until it ends. It sends no ICMP errors: a packet that cannot be forwarded is counted and
//! dropped.

mod arp;
mod ipv4;
mod ipv6;
mod nd;
mod neighbors;
mod routes;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use nodrop_wire::MacAddr;

use crate::arp::ETHER_TYPE as ARP;
use crate::{Cause, ForwardingDecision, FrameBuffer, Network};
use neighbors::{Neighbors, NextHop};
use routes::Routes;

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// A port of the router.
#[derive(Clone, Debug)]
pub struct RouterPort {
    /// MAC address of the port.
    pub mac: MacAddr,
    /// IP addresses of the port.
    pub addresses: Vec<IpAddr>,
}

/// A static route.
#[derive(Clone, Copy, Debug)]
pub struct StaticRoute {
    /// Destination prefix.
    pub prefix: IpNet,
    /// Next hop.
    pub via: IpAddr,
    /// Index of the port to the next hop.
    pub port: usize,
}

/// A static neighbor entry.
#[derive(Clone, Copy, Debug)]
pub struct Neighbor {
    /// IP address of the next hop.
    pub address: IpAddr,
    /// MAC address of the next hop.
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
    /// Create a router with these ports and routes. The longest matching prefix wins; of equal prefixes the first.
    #[must_use]
    pub fn new(ports: Vec<RouterPort>, routes: &[StaticRoute], neighbors: &[Neighbor]) -> Self {
        let mut router =
            Self { ports, routes4: Routes::default(), routes6: Routes::default(), neighbors: Neighbors::default() };
        for route in routes {
            let next = router.neighbors.index_of(route.via, route.port);
            match route.prefix {
                IpNet::V4(prefix) => {
                    router.routes4.add(prefix.network().to_bits(), prefix.netmask().to_bits(), next);
                }
                IpNet::V6(prefix) => {
                    router.routes6.add(prefix.network().to_bits(), prefix.netmask().to_bits(), next);
                }
            }
        }
        for neighbor in neighbors {
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

    /// Return the source address of requests sent from this port.
    fn source<A>(&self, port: usize, of: impl Fn(&IpAddr) -> Option<A>) -> Option<A> {
        self.ports[port].addresses.iter().find_map(of)
    }

    /// Send a packet to its next hop, or resolve the next hop.
    #[inline]
    fn send_to_next_hop(&mut self, frame: &mut FrameBuffer, next: usize, now_ms: u64) -> ForwardingDecision {
        let (to, address) = match self.neighbors.next(next, now_ms) {
            NextHop::Resolved(to, mac) => {
                frame.set_addresses(mac.0, self.ports[to].mac.0);
                return ForwardingDecision::Forward(to);
            }
            NextHop::Pending => return ForwardingDecision::Drop(Cause::Unresolved),
            NextHop::Unresolved(to, address) => (to, address),
        };
        let mac = self.ports[to].mac;
        let has_source = match address {
            IpAddr::V4(target) => {
                arp::write_request(frame, mac, self.source(to, ipv4_of).unwrap_or(Ipv4Addr::UNSPECIFIED), target);
                true
            }
            IpAddr::V6(target) => {
                self.source(to, ipv6_of).map(|source| nd::write_solicitation(frame, mac, source, target)).is_some()
            }
        };
        if has_source {
            ForwardingDecision::Resolve(Cause::Unresolved, to)
        } else {
            ForwardingDecision::Drop(Cause::Unresolved)
        }
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
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision {
        let (Some(dst), Some(kind)) = (frame.read::<6>(0), frame.read::<2>(12)) else {
            return ForwardingDecision::Drop(Cause::Malformed);
        };
        let is_group = dst[0] & 1 != 0;
        if !is_group && dst != self.ports[from].mac.0 {
            return ForwardingDecision::Drop(Cause::NotForUs);
        }
        match kind {
            ARP => self.handle_arp(frame, from),
            IPV6 if nd::is_neighbor_message(frame) => self.handle_nd(frame, from),
            IPV4 | IPV6 if is_group => ForwardingDecision::Drop(Cause::NotForwardable),
            IPV4 => self.forward_ipv4(frame, now_ms),
            IPV6 => self.forward_ipv6(frame, now_ms),
            _ => ForwardingDecision::Drop(Cause::NotIp),
        }
    }
}
