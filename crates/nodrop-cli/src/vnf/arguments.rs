//! Command-line arguments of `nodrop-vnf`.

use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use nodrop_port::PortError;
use nodrop_port::memory::{Memory, Pages};
use nodrop_vnf::{
    Balancer as BalancerNetwork, BandwidthProfile, BrasProfile, ColorMode, FLOW_ENTRY_BYTES, HealthCheck, MoveSchedule,
    NEXT_HOPS_MAX, Neighbor, Pace, PortPolicer, ROUTES_MAX, SUBSCRIBERS_MAX, Selection, TagPlan, TtlHandling,
    Withdrawal,
};
use nodrop_wire::MacAddr;

use super::HEADER_BYTES;

/// Packet I/O of a forwarder.
#[derive(Clone, Copy, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(super) enum Backend {
    /// Linux packet sockets: any interface, also in a user namespace.
    AfPacket,
    /// AF_XDP sockets: interfaces whose driver has XDP, as root.
    AfXdp,
}

/// Page size of a forwarder's memory.
#[derive(Clone, Copy, Default, ValueEnum)]
pub(super) enum PageSize {
    /// Chosen by the kernel.
    #[default]
    #[value(name = "usual")]
    Default,
    /// Never large pages.
    Small,
    /// Large pages.
    Large,
}

/// Arguments of all user-space forwarders.
#[derive(Args)]
pub struct CommonArguments {
    /// Enter the network namespace of this process.
    #[arg(long, value_name = "PID")]
    pub(super) netns: Option<u32>,
    /// CPU to pin the forwarding thread to.
    #[arg(long)]
    pub(super) core: Option<usize>,
    /// Packet I/O of the ports.
    #[arg(long, value_enum, default_value_t = Backend::AfPacket)]
    pub(super) backend: Backend,
    /// Size of a port's receive queue, in frames.
    #[arg(long, default_value_t = 4096)]
    pub(super) queue_slots: u32,
    /// Largest IP packet forwarded, in bytes.
    #[arg(long, default_value_t = 1500)]
    pub(super) mtu: usize,
    /// Sleep as soon as no frame is waiting, for a shared CPU.
    #[arg(long)]
    yielding: bool,
    /// Time without a frame after which counters are published, in milliseconds; 1, or 100 with `--yielding`.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=1000))]
    publish_after: Option<u64>,
    /// Time between two publications of the counters while frames arrive, in milliseconds; by default none.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    publish_every: Option<u64>,
    /// Maximum forwarding rate over all ports, to test testers with a SUT of known capacity.
    #[arg(long, value_name = "PPS", value_parser = parse_capacity)]
    capacity: Option<f64>,
    /// Buffer of an ideal queue of that capacity, in frames: arrival times decide exactly which frames it drops, and when
    /// the others leave.
    #[arg(long, value_name = "FRAMES", requires = "capacity", value_parser = clap::value_parser!(u32).range(1..))]
    buffer: Option<u32>,
    #[command(flatten)]
    policer: PolicerArguments,
    /// Size of a per-flow table that each frame reads and writes; none by default.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(FLOW_ENTRY_BYTES as u64..=1 << 40))]
    table: Option<u64>,
    /// Page size of the table, and with `af_xdp` of the frame memory.
    #[arg(long, value_enum, default_value_t)]
    pages: PageSize,
    /// NUMA node to allocate memory from.
    #[arg(long, value_name = "NODE")]
    pub(super) memory_node: Option<usize>,
}

