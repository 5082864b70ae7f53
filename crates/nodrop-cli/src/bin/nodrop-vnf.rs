//! The loopback VNF as a process.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use nodrop_cli::{VERSION, vnf};

/// Forwarders that act as a VNF between a tester's ports.
///
/// Prints one JSON line, `{"event":"ready"}` or `{"event":"error","message":...}`; ends when standard input closes or
/// its parent exits.
#[derive(Parser)]
#[command(name = "nodrop-vnf", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    forwarder: Forwarder,
}

#[derive(Subcommand)]
enum Forwarder {
    /// Cross-connect two ports on one thread, rewriting MAC addresses.
    L2(vnf::L2),
    /// Route IPv4 and IPv6 between ports on one thread.
    L3(vnf::L3),
    /// Connect subscribers behind two VLAN tags to keyed GRE tunnels over MPLS, as ETSI GS NFV-PER 001 annex D.
    Bras(vnf::Bras),
    /// Switch between a tester's ports and many chains, by VLAN or MAC address, on one thread.
    Edge(vnf::Edge),
    /// Balance flows over instances of a VNF between two ports, with health checks, on one thread.
    Balancer(vnf::Balancer),
    /// Cross-connect two ports in their drivers by XDP programs.
    Xdp(vnf::Xdp),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().forwarder {
        Forwarder::L2(arguments) => vnf::run_l2(arguments),
        Forwarder::L3(arguments) => vnf::run_l3(arguments),
        Forwarder::Bras(arguments) => vnf::run_bras(arguments),
        Forwarder::Edge(arguments) => vnf::run_edge(arguments),
        Forwarder::Balancer(arguments) => vnf::run_balancer(arguments),
        Forwarder::Xdp(arguments) => vnf::run_xdp(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", serde_json::json!({"event": "error", "message": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}
