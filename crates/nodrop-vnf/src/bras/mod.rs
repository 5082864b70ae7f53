//! A simplified broadband remote access server with IPoE: subscribers behind two VLAN tags on one side, keyed GRE over
//! MPLS on the other. Source: ETSI GS NFV-PER 001 annex D.
//!
//! Upstream, the tags of a frame give the subscriber, the subscriber the key of the tunnel, and the packet's
//! destination the route: egress port, MAC address, MPLS label, and end of the tunnel. Downstream, the key gives the
//! subscriber, whose MAC address it has learned from ARP. Padding does not enter a tunnel.
//!
//! No PPPoE, DHCP, access lists, shaping, address translation, IPv6, multicast or fragmentation, as in the annex, and no
//! ICMP errors.

mod arp;
mod downstream;
mod profile;
mod routes;
mod subscribers;
mod upstream;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use nodrop_wire::MacAddr;

use crate::arp::ETHER_TYPE as ARP;
use crate::{Cause, ForwardingDecision, FrameBuffer, Network};
use profile::Tunnel;
use routes::RouteTable;
use subscribers::{Lookup, SubscriberTable};

pub use profile::{BrasProfile, NEXT_HOPS_MAX, ROUTES_MAX, SUBSCRIBERS_MAX, TagPlan};

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const S_TAG: [u8; 2] = [0x88, 0xa8];
const C_TAG: [u8; 2] = [0x81, 0x00];
const MPLS: [u8; 2] = [0x88, 0x47];
const MPLS_BYTES: usize = 4;
const GRE: u8 = 47;
const GRE_BYTES: usize = 8;
/// GRE with a key, of IPv4 (RFC 2784, RFC 2890).
const GRE_KEYED_IPV4: [u8; 4] = [0x20, 0x00, 0x08, 0x00];
/// Ethernet with two tags, in front of a subscriber's packet.
const CPE_HEADER_BYTES: usize = ETHERNET_BYTES + 8;
/// Ethernet, label, IPv4 and GRE, in front of a packet in a tunnel.
const CORE_HEADER_BYTES: usize = ETHERNET_BYTES + MPLS_BYTES + crate::ipv4::HEADER_BYTES + GRE_BYTES;

/// The side of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrasSide {
    /// To subscribers.
    Cpe,
    /// To the core network.
    Core,
}

/// A port of the BRAS.
#[derive(Clone, Copy, Debug)]
pub struct BrasPort {
    /// Side of the port.
    pub side: BrasSide,
    /// MAC address of the port.
    pub mac: MacAddr,
}

/// Handling of a packet's TTL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TtlHandling {
    /// Decrement it downstream and keep it upstream, as PROX does, with which the annex was measured.
    #[default]
    Prox,
    /// Decrement it in both directions, as a router must (RFC 1812 section 5.3.1).
    Router,
}

/// The BRAS. Its clones share the tables of the profile.
#[derive(Clone, Debug)]
pub struct Bras {
    ports: Vec<BrasPort>,
    address: Ipv4Addr,
    ttl: TtlHandling,
    core_mtu: usize,
    subscribers: SubscriberTable,
    routes: Arc<RouteTable>,
    tunnels: Arc<[Tunnel]>,
}

impl Bras {
    /// Create a BRAS with these ports, at least one on each side, and tables of this profile.
    ///
    /// `core_mtu` is the longest payload of a frame on the core side, label included, in bytes; MAC addresses of
    /// subscribers expire `arp_timeout` after their last ARP packet.
    #[must_use]
    pub fn new(
        ports: Vec<BrasPort>,
        profile: &BrasProfile,
        ttl: TtlHandling,
        core_mtu: usize,
        arp_timeout: Duration,
    ) -> Self {
        let side = |side| -> Vec<usize> { (0..ports.len()).filter(|port| ports[*port].side == side).collect() };
        let (cpe, core) = (side(BrasSide::Cpe), side(BrasSide::Core));
        let tunnels = profile.tunnels(&core, |port| ports[port].mac);
        Self {
            subscribers: SubscriberTable::new(&profile.lines(&cpe), arp_timeout),
            routes: Arc::new(profile.route_table()),
            tunnels: tunnels.into(),
            address: profile.address,
            ports,
            ttl,
            core_mtu,
        }
    }

    /// Handle a frame from the core.
    #[inline]
    fn handle_core(&mut self, frame: &mut FrameBuffer, now_ms: u64) -> ForwardingDecision {
        match frame.read(12) {
            Some(MPLS) => self.forward_downstream(frame, now_ms).unwrap_or_else(ForwardingDecision::Drop),
            _ => ForwardingDecision::Drop(Cause::Malformed),
        }
    }

    /// Handle a frame from subscribers.
    #[inline]
    fn handle_cpe(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision {
        let (Some(S_TAG), Some(s_tag), Some(C_TAG), Some(c_tag), Some(kind)) =
            (frame.read(12), frame.read(14), frame.read(16), frame.read(18), frame.read(20))
        else {
            return ForwardingDecision::Drop(Cause::UnknownTags);
        };
        let Some(key) = self.subscribers.key(u16::from_be_bytes(s_tag), u16::from_be_bytes(c_tag), from) else {
            return ForwardingDecision::Drop(Cause::UnknownTags);
        };
        match kind {
            IPV4 => self.forward_upstream(frame, key).unwrap_or_else(ForwardingDecision::Drop),
            ARP => self.handle_arp(frame, key, from, now_ms),
            _ => ForwardingDecision::Drop(Cause::NotIp),
        }
    }
}

impl Network for Bras {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, now_ms: u64) -> ForwardingDecision {
        let BrasPort { side, mac } = self.ports[from];
        let Some(dst) = frame.read::<6>(0) else { return ForwardingDecision::Drop(Cause::Malformed) };
        let is_broadcast_arp = || side == BrasSide::Cpe && dst == [0xff; 6] && frame.read(20) == Some(ARP);
        if dst != mac.0 && !is_broadcast_arp() {
            return ForwardingDecision::Drop(Cause::NotForUs);
        }
        match side {
            BrasSide::Cpe => self.handle_cpe(frame, from, now_ms),
            BrasSide::Core => self.handle_core(frame, now_ms),
        }
    }

    fn table_sizes(&self) -> Vec<(&'static str, u64)> {
        vec![("arp_entries", self.subscribers.address_count() as u64)]
    }
}
