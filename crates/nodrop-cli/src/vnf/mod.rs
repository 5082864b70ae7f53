//! Runs the forwarders of `nodrop-vnf` until standard input closes.

mod arguments;

use std::io::{self, BufRead};

use nodrop_port::af_packet::{PacketRx, PacketTx};
use nodrop_port::af_xdp::{self, CopyMode, FrameSelection, Options, XdpRx, XdpTx};
use nodrop_port::{PortError, Receive, Transmit, memory, thread};
use nodrop_vnf::{
    Bras as BrasNetwork, BrasPort, BrasSide, Counters, CrossConnect, EdgePort, EdgeSwitch, FlowTable, Forwarder,
    Network, Pace, Port, Redirect, RedirectPort, Router, RouterPort, StaticRoute, Withdrawal,
};
use nodrop_wire::MacAddr;
use serde_json::{Value, json};

use crate::init_process;
use arguments::{AccessPort, Backend, CommonArguments, L2Port, SidePort, option_error};
pub use arguments::{Balancer, Bras, Edge, L2, L3, Xdp};

/// Ethernet header and two VLAN tags.
const HEADER_BYTES: usize = 14 + 8;

/// Run a cross-connect until standard input closes.
///
/// # Errors
/// If the arguments are inconsistent, or a port cannot be opened or fails.
pub fn run_l2(arguments: L2) -> Result<(), PortError> {
    let [left, right] = require_two(arguments.port)?;
    let interfaces = [&left.interface, &right.interface].map(|name| Interface::new(name, &arguments.common));
    start(&arguments.common)?;
    let [near, far] = [left, right].map(|L2Port { interface, peer }| {
        peer.map(|peer| Ok::<_, PortError>((peer, own_address(&interface)?))).transpose()
    });
    let network = CrossConnect { addresses: [near?, far?] };
    forward(&interfaces, network, &arguments.common, arguments.common.vnf_pace())
}

/// Run a router until standard input closes.
///
/// # Errors
/// Same as [`run_l2`].
pub fn run_l3(arguments: L3) -> Result<(), PortError> {
    let interfaces: Vec<Interface> =
        arguments.port.iter().map(|port| Interface::new(&port.interface, &arguments.common)).collect();
    let routes = arguments
        .route
        .iter()
        .map(|route| {
            let port = interfaces.iter().position(|interface| interface.name == route.port).ok_or_else(|| {
                option_error(
                    "--route",
                    format!("{}: {} is not a port; use the interface of a --port", route.prefix, route.port),
                )
            })?;
            Ok(StaticRoute { prefix: route.prefix, via: route.via, port })
        })
        .collect::<Result<Vec<_>, PortError>>()?;
    let stations =
        arguments.port.into_iter().map(|port| RouterPort { mac: port.mac, addresses: port.addresses }).collect();
    let router = Router::new(stations, &routes, &arguments.neighbor);
    start(&arguments.common)?;
    forward(&interfaces, router, &arguments.common, arguments.common.vnf_pace())
}

/// Run a BRAS until standard input closes.
///
/// # Errors
/// Same as [`run_l2`].
pub fn run_bras(arguments: Bras) -> Result<(), PortError> {
    let sides = [(BrasSide::Cpe, &arguments.cpe_port), (BrasSide::Core, &arguments.core_port)];
    let ports: Vec<(BrasSide, &SidePort)> =
        sides.into_iter().flat_map(|(side, ports)| ports.iter().map(move |port| (side, port))).collect();
    let interfaces: Vec<Interface> =
        ports.iter().map(|(_, port)| Interface::new(&port.interface, &arguments.common)).collect();
    start(&arguments.common)?;
    let stations = ports
        .iter()
        .map(|(side, SidePort { interface, mac })| {
            Ok(BrasPort { side: *side, mac: mac.map_or_else(|| own_address(interface), Ok)? })
        })
        .collect::<Result<_, PortError>>()?;
    let bras = BrasNetwork::new(
        stations,
        &arguments.profile(),
        arguments.ttl(),
        arguments.common.mtu,
        arguments.arp_timeout(),
    );
    forward(&interfaces, bras, &arguments.common, arguments.common.vnf_pace())
}