/// Bandwidth profile (MEF 10) of the frames that each port receives; the others are dropped.
#[derive(Args)]
struct PolicerArguments {
    /// Committed information rate, counted from destination MAC address to FCS; by default there is no policer.
    #[arg(long, value_name = "BPS")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=RATE_MAX_BPS))]
    cir: Option<u64>,
    /// Committed burst size.
    #[arg(long, value_name = "BYTES", requires = "cir", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=BURST_MAX_BYTES))]
    cbs: u64,
    /// Excess information rate.
    #[arg(long, value_name = "BPS", requires = "cir", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=RATE_MAX_BPS))]
    eir: u64,
    /// Excess burst size.
    #[arg(long, value_name = "BYTES", requires = "cir", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=BURST_MAX_BYTES))]
    ebs: u64,
    /// Coupling flag: tokens beyond the committed burst size become excess tokens.
    #[arg(long, requires = "cir")]
    coupling: bool,
    /// Take frames that arrive yellow, by DEI or DSCP AF12, as yellow.
    #[arg(long, requires = "cir")]
    color_aware: bool,
    /// Write the color of each frame as DEI if it has a VLAN tag, else as DSCP AF11 or AF12.
    #[arg(long, requires = "cir")]
    mark: bool,
}

/// Highest rate and longest burst of a bandwidth profile.
const RATE_MAX_BPS: u64 = 1_000_000_000_000;
const BURST_MAX_BYTES: u64 = 1_000_000_000;

/// Parse a rate from one frame per minute to one per nanosecond.
fn parse_capacity(text: &str) -> Result<f64, String> {
    let expected = || format!("{text:?} is not a number of frames per second; use e.g. 20000");
    text.parse().ok().filter(|pps| (1.0 / 60.0..=1e9).contains(pps)).ok_or_else(expected)
}

impl CommonArguments {
    /// Return the longest frame, without FCS.
    pub(super) fn frame_bytes(&self) -> usize {
        self.mtu + HEADER_BYTES
    }

    /// Return the page size of the memory.
    pub(super) fn pages(&self) -> Pages {
        match self.pages {
            PageSize::Default => Pages::Default,
            PageSize::Small => Pages::Small,
            PageSize::Large => Pages::Large,
        }
    }

    /// Allocate the memory of the table, if requested.
    pub(super) fn table(&self) -> Result<Option<Memory>, PortError> {
        let Some(bytes) = self.table else { return Ok(None) };
        let error =
            || option_error("--table", format!("the kernel cannot allocate {bytes} bytes; use a smaller table"));
        Memory::new(bytes as usize, self.pages()).map(Some).ok_or_else(error)
    }

    /// Return the policer of each port, if requested.
    pub(super) fn policer(&self) -> Option<PortPolicer> {
        let PolicerArguments { cir, cbs, eir, ebs, coupling, color_aware, mark } = self.policer;
        let profile =
            BandwidthProfile { cir_bps: cir?, cbs_bytes: cbs, eir_bps: eir, ebs_bytes: ebs, is_coupled: coupling };
        let color_mode = if color_aware { ColorMode::Aware } else { ColorMode::Blind };
        Some(PortPolicer::new(&profile, color_mode, mark))
    }

    /// Return the scheduling of a VNF on this back end.
    pub(super) fn vnf_pace(&self) -> Pace {
        match self.backend {
            Backend::AfPacket => Pace::VNF,
            Backend::AfXdp => Pace::POLL_MODE_VNF,
        }
    }

    /// Return `pace` with the requested capacity, CPU sharing, and publication of counters.
    pub(super) fn pace(&self, pace: Pace) -> Pace {
        let frame_time = self.capacity.map_or(Duration::ZERO, |pps| Duration::from_secs_f64(1.0 / pps));
        let pace = Pace { frame_time, buffer_frames: self.buffer, ..pace };
        let pace = if self.yielding { pace.for_shared_cpu() } else { pace };
        let quiet_before_publish = self.publish_after.map_or(pace.quiet_before_publish, Duration::from_millis);
        Pace { quiet_before_publish, publish_interval: self.publish_every.map(Duration::from_millis), ..pace }
    }
}

