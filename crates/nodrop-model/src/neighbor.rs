//! What the tester is on its links besides a source of test traffic: stations with addresses, asked for and asking.

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::traffic::Layer;

/// A station the tester is on a port's link: who asks there for one of its addresses is told its MAC address, by ARP (RFC
/// 826) or neighbour advertisement (RFC 4861).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Its MAC address.
    pub mac: String,
    /// Its addresses: `198.18.0.1`, or all of a prefix, `198.18.0.0/24`. The first single one of each IP version is whom it
    /// asks as.
    pub addresses: Vec<String>,
    /// VLAN tags its frames have, outermost first; at most an S-tag and a C-tag.
    #[serde(default)]
    pub tags: Vec<Layer>,
}

/// Ask for MAC addresses on the links, all at once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resolve {
    /// Whom to ask for.
    pub questions: Vec<Question>,
    /// How long to wait for answers each time; above 0, at most 60.
    #[serde(default = "one_second")]
    pub timeout_s: f64,
    /// How often to ask; at least 1, at most 100.
    #[serde(default = "three")]
    pub tries: u32,
}

/// An address whose MAC address is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Index of the port to ask on.
    pub port: usize,
    /// Index of the port's station that asks.
    #[serde(default)]
    pub station: usize,
    /// The address.
    pub address: IpAddr,
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Index of the port.
    pub port: usize,
    /// Index of the port's station.
    pub station: usize,
    /// The address asked for.
    pub address: IpAddr,
    /// Its MAC address.
    pub mac: String,
    /// How often it was asked for.
    pub tries: u32,
}

/// Answer to `resolve`: every address is known.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Resolved {
    /// In the order asked.
    pub answers: Vec<Answer>,
}

/// ARP and neighbour discovery on a port with stations during a trial; none of it counts as test traffic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NeighborCounts {
    /// Index of the port.
    pub port: usize,
    /// Messages that arrived, for whomever.
    pub heard_count: u64,
    /// Of the questions among them, those answered.
    pub answered_count: u64,
    /// Announcements sent.
    pub announced_count: u64,
}

fn one_second() -> f64 {
    1.0
}

fn three() -> u32 {
    3
}
