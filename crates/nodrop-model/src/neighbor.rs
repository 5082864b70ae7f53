//! Stations of the tester on its links, and address resolution.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::traffic::Layer;

/// A station that the tester emulates on a port's link. It answers ARP requests (RFC 826) and neighbor solicitations
/// (RFC 4861) for its addresses with its MAC address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// MAC address.
    pub mac: String,
    /// IP addresses: `198.18.0.1`, or all of a prefix, `198.18.0.0/24`. The first single address of each IP version is
    /// the source address of the station's own requests.
    pub addresses: Vec<String>,
    /// VLAN tags of its frames, outermost first; at most an S-tag and a C-tag.
    #[serde(default)]
    pub tags: Vec<Layer>,
}

/// Resolve IP addresses to MAC addresses on the links, all in parallel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveRequest {
    /// Addresses to resolve.
    #[serde(rename = "questions")]
    pub queries: Vec<Query>,
    /// Time to wait for replies after each try, in seconds; above 0, at most 60.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: f64,
    /// Number of tries; from 1 to 100.
    #[serde(default = "default_tries")]
    pub tries: u32,
}

/// An address to resolve.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Index of the port to send the request on.
    pub port: usize,
    /// Index of the port's station that sends the request.
    #[serde(default)]
    pub station: usize,
    /// Address to resolve.
    pub address: IpAddr,
}

/// A resolved address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedAddress {
    /// Index of the port.
    pub port: usize,
    /// Index of the port's station.
    pub station: usize,
    /// IP address.
    pub address: IpAddr,
    /// MAC address of `address`.
    pub mac: String,
    /// Number of tries it took.
    pub tries: u32,
}

/// Reply to `resolve`: every address is resolved.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResolveReply {
    /// Addresses, in the order of the request.
    pub answers: Vec<ResolvedAddress>,
}

/// ARP and neighbor discovery on a port with stations during a trial; not counted as test traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeighborCounts {
    /// Index of the port.
    pub port: usize,
    /// Messages received, for any address.
    #[serde(rename = "heard_count")]
    pub received_count: u64,
    /// Requests answered.
    pub answered_count: u64,
    /// Announcements sent.
    pub announced_count: u64,
}

fn default_timeout_s() -> f64 {
    1.0
}

fn default_tries() -> u32 {
    3
}
