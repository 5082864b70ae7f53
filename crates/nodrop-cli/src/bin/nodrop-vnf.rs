//! The loopback VNF as a process.

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use nodrop_cli::{VERSION, come_up};
use nodrop_port::{PortError, thread};
use nodrop_vnf::{CrossConnect, PortConfig};
use nodrop_wire::MacAddr;

/// Forwarders that stand in for a VNF between a tester's ports.
///
/// Prints one JSON line, `{"event":"ready"}` or `{"event":"error","message":...}`; ends when standard input closes or its
/// parent dies.
#[derive(Parser)]
#[command(name = "nodrop-vnf", version = VERSION)]
struct Arguments {
    #[command(subcommand)]
    forwarder: Forwarder,
}

#[derive(Subcommand)]
enum Forwarder {
    /// Cross-connect two ports on one thread, rewriting MAC addresses.
    L2(L2),
}

#[derive(Args)]
struct L2 {
    /// A port and the MAC address to write as destination on frames that leave it; give two.
    #[arg(long, required = true, num_args = 1, value_name = "INTERFACE,peer=MAC", value_parser = parse_port)]
    port: Vec<PortConfig>,
    /// Work in the network namespace of this process.
    #[arg(long, value_name = "PID")]
    netns: Option<u32>,
    /// CPU to bind the forwarding thread to.
    #[arg(long)]
    core: Option<usize>,
    /// Received frames a port can hold before the kernel drops.
    #[arg(long, default_value_t = 4096)]
    queue_slots: u32,
    /// Largest IP packet forwarded, in bytes.
    #[arg(long, default_value_t = 1500)]
    mtu: usize,
}

fn parse_port(text: &str) -> Result<PortConfig, String> {
    let wrong = || format!("{text:?}: expected INTERFACE,peer=MAC such as eth1,peer=02:00:00:00:00:01");
    let (interface, peer) = text.split_once(",peer=").ok_or_else(wrong)?;
    let MacAddr(peer) = peer.parse().map_err(|_| wrong())?;
    Ok(PortConfig { interface: interface.to_owned(), peer })
}

fn main() -> ExitCode {
    let Arguments { forwarder: Forwarder::L2(arguments) } = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{}", serde_json::json!({"event": "error", "message": error.to_string()}));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: L2) -> Result<(), PortError> {
    let given = arguments.port.len();
    let ports: [PortConfig; 2] = arguments.port.try_into().map_err(|_| PortError::Request {
        port: "--port".to_owned(),
        message: format!("given {given} times; a cross-connect has two ports"),
    })?;
    come_up(arguments.netns)?;
    if let Some(core) = arguments.core {
        thread::bind_to_cores(&[core])?;
    }
    let mut forwarder = CrossConnect::open(ports, arguments.queue_slots, arguments.mtu)?;
    std::thread::spawn(end_with_input);
    println!("{}", serde_json::json!({"event": "ready"}));
    forwarder.run()
}

fn end_with_input() {
    // Input is read only to learn when it ends.
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    std::process::exit(0);
}