/// Arguments of the cross-connect.
#[derive(Args)]
pub struct L2 {
    /// Port, and the destination MAC address to write to frames that leave it, with the port's own address as source;
    /// without it both addresses are kept. Required twice.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE[,peer=MAC]")]
    pub(super) port: Vec<L2Port>,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// Arguments of the router.
#[derive(Args)]
pub struct L3 {
    /// Port, its MAC address, and its IP addresses; repeatable.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,mac=MAC[,address=IP]")]
    pub(super) port: Vec<L3Port>,
    /// Static route: next hop, and the port it is reached through; repeatable.
    #[arg(long, num_args = 1, value_name = "PREFIX,via=IP,port=INTERFACE")]
    pub(super) route: Vec<Route>,
    /// Static MAC address of a next hop; repeatable.
    #[arg(long, num_args = 1, value_name = "IP,mac=MAC", value_parser = parse_neighbor)]
    pub(super) neighbor: Vec<Neighbor>,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// Arguments of the BRAS. The defaults are the tables of PROX.
#[derive(Args)]
pub struct Bras {
    /// Port to subscribers, and its MAC address if not the interface's own; repeatable.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE[,mac=MAC]")]
    pub(super) cpe_port: Vec<SidePort>,
    /// Port to the core network, and its MAC address if not the interface's own; repeatable.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE[,mac=MAC]")]
    pub(super) core_port: Vec<SidePort>,
    /// Number of subscribers; GRE keys count from 0.
    #[arg(long, default_value_t = SUBSCRIBERS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(SUBSCRIBERS_MAX)))]
    subscribers: u32,
    /// Number of routes to the core: 10.0.0.0/24, 10.0.16.0/24, and so on.
    #[arg(long, default_value_t = ROUTES_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(ROUTES_MAX)))]
    routes: u32,
    /// Number of next hops that the routes cycle through.
    #[arg(long, default_value_t = NEXT_HOPS_MAX, value_parser = clap::value_parser!(u32).range(1..=i64::from(NEXT_HOPS_MAX)))]
    next_hops: u32,
    /// VLAN tags of the subscribers.
    #[arg(long, value_enum, default_value_t)]
    tags: Tags,
    /// Seed of `--tags shuffled`.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Directions in which the TTL of packets is decremented.
    #[arg(long, value_enum, default_value_t)]
    ttl: Ttl,
    /// The BRAS's end of all tunnels.
    #[arg(long, value_name = "IP", default_value_t = BrasProfile::default().address)]
    address: Ipv4Addr,
    /// Time after which a MAC address expires that no ARP packet confirms, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 1500, value_parser = clap::value_parser!(u32).range(1..))]
    arp_timeout: u32,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// Assignment of tags to subscribers.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Tags {
    /// As PROX; some tags have VLAN id 0.
    #[default]
    Prox,
    /// Both VLAN ids one higher.
    Shifted,
    /// Tags of PROX in random order.
    Shuffled,
}

/// Handling of the TTL.
#[derive(Clone, Copy, Default, ValueEnum)]
enum Ttl {
    /// Downstream only, as PROX.
    #[default]
    Prox,
    /// Both directions.
    Router,
}

impl Bras {
    /// Return the contents of the tables.
    pub(super) fn profile(&self) -> BrasProfile {
        BrasProfile {
            subscriber_count: self.subscribers,
            route_count: self.routes,
            next_hop_count: self.next_hops,
            tag_plan: match self.tags {
                Tags::Prox => TagPlan::Prox,
                Tags::Shifted => TagPlan::Shifted,
                Tags::Shuffled => TagPlan::Shuffled(self.seed),
            },
            address: self.address,
        }
    }

    /// Return the handling of the TTL.
    pub(super) fn ttl(&self) -> TtlHandling {
        match self.ttl {
            Ttl::Prox => TtlHandling::Prox,
            Ttl::Router => TtlHandling::Router,
        }
    }

