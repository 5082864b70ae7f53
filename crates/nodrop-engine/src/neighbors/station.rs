//! A station the tester is on a link, ready to be asked.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use nodrop_model::Layer;
use nodrop_wire::{MacAddr, Speaker, Tag, WireError, tags};

use crate::EngineError;

/// Tags in front of a packet at most: an S-tag and a C-tag.
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
    /// Check what was asked, on the port of that name.
    pub(super) fn new(port: &str, asked: &nodrop_model::Station) -> Result<Self, EngineError> {
        let wrong = |message: String| EngineError::Request(format!("{port}: stations: {message}"));
        if asked.tags.len() > TAGS_MAX {
            return Err(wrong(format!("{} tags asked; at most {TAGS_MAX}", asked.tags.len())));
        }
        let station = Self {
            mac: asked.mac.parse().map_err(|error: WireError| wrong(error.to_string()))?,
            tags: tags(&asked.tags).map_err(|error| wrong(error.to_string()))?,
            layers: asked.tags.clone(),
            nets: asked.addresses.iter().map(|text| net(text).map_err(&wrong)).collect::<Result<_, _>>()?,
        };
        // Tags in an order that cannot be would only be found out by the first answer.
        let nobody = Ipv4Addr::UNSPECIFIED.into();
        station.speaker().ask(nobody, nobody).map_err(|error| wrong(error.to_string()))?;
        Ok(station)
    }

    pub(super) fn owns(&self, address: IpAddr) -> bool {
        self.nets.iter().any(|net| net.contains(&address))
    }

    /// Addresses written one by one.
    pub(super) fn single(&self) -> impl Iterator<Item = IpAddr> {
        self.nets.iter().filter(|net| net.prefix_len() == net.max_prefix_len()).map(IpNet::addr)
    }

    pub(super) fn speaker(&self) -> Speaker<'_> {
        Speaker { mac: self.mac, tags: &self.layers }
    }

    /// The address it asks as; in IPv4 nobody may ask (RFC 5227 section 1.1, ARP probe).
    pub(super) fn source(&self, target: IpAddr) -> Option<IpAddr> {
        let nobody = target.is_ipv4().then_some(Ipv4Addr::UNSPECIFIED.into());
        self.single().find(|own| own.is_ipv4() == target.is_ipv4()).or(nobody)
    }
}

impl std::fmt::Display for Station {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.mac)?;
        self.tags.iter().try_for_each(|tag| write!(f, ", VLAN {}", tag.id))
    }
}

fn net(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| {
        format!("{text:?} is not an address; write one as 198.18.0.1 or 2001:2::1, or a prefix as 198.18.0.0/24")
    })
}
