//! An edge switch: one trunk towards a tester, an access port towards every chain.
//!
//! A chain has a VLAN of its own, or shares one, or the untagged frames, with others; then its station's MAC address tells it
//! apart. What comes from a chain leaves by the trunk and nowhere else, so that chains never hear each other.

use nodrop_wire::MacAddr;
use std::collections::HashMap;

use crate::{Cause, FrameBuffer, Network, Verdict};

/// A VLAN id, or this for frames without a tag.
const UNTAGGED: u16 = 0x1000;

/// Where a port leads.
#[derive(Clone, Debug)]
pub enum EdgePort {
    /// To a tester.
    Trunk,
    /// To a chain.
    Access {
        /// Index of the trunk it belongs to.
        trunk: usize,
        /// VLAN of its frames on the trunk; on its own link they have no tag. None: they have none on the trunk either.
        vlan: Option<u16>,
        /// Its station, which tells it from others in the same VLAN.
        mac: Option<MacAddr>,
    },
}

/// Who is reached behind a trunk in one VLAN, or without a tag.
#[derive(Clone, Debug, Default)]
struct Domain {
    ports: Vec<usize>,
    stations: HashMap<[u8; 6], usize>,
}

/// Trunks and access ports, joined.
#[derive(Clone, Debug)]
pub struct EdgeSwitch {
    ports: Vec<EdgePort>,
    domains: Vec<Domain>,
    /// For each trunk, by VLAN: the index of the domain and one more; 0 where there is none.
    by_vlan: HashMap<usize, Vec<u16>>,
}

/// What makes no switch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EdgeError {
    /// An access port belongs to what is no trunk.
    #[error("port {port} belongs to port {trunk}, which is no trunk")]
    NoTrunk {
        /// The access port.
        port: usize,
        /// What it belongs to.
        trunk: usize,
    },
    /// Nothing tells two access ports apart.
    #[error(
        "ports {first} and {second} share a VLAN and have no MAC addresses, or the same; give each a VLAN or a MAC of its own"
    )]
    Alike {
        /// The one.
        first: usize,
        /// The other.
        second: usize,
    },
}

impl EdgeSwitch {
    /// Join these ports.
    ///
    /// # Errors
    /// When an access port has no trunk, or cannot be told from another.
    pub fn new(ports: Vec<EdgePort>) -> Result<Self, EdgeError> {
        let mut switch = Self { ports: Vec::new(), domains: Vec::new(), by_vlan: HashMap::new() };
        for (port, what) in ports.iter().enumerate() {
            if let EdgePort::Access { trunk, vlan, mac } = *what {
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
        let known = &mut self.by_vlan.entry(trunk).or_insert_with(|| vec![0; usize::from(UNTAGGED) + 1])
            [usize::from(vlan & (UNTAGGED | 0x0fff))];
        if *known == 0 {
            self.domains.push(Domain::default());
            *known = self.domains.len() as u16;
        }
        let Domain { ports, stations } = &mut self.domains[usize::from(*known) - 1];
        let taken = match mac {
            Some(mac) => stations.insert(mac.0, port),
            None => ports.first().copied(),
        };
        ports.push(port);
        match taken.or_else(|| (stations.len() < ports.len() && ports.len() > 1).then(|| ports[0])) {
            Some(first) => Err(EdgeError::Alike { first, second: port }),
            None => Ok(()),
        }
    }

    fn inwards(&self, frame: &mut FrameBuffer, trunk: usize) -> Verdict {
        let tag = frame.vlan();
        let place = usize::from(tag.unwrap_or(UNTAGGED));
        let domain = match self.by_vlan.get(&trunk).map(|known| known[place]) {
            None | Some(0) => return Verdict::Drop(Cause::UnknownVlan),
            Some(domain) => usize::from(domain) - 1,
        };
        if tag.is_some() {
            frame.untag();
        }
        let Domain { ports, stations } = &self.domains[domain];
        if let [only] = ports[..] {
            return Verdict::Forward(only);
        }
        match frame.read::<6>(0) {
            Some(dst) if dst[0] & 1 == 1 => Verdict::Flood(domain),
            Some(dst) => {
                stations.get(&dst).map_or(Verdict::Drop(Cause::UnknownStation), |port| Verdict::Forward(*port))
            }
            None => Verdict::Drop(Cause::Malformed),
        }
    }
}

impl Network for EdgeSwitch {
    #[inline]
    fn handle(&mut self, frame: &mut FrameBuffer, from: usize, _now_ms: u64) -> Verdict {
        if frame.bytes().len() <= 14 {
            return Verdict::Drop(Cause::Malformed);
        }
        match self.ports[from] {
            EdgePort::Trunk => self.inwards(frame, from),
            EdgePort::Access { trunk, vlan, .. } => {
                if let Some(vlan) = vlan {
                    frame.tag(vlan);
                }
                Verdict::Forward(trunk)
            }
        }
    }

    fn group(&self, group: usize) -> &[usize] {
        &self.domains[group].ports
    }
}
