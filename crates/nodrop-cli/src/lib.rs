//! Shared parts of the programs `nodrop-engine`, `nodrop-observe` and `nodrop-vnf`.

use nodrop_port::{PortError, process};

mod backend;
pub mod layouts;
pub mod replay;
pub mod setup;
mod station_ports;
pub mod vnf;

pub use station_ports::HostNeighbors;

/// Version and commit, as printed by `--version`.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NODROP_COMMIT"), ")");

/// Commit the programs were built from; ends in `+` if the tree was modified.
pub const COMMIT: &str = env!("NODROP_COMMIT");

/// Enter the network namespace of `netns_pid`, if given, and exit with the parent process from then on.
///
/// # Errors
/// If the namespace may not be entered.
pub fn init_process(netns_pid: Option<u32>) -> Result<(), PortError> {
    let parent = process::parent_id();
    if let Some(pid) = netns_pid {
        process::enter_network_namespace(pid)?;
    }
    process::die_with_parent(parent);
    Ok(())
}
