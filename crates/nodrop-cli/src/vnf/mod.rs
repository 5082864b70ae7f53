//! From the arguments of `nodrop-vnf` to a forwarder, and its life until standard input closes.

mod arguments;

use std::io;

use nodrop_port::af_packet::{PacketRx, PacketTx};
use nodrop_port::af_xdp::{self, Copying, Options, Wanted, XdpRx, XdpTx};
use nodrop_port::{PortError, Receive, Transmit, thread};
use nodrop_vnf::{
    Counters, CrossConnect, Forwarder, Network, Port, Redirect, RedirectPort, Router, RouterPort, StaticRoute,
};
use nodrop_wire::MacAddr;

use crate::come_up;
use arguments::{Backend, L2Port, Running, ask};
pub use arguments::{L2, L3, Xdp};

/// Ethernet header and two VLAN tags.
const HEADER_BYTES: usize = 14 + 8;

/// Be a cross-connect until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or a port cannot be opened or fails.
pub fn run_l2(arguments: L2) -> Result<(), PortError> {
    let [left, right] = two(arguments.port)?;
    let interfaces = [left.interface, right.interface];
    start(&arguments.running)?;
    let [near, far] = interfaces.each_ref().map(|interface| own_address(interface));
    let network = CrossConnect { addresses: [(left.peer, near?), (right.peer, far?)] };
    forward(&interfaces, network, &arguments.running)
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
    forward(&interfaces, router, &arguments.running)
}

/// Be a cross-connect in the drivers until standard input closes.
///
/// # Errors
/// When the arguments do not go together, or the kernel refuses the programs.
pub fn run_xdp(arguments: Xdp) -> Result<(), PortError> {
    let ports = two(arguments.port)?;
    come_up(arguments.netns)?;
    let [left, right] = ports.map(|L2Port { interface, peer }| {
        let own = own_address(&interface)?;
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
    thread::favour();
    running.core.map_or(Ok(()), |core| thread::bind_to_cores(&[core]))
}

fn own_address(interface: &str) -> Result<MacAddr, PortError> {
    Ok(MacAddr(PacketTx::open(interface)?.hardware_address()?))
}

fn forward(interfaces: &[String], network: impl Network, running: &Running) -> Result<(), PortError> {
    match running.backend {
        Backend::AfPacket => serve(open(interfaces, |name| open_packet(name, running))?, network, running),
        Backend::AfXdp => serve(open(interfaces, |name| open_xdp(name, running))?, network, running),
    }
}

fn open<T, R>(
    interfaces: &[String],
    half: impl Fn(&str) -> Result<(T, R), PortError>,
) -> Result<Vec<Port<T, R>>, PortError> {
    let port = |name: &String| {
        let (tx, rx) = half(name)?;
        Ok(Port { name: name.clone(), tx, rx, counters: Counters::default() })
    };
    interfaces.iter().map(port).collect()
}

fn open_packet(interface: &str, running: &Running) -> Result<(PacketTx, PacketRx), PortError> {
    let rx = PacketRx::open_whole(interface, running.queue_slots, running.frame_bytes())?;
    Ok((PacketTx::open(interface)?, rx))
}

fn open_xdp(interface: &str, running: &Running) -> Result<(XdpTx, XdpRx), PortError> {
    let wanted = Wanted::All(running.frame_bytes());
    let options = Options { queue_slots: running.queue_slots, queues: 1, copying: Copying::Auto, wanted };
    let (tx, rx, _) = af_xdp::open(interface, &options)?;
    Ok((tx, rx))
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