    /// Return the time after which a MAC address expires.
    pub(super) fn arp_timeout(&self) -> Duration {
        Duration::from_secs(self.arp_timeout.into())
    }
}

/// Arguments of the edge switch.
#[derive(Args)]
pub struct Edge {
    /// Port to a tester; repeatable.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE")]
    pub(super) trunk: Vec<String>,
    /// Port to a chain, its trunk, and the VLAN or MAC address that identifies its frames; repeatable.
    #[arg(long, num_args = 1, value_name = "INTERFACE,trunk=INTERFACE[,vlan=ID][,mac=MAC]")]
    pub(super) access: Vec<AccessPort>,
    /// Size of a trunk's receive queue, in frames.
    #[arg(long, default_value_t = 4096)]
    pub(super) trunk_slots: u32,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

/// Arguments of the load balancer.
#[derive(Args)]
pub struct Balancer {
    /// Port to a tester; required twice.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE")]
    pub(super) trunk: Vec<String>,
    /// Ports to an instance, on the side of the first and of the second trunk; repeatable.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,right=INTERFACE")]
    pub(super) instance: Vec<InstancePorts>,
    /// Size of a trunk's receive queue, in frames.
    #[arg(long, default_value_t = 4096)]
    pub(super) trunk_slots: u32,
    /// Time between two probes through an instance, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    probe_interval: u64,
    /// Probes in a row that may be lost before an instance is down.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    probe_misses: u32,
    /// Selection of the instance of a flow.
    #[arg(long, value_enum, default_value_t)]
    selection: InstanceSelection,
    /// Time from a change of the instances in service until the first flow moves, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000))]
    move_delay: u64,
    /// Time between two flows that move, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=60_000))]
    move_interval: u64,
    #[command(flatten)]
    pub(super) common: CommonArguments,
}

impl Balancer {
    /// Return the network function.
    pub(super) fn network(&self) -> Result<BalancerNetwork, PortError> {
        let count = self.instance.len();
        if count > Withdrawal::INSTANCES_MAX {
            let message = format!("found {count}; use at most {}", Withdrawal::INSTANCES_MAX);
            return Err(option_error("--instance", message));
        }
        let check = HealthCheck { interval_ms: self.probe_interval, misses_max: self.probe_misses };
        let schedule = MoveSchedule { delay_ms: self.move_delay, interval_ms: self.move_interval };
        let selection = match self.selection {
            InstanceSelection::Hash => Selection::Hash,
            InstanceSelection::Standby => Selection::Standby,
        };
        Ok(BalancerNetwork::new(count, check, selection, schedule))
    }
}

/// Selection of the instance of a flow.
#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum InstanceSelection {
    /// By a hash of its addresses and ports.
    #[default]
    Hash,
    /// The first instance in service.
    Standby,
}

/// Arguments of the cross-connect in the drivers.
#[derive(Args)]
pub struct Xdp {
    /// Port, and the destination MAC address to write to frames that leave it; required twice.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,peer=MAC")]
    pub(super) port: Vec<L2Port>,
    /// Enter the network namespace of this process.
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

/// A port of the BRAS.
#[derive(Clone)]
pub(super) struct SidePort {
    pub(super) interface: String,
    pub(super) mac: Option<MacAddr>,
}

/// A port of the edge switch.
#[derive(Clone)]
pub(super) struct AccessPort {
    pub(super) interface: String,
    pub(super) trunk: String,
    pub(super) vlan: Option<u16>,
    pub(super) mac: Option<MacAddr>,
}

/// The ports of a balancer to an instance.
#[derive(Clone)]
pub(super) struct InstancePorts {
    pub(super) left: String,
    pub(super) right: String,
}

/// A route, with the name of its port.
#[derive(Clone)]
pub(super) struct Route {
    pub(super) prefix: IpNet,
    pub(super) via: IpAddr,
    pub(super) port: String,
}

impl FromStr for L2Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument =
            KeyValueArgument::new(text, "INTERFACE or INTERFACE,peer=MAC such as eth1,peer=02:00:00:00:00:01")?;
        let port = Self { interface: argument.first.to_owned(), peer: argument.take_optional("peer")? };
        argument.finish(port)
    }
}

impl FromStr for L3Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument = KeyValueArgument::new(
            text,
            "INTERFACE,mac=MAC,address=IP such as eth1,mac=02:00:00:00:00:01,address=198.18.255.254",
        )?;
        let mut port = Self { interface: argument.first.to_owned(), mac: argument.take("mac")?, addresses: Vec::new() };
        while argument.has("address") {
            port.addresses.push(argument.take("address")?);
        }
        argument.finish(port)
    }
}

