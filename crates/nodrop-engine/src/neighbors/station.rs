//! A validated station.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use nodrop_model::Layer;
use nodrop_wire::{MacAddr, NeighborEncoder, Tag, WireError, parse_tags};

use crate::EngineError;

/// Maximum number of tags: an S-tag and a C-tag.
const TAGS_MAX: usize = 2;

/// A station.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) mac: MacAddr,
    pub(super) tags: Vec<Tag>,
    layers: Vec<Layer>,
    nets: Vec<IpNet>,
}

impl Station {
    /// Validate a station of the named port.
    pub(super) fn new(port: &str, spec: &nodrop_model::Station) -> Result<Self, EngineError> {
        let error = |message: String| EngineError::Request(format!("{port}: stations: {message}"));
        if spec.tags.len() > TAGS_MAX {
            return Err(error(format!("{} tags are too many; use at most {TAGS_MAX}", spec.tags.len())));
        }
        let station = Self {
            mac: spec.mac.parse().map_err(|source: WireError| error(source.to_string()))?,
            tags: parse_tags(&spec.tags).map_err(|source| error(source.to_string()))?,
            layers: spec.tags.clone(),
            nets: spec.addresses.iter().map(|text| parse_net(text).map_err(&error)).collect::<Result<_, _>>()?,
        };
        // Detects an invalid order of tags now rather than at the first reply.
        let unspecified = Ipv4Addr::UNSPECIFIED.into();
        station.encoder().request(unspecified, unspecified).map_err(|source| error(source.to_string()))?;
        Ok(station)
    }

    pub(super) fn owns(&self, address: IpAddr) -> bool {
        self.nets.iter().any(|net| net.contains(&address))
    }

    /// Return the addresses that are not part of a prefix.
    pub(super) fn single_addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.nets.iter().filter(|net| net.prefix_len() == net.max_prefix_len()).map(IpNet::addr)
    }

    pub(super) fn encoder(&self) -> NeighborEncoder<'_> {
        NeighborEncoder { mac: self.mac, tags: &self.layers }
    }

    /// Return the source address for requests; in IPv4 it may be unspecified (RFC 5227 section 1.1, ARP probe).
    pub(super) fn source_address(&self, target: IpAddr) -> Option<IpAddr> {
        let unspecified = target.is_ipv4().then_some(Ipv4Addr::UNSPECIFIED.into());
        self.single_addresses().find(|own| own.is_ipv4() == target.is_ipv4()).or(unspecified)
    }
}

impl std::fmt::Display for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.mac)?;
        self.tags.iter().try_for_each(|tag| write!(f, ", VLAN {}", tag.id))
    }
}

fn parse_net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| {
        format!("{text:?} is not an address; use e.g. 198.18.0.1, 2001:2::1 or a prefix such as 198.18.0.0/24")
    })
}
