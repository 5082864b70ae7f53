//! From the arguments of `nodrop-vnf` to a forwarder, and its life until standard input closes.

mod arguments;

use std::io;

use nodrop_port::af_packet::{PacketRx, PacketTx};
use nodrop_port::{PortError, Receive, Transmit, thread};
use nodrop_vnf::{
    Counters, CrossConnect, Forwarder, Network, Port, Redirect, RedirectPort, Router, RouterPort, StaticRoute,
};
use nodrop_wire::MacAddr;

use crate::come_up;
pub use arguments::{L2, L3, Xdp};
use arguments::{L2Port, Running, ask};

/// Ethernet header and two VLAN tags.
const HEADER_BYTES: usize = 14 + 8;

type PacketPort = Port<PacketTx, PacketRx>;

/// Be a cross-connect until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or a port cannot be opened or fails.
pub fn run_l2(arguments: L2) -> Result<(), PortError> {
    let [left, right] = two(arguments.port)?;
    let interfaces = [left.interface, right.interface];
    start(&arguments.running)?;
    let ports = open(&interfaces, &arguments.running)?;
    let [near, far] = [&ports[0], &ports[1]].map(|port| port.tx.hardware_address().map(MacAddr));
    let network = CrossConnect { addresses: [(left.peer, near?), (right.peer, far?)] };
    serve(ports, network, &arguments.running)
}

/// Be a router until standard input closes.
///
/// # Errors
/// As [`run_l2`].
pub fn run_l3(arguments: L3) -> Result<(), PortError> {
    let interfaces: Vec<String> = arguments.port.iter().map(|port| port.interface.clone()).collect();
    let routes = arguments
        .route
        .iter()
        .map(|route| {
            let port = interfaces.iter().position(|name| *name == route.port).ok_or_else(|| {
                ask("--route", format!("{} behind {}, which is no --port; name one of these", route.prefix, route.port))
            })?;
            Ok(StaticRoute { prefix: route.prefix, via: route.via, port })
        })
        .collect::<Result<Vec<_>, PortError>>()?;
    let stations =
        arguments.port.into_iter().map(|port| RouterPort { mac: port.mac, addresses: port.addresses }).collect();
    let router = Router::new(stations, &routes, &arguments.neighbor);
    start(&arguments.running)?;
    let ports = open(&interfaces, &arguments.running)?;
    serve(ports, router, &arguments.running)
}

/// Be a cross-connect in the drivers until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or the kernel refuses the programs.
pub fn run_xdp(arguments: Xdp) -> Result<(), PortError> {
    let ports = two(arguments.port)?;
    come_up(arguments.netns)?;
    let [left, right] = ports.map(|L2Port { interface, peer }| {
        let own = MacAddr(PacketTx::open(&interface)?.hardware_address()?);
        Ok::<_, PortError>(RedirectPort { interface, peer, own })
    });
    let joined = Redirect::between(&left?, &right?)?;
    println!("{}", serde_json::json!({"event": "ready"}));
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
    running.core.map_or(Ok(()), |core| thread::bind_to_cores(&[core]))
}

fn open(interfaces: &[String], running: &Running) -> Result<Vec<PacketPort>, PortError> {
    interfaces
        .iter()
        .map(|name| {
            Ok(Port {
                name: name.clone(),
                tx: PacketTx::open(name)?,
                rx: PacketRx::open_whole(name, running.queue_slots, running.frame_bytes())?,
                counters: Counters::default(),
            })
        })
        .collect()
}

fn serve<T: Transmit, R: Receive, N: Network>(
    ports: Vec<Port<T, R>>,
    network: N,
    running: &Running,
) -> Result<(), PortError> {
    let mut forwarder = Forwarder::new(ports, network, running.frame_bytes())?;
    std::thread::spawn(end_with_input);
    println!("{}", serde_json::json!({"event": "ready"}));
    forwarder.run()
}

fn end_with_input() {
    // Input is read only to learn when it ends.
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(0);
}
