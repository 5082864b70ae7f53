//! What `nodrop-vnf` is told on its command line.

use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use nodrop_port::PortError;
use nodrop_port::memory::{Memory, Pages};
use nodrop_vnf::{ACCOUNT_BYTES, Neighbor, Pace};
use nodrop_wire::MacAddr;

use super::HEADER_BYTES;

/// How frames get in and out of a forwarder's ports.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Backend {
    /// Linux packet sockets: any interface, also in a user namespace.
    AfPacket,
    /// AF_XDP sockets: interfaces whose driver has XDP, as root.
    AfXdp,
}

/// In which pages a forwarder's own memory is.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum PageSize {
    /// As the kernel sees fit.
    #[default]
    Usual,
    /// Never in large ones.
    Small,
    /// In large ones.
    Large,
}

/// What every forwarder is told.
#[derive(Args)]
pub struct Running {
    /// Work in the network namespace of this process.
    #[arg(long, value_name = "PID")]
    pub(super) netns: Option<u32>,
    /// CPU to bind the forwarding thread to.
    #[arg(long)]
    pub(super) core: Option<usize>,
    /// How frames get in and out of its ports.
    #[arg(long, value_enum, default_value_t = Backend::AfPacket)]
    pub(super) backend: Backend,
    /// Received frames a port can hold before the kernel drops.
    #[arg(long, default_value_t = 4096)]
    pub(super) queue_slots: u32,
    /// Largest IP packet forwarded, in bytes.
    #[arg(long, default_value_t = 1500)]
    mtu: usize,
    /// Sleep as soon as there is nothing to forward, for others want the CPU.
    #[arg(long)]
    yielding: bool,
    /// Frames per second it forwards at most, over all its ports: a SUT of a known capacity, to try testers out.
    #[arg(long, value_name = "PPS", value_parser = parse_capacity)]
    capacity: Option<f64>,
    /// Bytes of a table with an account of every flow, one of which each frame looks up and writes; none by default.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(ACCOUNT_BYTES as u64..=1 << 40))]
    table: Option<u64>,
    /// In which pages its table is, and with `af_xdp` its frames.
    #[arg(long, value_enum, default_value_t)]
    pages: PageSize,
    /// NUMA node that its memory comes from.
    #[arg(long, value_name = "NODE")]
    pub(super) memory_node: Option<usize>,
}

/// One frame a minute at least, and one in a nanosecond at most.
fn parse_capacity(text: &str) -> Result<f64, String> {
    let expected = || format!("{text:?} is no number of frames per second, such as 20000");
    text.parse().ok().filter(|pps| (1.0 / 60.0..=1e9).contains(pps)).ok_or_else(expected)
}

impl Running {
    /// Longest frame, without FCS.
    pub(super) fn frame_bytes(&self) -> usize {
        self.mtu + HEADER_BYTES
    }

    /// In which pages its memory is.
    pub(super) fn pages(&self) -> Pages {
        match self.pages {
            PageSize::Usual => Pages::Usual,
            PageSize::Small => Pages::Small,
            PageSize::Large => Pages::Large,
        }
    }

    /// Memory for its table, where it has one.
    pub(super) fn table(&self) -> Result<Option<Memory>, PortError> {
        let Some(bytes) = self.table else { return Ok(None) };
        let none = || ask("--table", format!("{bytes} bytes, the kernel has no such memory; ask for less"));
        Memory::new(bytes as usize, self.pages()).map(Some).ok_or_else(none)
    }

    /// That of `pace`, of the capacity asked for, and without idling where others want the CPU.
    pub(super) fn pace(&self, pace: Pace) -> Pace {
        let frame_time = self.capacity.map_or(Duration::ZERO, |pps| Duration::from_secs_f64(1.0 / pps));
        let pace = Pace { frame_time, ..pace };
        if self.yielding { pace.yielding() } else { pace }
    }
}

/// Arguments of the cross-connect.
#[derive(Args)]
pub struct L2 {
    /// A port, and the MAC address to write as destination on frames that leave it, with the port's own as source; without
    /// one both addresses stay. Give two.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE[,peer=MAC]")]
    pub(super) port: Vec<L2Port>,
    #[command(flatten)]
    pub(super) running: Running,
}

/// Arguments of the router.
#[derive(Args)]
pub struct L3 {
    /// A port, the station it is on its link, and its own IP addresses, as many as there are.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,mac=MAC[,address=IP]")]
    pub(super) port: Vec<L3Port>,
    /// Where a prefix is reached: next hop, and the port it is behind.
    #[arg(long, num_args = 1, value_name = "PREFIX,via=IP,port=INTERFACE")]
    pub(super) route: Vec<Route>,
    /// The MAC address of a next hop that need not be asked for.
    #[arg(long, num_args = 1, value_name = "IP,mac=MAC", value_parser = parse_neighbor)]
    pub(super) neighbor: Vec<Neighbor>,
    #[command(flatten)]
    pub(super) running: Running,
}

/// Arguments of the edge switch.
#[derive(Args)]
pub struct Edge {
    /// A port towards a tester, as many as there are.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE")]
    pub(super) trunk: Vec<String>,
    /// A port towards a chain, the trunk it belongs to, and what tells its frames from those of others there.
    #[arg(long, num_args = 1, value_name = "INTERFACE,trunk=INTERFACE[,vlan=ID][,mac=MAC]")]
    pub(super) access: Vec<AccessPort>,
    /// Received frames a trunk can hold before the kernel drops.
    #[arg(long, default_value_t = 4096)]
    pub(super) trunk_slots: u32,
    #[command(flatten)]
    pub(super) running: Running,
}