impl FromStr for SidePort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument =
            KeyValueArgument::new(text, "INTERFACE or INTERFACE,mac=MAC such as eth1,mac=02:00:00:00:00:01")?;
        let port = Self { interface: argument.first.to_owned(), mac: argument.take_optional("mac")? };
        argument.finish(port)
    }
}

impl FromStr for AccessPort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument = KeyValueArgument::new(
            text,
            "INTERFACE,trunk=INTERFACE and vlan=1 to 4094 or mac=MAC, such as eth1,trunk=eth0,vlan=100",
        )?;
        let (vlan, mac) = (argument.take_optional("vlan")?, argument.take_optional("mac")?);
        let port = Self { interface: argument.first.to_owned(), trunk: argument.take("trunk")?, vlan, mac };
        if vlan.is_some_and(|id| !(1..=4094).contains(&id)) {
            return Err(expected_error(text, argument.expected));
        }
        argument.finish(port)
    }
}

impl FromStr for InstancePorts {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument = KeyValueArgument::new(text, "INTERFACE,right=INTERFACE such as eth1,right=eth2")?;
        let ports = Self { left: argument.first.to_owned(), right: argument.take("right")? };
        argument.finish(ports)
    }
}

impl FromStr for Route {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut argument =
            KeyValueArgument::new(text, "PREFIX,via=IP,port=INTERFACE such as 198.18.0.0/16,via=198.18.0.1,port=eth1")?;
        let route = Self { prefix: argument.first()?, via: argument.take("via")?, port: argument.take("port")? };
        if matches!((route.prefix, route.via), (IpNet::V4(_), IpAddr::V4(_)) | (IpNet::V6(_), IpAddr::V6(_))) {
            argument.finish(route)
        } else {
            Err(format!("{text:?}: prefix and next hop must be of the same address family"))
        }
    }
}

fn parse_neighbor(text: &str) -> Result<Neighbor, String> {
    let mut argument = KeyValueArgument::new(text, "IP,mac=MAC such as 198.18.0.1,mac=02:00:00:00:00:01")?;
    let neighbor = Neighbor { address: argument.first()?, mac: argument.take("mac")? };
    argument.finish(neighbor)
}

/// An argument of the form `FIRST,key=value,key=value`.
struct KeyValueArgument<'a> {
    text: &'a str,
    expected: &'static str,
    first: &'a str,
    rest: Vec<(&'a str, &'a str)>,
}

impl<'a> KeyValueArgument<'a> {
    fn new(text: &'a str, expected: &'static str) -> Result<Self, String> {
        let mut parts = text.split(',');
        let first = parts.next().unwrap_or_default();
        let rest = parts.map(|part| part.split_once('=')).collect::<Option<Vec<_>>>();
        match rest {
            Some(rest) if !first.is_empty() => Ok(Self { text, expected, first, rest }),
            _ => Err(expected_error(text, expected)),
        }
    }

    fn first<V: FromStr>(&self) -> Result<V, String> {
        self.first.parse().map_err(|_| expected_error(self.text, self.expected))
    }

    fn has(&self, key: &str) -> bool {
        self.rest.iter().any(|(name, _)| *name == key)
    }

    /// Take the value of a required key.
    fn take<V: FromStr>(&mut self, key: &str) -> Result<V, String> {
        let position = self.rest.iter().position(|(name, _)| *name == key);
        position
            .and_then(|position| self.rest.remove(position).1.parse().ok())
            .ok_or_else(|| expected_error(self.text, self.expected))
    }

    /// Take the value of an optional key.
    fn take_optional<V: FromStr>(&mut self, key: &str) -> Result<Option<V>, String> {
        if self.has(key) { self.take(key).map(Some) } else { Ok(None) }
    }

    /// Return `value`, if all keys were taken.
    fn finish<V>(self, value: V) -> Result<V, String> {
        if self.rest.is_empty() { Ok(value) } else { Err(expected_error(self.text, self.expected)) }
    }
}

fn expected_error(text: &str, expected: &str) -> String {
    format!("{text:?}: expected {expected}")
}

/// Return the error of an option.
pub(super) fn option_error(option: &str, message: String) -> PortError {
    PortError::Request { port: option.to_owned(), message }
}
