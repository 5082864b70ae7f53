//! From the arguments of `nodrop-vnf` to a forwarder, and its life until standard input closes.

mod arguments;

use std::io;

use nodrop_port::af_packet::{PacketRx, PacketTx};
use nodrop_port::af_xdp::{self, Copying, Options, Wanted, XdpRx, XdpTx};
use nodrop_port::{PortError, Receive, Transmit, memory, thread};
use nodrop_vnf::{
    Counters, CrossConnect, EdgePort, EdgeSwitch, FlowTable, Forwarder, Network, Pace, Port, Redirect, RedirectPort,
    Router, RouterPort, StaticRoute,
};
use nodrop_wire::MacAddr;
use serde_json::{Value, json};

use crate::come_up;
use arguments::{AccessPort, Backend, L2Port, Running, ask};
pub use arguments::{Edge, L2, L3, Xdp};

/// Ethernet header and two VLAN tags.
const HEADER_BYTES: usize = 14 + 8;

/// Be a cross-connect until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or a port cannot be opened or fails.
pub fn run_l2(arguments: L2) -> Result<(), PortError> {
    let [left, right] = two(arguments.port)?;
    let interfaces = [&left.interface, &right.interface].map(|name| Interface::of(name, &arguments.running));
    start(&arguments.running)?;
    let [near, far] = [left, right].map(|L2Port { interface, peer }| {
        peer.map(|peer| Ok::<_, PortError>((peer, own_address(&interface)?))).transpose()
    });
    let network = CrossConnect { addresses: [near?, far?] };
    forward(&interfaces, network, &arguments.running, Pace::VNF)
}

/// Be a router until standard input closes.
///
/// # Errors
/// As [`run_l2`].
pub fn run_l3(arguments: L3) -> Result<(), PortError> {
    let interfaces: Vec<Interface> =
        arguments.port.iter().map(|port| Interface::of(&port.interface, &arguments.running)).collect();
    let routes = arguments
        .route
        .iter()
        .map(|route| {
            let port = interfaces.iter().position(|interface| interface.name == route.port).ok_or_else(|| {
                ask("--route", format!("{} behind {}, which is no --port; name one of these", route.prefix, route.port))
            })?;
            Ok(StaticRoute { prefix: route.prefix, via: route.via, port })
        })
        .collect::<Result<Vec<_>, PortError>>()?;
    let stations =
        arguments.port.into_iter().map(|port| RouterPort { mac: port.mac, addresses: port.addresses }).collect();
    let router = Router::new(stations, &routes, &arguments.neighbor);
    start(&arguments.running)?;
    forward(&interfaces, router, &arguments.running, Pace::VNF)
}

/// Be an edge switch until standard input closes.
///
/// # Errors
/// As [`run_l2`].
pub fn run_edge(arguments: Edge) -> Result<(), PortError> {
    let Edge { trunk: trunks, access, trunk_slots, running } = arguments;
    let interfaces: Vec<Interface> = trunks
        .iter()
        .map(|trunk| Interface { name: trunk.clone(), queue_slots: trunk_slots })
        .chain(access.iter().map(|port| Interface::of(&port.interface, &running)))
        .collect();
    let ports = trunks.iter().map(|_| Ok(EdgePort::Trunk)).chain(access.iter().map(|port| access_port(port, &trunks)));
    let switch = EdgeSwitch::new(ports.collect::<Result<_, _>>()?).map_err(|error| {
        let named: Vec<&str> = interfaces.iter().map(|interface| interface.name.as_str()).collect();
        ask("--access", format!("{error} (ports {})", named.join(", ")))
    })?;
    start(&running)?;
    forward(&interfaces, switch, &running, Pace::EDGE)
}

fn access_port(port: &AccessPort, trunks: &[String]) -> Result<EdgePort, PortError> {
    let AccessPort { interface, trunk, vlan, mac } = port;
    let trunk = trunks.iter().position(|name| name == trunk).ok_or_else(|| {
        ask("--access", format!("{interface} belongs to {trunk}, which is no --trunk; name one of these"))
    })?;
    Ok(EdgePort::Access { trunk, vlan: *vlan, mac: *mac })
}