/// Run an edge switch until standard input closes.
///
/// # Errors
/// Same as [`run_l2`].
pub fn run_edge(arguments: Edge) -> Result<(), PortError> {
    let Edge { trunk: trunks, access, trunk_slots, common } = arguments;
    let interfaces: Vec<Interface> = trunks
        .iter()
        .map(|trunk| Interface { name: trunk.clone(), queue_slots: trunk_slots })
        .chain(access.iter().map(|port| Interface::new(&port.interface, &common)))
        .collect();
    let ports = trunks.iter().map(|_| Ok(EdgePort::Trunk)).chain(access.iter().map(|port| access_port(port, &trunks)));
    let switch = EdgeSwitch::new(ports.collect::<Result<_, _>>()?).map_err(|error| {
        let names: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
        option_error("--access", format!("{error} (ports {})", names.join(", ")))
    })?;
    start(&common)?;
    forward(&interfaces, switch, &common, Pace::EDGE)
}

/// Run a load balancer until standard input closes; lines `withdraw N` and `restore N` take an instance out of service
/// and put it back, each acknowledged by a line.
///
/// # Errors
/// Same as [`run_l2`].
pub fn run_balancer(arguments: Balancer) -> Result<(), PortError> {
    let balancer = arguments.network()?;
    let (withdrawal, instance_count) = (balancer.withdrawal(), arguments.instance.len());
    let Balancer { trunk, instance, trunk_slots, common, .. } = arguments;
    let trunks: [String; 2] = trunk.try_into().map_err(|trunks: Vec<_>| {
        option_error("--trunk", format!("found {}; a balancer needs exactly two", trunks.len()))
    })?;
    let interfaces: Vec<Interface> = trunks
        .into_iter()
        .map(|name| Interface { name, queue_slots: trunk_slots })
        .chain(instance.iter().flat_map(|ports| [&ports.left, &ports.right]).map(|name| Interface::new(name, &common)))
        .collect();
    start(&common)?;
    let control = move || obey_commands(&withdrawal, instance_count);
    forward_under(&interfaces, balancer, &common, Pace::EDGE, control)
}

/// Carry out the commands on standard input, and exit at its end.
fn obey_commands(withdrawal: &Withdrawal, instance_count: usize) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        let (verb, instance) = line.split_once(' ').unwrap_or((&line, ""));
        match (verb, instance.parse::<usize>()) {
            ("withdraw", Ok(instance)) if instance < instance_count => withdrawal.withdraw(instance),
            ("restore", Ok(instance)) if instance < instance_count => withdrawal.restore(instance),
            _ => {
                println!("{}", json!({"event": "error", "message": format!("{line:?} is no command")}));
                continue;
            }
        }
        println!("{}", json!({"event": "changed"}));
    }
    std::process::exit(0);
}

fn access_port(port: &AccessPort, trunks: &[String]) -> Result<EdgePort, PortError> {
    let AccessPort { interface, trunk, vlan, mac } = port;
    let trunk = trunks.iter().position(|name| name == trunk).ok_or_else(|| {
        option_error("--access", format!("{interface}: {trunk} is not a trunk; use the interface of a --trunk"))
    })?;
    Ok(EdgePort::Access { trunk, vlan: *vlan, mac: *mac })
}

/// Run a cross-connect in the drivers until standard input closes.
///
/// # Errors
/// If the arguments are inconsistent, or the kernel rejects the programs.
pub fn run_xdp(arguments: Xdp) -> Result<(), PortError> {
    let ports = require_two(arguments.port)?;
    init_process(arguments.netns)?;
    let [left, right] = ports.map(|L2Port { interface, peer }| {
        let error = || {
            option_error(
                "--port",
                format!("{interface}: peer is missing, the drivers always write addresses; add peer=MAC"),
            )
        };
        let peer = peer.ok_or_else(error)?;
        let own = own_address(&interface)?;
        Ok::<_, PortError>(RedirectPort { interface, peer, own })
    });
    let redirect = Redirect::connect(&left?, &right?)?;
    println!("{}", json!({"event": "ready"}));
    // Read until the end of input.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    drop(redirect);
    Ok(())
}

