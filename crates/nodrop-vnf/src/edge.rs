//! An edge switch: one trunk port to a tester, and an access port per chain.
//!
//! A chain is identified by its VLAN, or by its station's MAC address if it shares a VLAN or the untagged frames with
//! other chains. Frames from a chain leave only through the trunk, so chains are isolated from each other.

use nodrop_wire::MacAddr;
use std::collections::HashMap;

use crate::{Cause, ForwardingDecision, FrameBuffer, Network};

/// VLAN id that represents untagged frames.
const UNTAGGED: u16 = 0x1000;

/// Role of a port.
#[derive(Clone, Debug)]
pub enum EdgePort {
    /// To a tester.
    Trunk,
    /// To a chain.
    Access {
        /// Index of its trunk.
        trunk: usize,
        /// VLAN of its frames on the trunk; the access link is untagged. None: untagged on the trunk too.
        vlan: Option<u16>,
        /// MAC address of its station, required if the VLAN is shared.
        mac: Option<MacAddr>,
    },
}

/// Access ports of one VLAN, or of the untagged frames, of a trunk.
#[derive(Clone, Debug, Default)]
struct Domain {
    ports: Vec<usize>,
    stations: HashMap<[u8; 6], usize>,
}

/// An edge switch.
#[derive(Clone, Debug)]
pub struct EdgeSwitch {
    ports: Vec<EdgePort>,
    domains: Vec<Domain>,
    /// Index of the domain plus one, by VLAN, for each trunk; 0 means none.
    by_vlan: HashMap<usize, Vec<u16>>,
}

/// Invalid port configurations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeError {
    /// An access port refers to a port that is no trunk.
    #[error("port {port}: port {trunk} is not a trunk; use the index of a trunk")]
    NoTrunk {
        /// Index of the access port.
        port: usize,
        /// Index it refers to.
        trunk: usize,
    },
    /// Two access ports cannot be distinguished.
    #[error(
        "ports {first} and {second} share a VLAN without distinct MAC addresses; give each its own VLAN or MAC address"
    )]
    Ambiguous {
        /// Index of the first port.
        first: usize,
        /// Index of the second port.
        second: usize,
    },
}

impl EdgeSwitch {
    /// Create a switch with these ports.
    ///
    /// # Errors
    /// If an access port has no trunk, or cannot be distinguished from another.
    pub fn new(ports: Vec<EdgePort>) -> Result<Self, EdgeError> {
        let mut switch = Self { ports: Vec::new(), domains: Vec::new(), by_vlan: HashMap::new() };
        for (port, role) in ports.iter().enumerate() {
            if let EdgePort::Access { trunk, vlan, mac } = *role {
                if !matches!(ports.get(trunk), Some(EdgePort::Trunk)) {
                    return Err(EdgeError::NoTrunk { port, trunk });
                }
                switch.add(port, trunk, vlan.unwrap_or(UNTAGGED), mac)?;
            }
        }
        switch.ports = ports;
        Ok(switch)
    }

    fn add(&mut self, port: usize, trunk: usize, vlan: u16, mac: Option<MacAddr>) -> Result<(), EdgeError> {
        let domain = &mut self.by_vlan.entry(trunk).or_insert_with(|| vec![0; usize::from(UNTAGGED) + 1])
            [usize::from(vlan & (UNTAGGED | 0x0fff))];
        if *domain == 0 {
            self.domains.push(Domain::default());
            *domain = self.domains.len() as u16;
        }
        let Domain { ports, stations } = &mut self.domains[usize::from(*domain) - 1];
        let conflict = match mac {
            Some(mac) => stations.insert(mac.0, port),
            None => ports.first().copied(),
        };
        ports.push(port);
        match conflict.or_else(|| (stations.len() < ports.len() && ports.len() > 1).then(|| ports[0])) {
            Some(first) => Err(EdgeError::Ambiguous { first, second: port }),
            None => Ok(()),
        }
    }

    fn handle_from_trunk(&self, frame: &mut FrameBuffer, trunk: usize) -> ForwardingDecision {
        let tag = frame.vlan();
        let index = usize::from(tag.unwrap_or(UNTAGGED));
        let domain = match self.by_vlan.get(&trunk).map(|domains| domains[index]) {
            None | Some(0) => return ForwardingDecision::Drop(Cause::UnknownVlan),
            Some(domain) => usize::from(domain) - 1,
        };
        if tag.is_some() {
            frame.remove_tag();
        }
        let Domain { ports, stations } = &self.domains[domain];
        if let [only] = ports[..] {
            return ForwardingDecision::Forward(only);
        }
        match frame.read::<6>(0) {
            Some(dst) if dst[0] & 1 == 1 => ForwardingDecision::Flood(domain),
            Some(dst) => stations
                .get(&dst)
                .map_or(ForwardingDecision::Drop(Cause::UnknownStation), |port| ForwardingDecision::Forward(*port)),
            None => ForwardingDecision::Drop(Cause::Malformed),
        }
    }
}

impl Network for EdgeSwitch {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, _now_ms: u64) -> ForwardingDecision {
        if frame.bytes().len() <= 14 {
            return ForwardingDecision::Drop(Cause::Malformed);
        }
        match self.ports[from] {
            EdgePort::Trunk => self.handle_from_trunk(frame, from),
            EdgePort::Access { trunk, vlan, .. } => {
                if let Some(vlan) = vlan {
                    frame.insert_tag(vlan);
                }
                ForwardingDecision::Forward(trunk)
            }
        }
    }

    fn group(&self, group: usize) -> &[usize] {
        &self.domains[group].ports
    }
}