/// Arguments of the cross-connect in the drivers.
#[derive(Args)]
pub struct Xdp {
    /// A port and the MAC address to write as destination on frames that leave it; give two.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,peer=MAC")]
    pub(super) port: Vec<L2Port>,
    /// Work in the network namespace of this process.
    #[arg(long, value_name = "PID")]
    pub(super) netns: Option<u32>,
}

/// A port of a cross-connect.
#[derive(Clone)]
pub(super) struct L2Port {
    pub(super) interface: String,
    pub(super) peer: Option<MacAddr>,
}

/// A port of the router.
#[derive(Clone)]
pub(super) struct L3Port {
    pub(super) interface: String,
    pub(super) mac: MacAddr,
    pub(super) addresses: Vec<IpAddr>,
}

/// A port of the edge switch.
#[derive(Clone)]
pub(super) struct AccessPort {
    pub(super) interface: String,
    pub(super) trunk: String,
    pub(super) vlan: Option<u16>,
    pub(super) mac: Option<MacAddr>,
}

/// A route by the name of its port.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) prefix: IpNet,
    pub(super) via: IpAddr,
    pub(super) port: String,
}

impl FromStr for L2Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut written = Written::new(text, "INTERFACE or INTERFACE,peer=MAC such as eth1,peer=02:00:00:00:00:01")?;
        let port = Self { interface: written.first.to_owned(), peer: written.take_if_there("peer")? };
        written.finish(port)
    }
}

impl FromStr for L3Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut written = Written::new(
            text,
            "INTERFACE,mac=MAC,address=IP such as eth1,mac=02:00:00:00:00:01,address=198.18.255.254",
        )?;
        let mut port = Self { interface: written.first.to_owned(), mac: written.take("mac")?, addresses: Vec::new() };
        while written.has("address") {
            port.addresses.push(written.take("address")?);
        }
        written.finish(port)
    }
}

impl FromStr for AccessPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut written = Written::new(
            text,
            "INTERFACE,trunk=INTERFACE and vlan=1 to 4094 or mac=MAC, such as eth1,trunk=eth0,vlan=100",
        )?;
        let (vlan, mac) = (written.take_if_there("vlan")?, written.take_if_there("mac")?);
        let port = Self { interface: written.first.to_owned(), trunk: written.take("trunk")?, vlan, mac };
        if vlan.is_some_and(|id| !(1..=4094).contains(&id)) {
            return Err(wrong(text, written.expected));
        }
        written.finish(port)
    }
}

impl FromStr for Route {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut written =
            Written::new(text, "PREFIX,via=IP,port=INTERFACE such as 198.18.0.0/16,via=198.18.0.1,port=eth1")?;
        let route = Self { prefix: written.first()?, via: written.take("via")?, port: written.take("port")? };
        if matches!((route.prefix, route.via), (IpNet::V4(_), IpAddr::V4(_)) | (IpNet::V6(_), IpAddr::V6(_))) {
            written.finish(route)
        } else {
            Err(format!("{text:?}: prefix and next hop must be of one family"))
        }
    }
}

fn parse_neighbor(text: &str) -> Result<Neighbor, String> {
    let mut written = Written::new(text, "IP,mac=MAC such as 198.18.0.1,mac=02:00:00:00:00:01")?;
    let neighbor = Neighbor { address: written.first()?, mac: written.take("mac")? };
    written.finish(neighbor)
}

/// An argument of the form `FIRST,key=value,key=value`.
struct Written<'a> {
    text: &'a str,
    expected: &'static str,
    first: &'a str,
    rest: Vec<(&'a str, &'a str)>,
}

impl<'a> Written<'a> {
    fn new(text: &'a str, expected: &'static str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let rest = parts.map(|part| part.split_once('=')).collect::<Option<Vec<_>>>();
        match rest {
            Some(rest) if !first.is_empty() => Ok(Self { text, expected, first, rest }),
            _ => Err(wrong(text, expected)),
        }
    }

    fn first<V: FromStr>(&self) -> Result<V, String> {
        self.first.parse().map_err(|_| wrong(self.text, self.expected))
    }

    fn has(&self, key: &str) -> bool {
        self.rest.iter().any(|(name, _)| *name == key)
    }

    /// The value of a key that must be there, once.
    fn take<V: FromStr>(&mut self, key: &str) -> Result<V, String> {
        let position = self.rest.iter().position(|(name, _)| *name == key);
        position
            .and_then(|position| self.rest.remove(position).1.parse().ok())
            .ok_or_else(|| wrong(self.text, self.expected))
    }

    /// The value of a key that may be there, once.
    fn take_if_there<V: FromStr>(&mut self, key: &str) -> Result<Option<V>, String> {
        if self.has(key) { self.take(key).map(Some) } else { Ok(None) }
    }

    /// `value`, if nothing is left over.
    fn finish<V>(self, value: V) -> Result<V, String> {
        if self.rest.is_empty() { Ok(value) } else { Err(wrong(self.text, self.expected)) }
    }
}

fn wrong(text: &str, expected: &str) -> String {
    format!("{text:?}: expected {expected}")
}

/// What was asked for cannot be done.
pub(super) fn ask(option: &str, message: String) -> PortError {
    PortError::Request { port: option.to_owned(), message }
}