fn require_two(ports: Vec<L2Port>) -> Result<[L2Port; 2], PortError> {
    let count = ports.len();
    ports.try_into().map_err(|_| option_error("--port", format!("found {count}; a cross-connect needs exactly two")))
}

fn start(common: &CommonArguments) -> Result<(), PortError> {
    init_process(common.netns)?;
    thread::raise_priority();
    common.memory_node.map_or(Ok(()), memory::bind_to_node)?;
    common.core.map_or(Ok(()), |core| thread::bind_to_cores(&[core]))
}

fn own_address(interface: &str) -> Result<MacAddr, PortError> {
    Ok(MacAddr(PacketTx::open(interface)?.hardware_address()?))
}

/// An interface to open as a port.
struct Interface {
    name: String,
    queue_slots: u32,
}

impl Interface {
    fn new(name: &str, common: &CommonArguments) -> Self {
        Self { name: name.to_owned(), queue_slots: common.queue_slots }
    }
}

fn forward(
    interfaces: &[Interface],
    network: impl Network,
    common: &CommonArguments,
    pace: Pace,
) -> Result<(), PortError> {
    forward_under(interfaces, network, common, pace, exit_at_end_of_input)
}

/// Open the ports and forward beside a thread that runs `control`, which ends the process.
fn forward_under(
    interfaces: &[Interface],
    network: impl Network,
    common: &CommonArguments,
    pace: Pace,
    control: impl FnOnce() + Send + 'static,
) -> Result<(), PortError> {
    match common.table()? {
        None => forward_with(interfaces, network, common, pace, &Value::Null, control),
        Some(memory) => {
            let table = json!({"bytes": memory.len(), "large_page_bytes": memory.large_page_bytes()});
            forward_with(interfaces, FlowTable::new(network, memory), common, pace, &table, control)
        }
    }
}

/// Open the ports and forward; `table` describes the flow table.
fn forward_with(
    interfaces: &[Interface],
    network: impl Network,
    common: &CommonArguments,
    pace: Pace,
    table: &Value,
    control: impl FnOnce() + Send + 'static,
) -> Result<(), PortError> {
    match common.backend {
        Backend::AfPacket => serve(open(interfaces, common, open_packet)?, network, common, pace, table, control),
        Backend::AfXdp => serve(open(interfaces, common, open_xdp)?, network, common, pace, table, control),
    }
}

fn open<T, R>(
    interfaces: &[Interface],
    common: &CommonArguments,
    open_port: impl Fn(&Interface, &CommonArguments) -> Result<(T, R), PortError>,
) -> Result<Vec<Port<T, R>>, PortError> {
    let port = |interface: &Interface| {
        let (tx, rx) = open_port(interface, common)?;
        let (name, counters, policer) = (interface.name.clone(), Counters::default(), common.policer());
        Ok(Port { name, tx, rx, counters, policer })
    };
    interfaces.iter().map(port).collect()
}

fn open_packet(interface: &Interface, common: &CommonArguments) -> Result<(PacketTx, PacketRx), PortError> {
    let rx = PacketRx::open_unfiltered(&interface.name, interface.queue_slots, common.frame_bytes())?;
    Ok((PacketTx::open(&interface.name)?, rx))
}

fn open_xdp(interface: &Interface, common: &CommonArguments) -> Result<(XdpTx, XdpRx), PortError> {
    let selection = FrameSelection::All(common.frame_bytes());
    let options = Options {
        queue_slots: interface.queue_slots,
        queues: 1,
        copying: CopyMode::Auto,
        selection,
        pages: common.pages(),
    };
    let (tx, rx, _) = af_xdp::open(&interface.name, &options)?;
    Ok((tx, rx))
}

fn serve<T: Transmit, R: Receive, N: Network>(
    ports: Vec<Port<T, R>>,
    network: N,
    common: &CommonArguments,
    pace: Pace,
    table: &Value,
    control: impl FnOnce() + Send + 'static,
) -> Result<(), PortError> {
    let mut forwarder = Forwarder::new(ports, network, common.frame_bytes(), common.pace(pace))?;
    std::thread::spawn(control);
    println!("{}", json!({"event": "ready", "table": table}));
    forwarder.run()
}

fn exit_at_end_of_input() {
    // Read until the end of input.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(0);
}