/// Be a cross-connect in the drivers until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or the kernel refuses the programs.
pub fn run_xdp(arguments: Xdp) -> Result<(), PortError> {
    let ports = two(arguments.port)?;
    come_up(arguments.netns)?;
    let [left, right] = ports.map(|L2Port { interface, peer }| {
        let none = || ask("--port", format!("{interface}: its drivers write addresses always; give it peer=MAC"));
        let peer = peer.ok_or_else(none)?;
        let own = own_address(&interface)?;
        Ok::<_, PortError>(RedirectPort { interface, peer, own })
    });
    let joined = Redirect::between(&left?, &right?)?;
    println!("{}", json!({"event": "ready"}));
    // Input is read only to learn when it ends.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    drop(joined);
    Ok(())
}

fn two(ports: Vec<L2Port>) -> Result<[L2Port; 2], PortError> {
    let given = ports.len();
    ports.try_into().map_err(|_| ask("--port", format!("given {given} times; a cross-connect has two ports")))
}

fn start(running: &Running) -> Result<(), PortError> {
    come_up(running.netns)?;
    thread::favour();
    running.memory_node.map_or(Ok(()), memory::bind_to_node)?;
    running.core.map_or(Ok(()), |core| thread::bind_to_cores(&[core]))
}

fn own_address(interface: &str) -> Result<MacAddr, PortError> {
    Ok(MacAddr(PacketTx::open(interface)?.hardware_address()?))
}

/// What a port is opened on.
struct Interface {
    name: String,
    queue_slots: u32,
}

impl Interface {
    fn of(name: &str, running: &Running) -> Self {
        Self { name: name.to_owned(), queue_slots: running.queue_slots }
    }
}

fn forward(interfaces: &[Interface], network: impl Network, running: &Running, pace: Pace) -> Result<(), PortError> {
    match running.table()? {
        None => forward_with(interfaces, network, running, pace, &Value::Null),
        Some(memory) => {
            let table = json!({"bytes": memory.len(), "large_page_bytes": memory.large_page_bytes()});
            forward_with(interfaces, FlowTable::new(network, memory), running, pace, &table)
        }
    }
}

/// `table` is what is told of the table it has.
fn forward_with(
    interfaces: &[Interface],
    network: impl Network,
    running: &Running,
    pace: Pace,
    table: &Value,
) -> Result<(), PortError> {
    match running.backend {
        Backend::AfPacket => serve(open(interfaces, |port| open_packet(port, running))?, network, running, pace, table),
        Backend::AfXdp => serve(open(interfaces, |port| open_xdp(port, running))?, network, running, pace, table),
    }
}

fn open<T, R>(
    interfaces: &[Interface],
    half: impl Fn(&Interface) -> Result<(T, R), PortError>,
) -> Result<Vec<Port<T, R>>, PortError> {
    let port = |interface: &Interface| {
        let (tx, rx) = half(interface)?;
        Ok(Port { name: interface.name.clone(), tx, rx, counters: Counters::default() })
    };
    interfaces.iter().map(port).collect()
}

fn open_packet(interface: &Interface, running: &Running) -> Result<(PacketTx, PacketRx), PortError> {
    let rx = PacketRx::open_whole(&interface.name, interface.queue_slots, running.frame_bytes())?;
    Ok((PacketTx::open(&interface.name)?, rx))
}

fn open_xdp(interface: &Interface, running: &Running) -> Result<(XdpTx, XdpRx), PortError> {
    let wanted = Wanted::All(running.frame_bytes());
    let options = Options {
        queue_slots: interface.queue_slots,
        queues: 1,
        copying: Copying::Auto,
        wanted,
        pages: running.pages(),
    };
    let (tx, rx, _) = af_xdp::open(&interface.name, &options)?;
    Ok((tx, rx))
}

fn serve<T: Transmit, R: Receive, N: Network>(
    ports: Vec<Port<T, R>>,
    network: N,
    running: &Running,
    pace: Pace,
    table: &Value,
) -> Result<(), PortError> {
    let mut forwarder = Forwarder::new(ports, network, running.frame_bytes(), running.pace(pace))?;
    std::thread::spawn(end_with_input);
    println!("{}", json!({"event": "ready", "table": table}));
    forwarder.run()
}

fn end_with_input() {
    // Input is read only to learn when it ends.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(0);
}
