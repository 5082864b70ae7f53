//! What the programs `nodrop-engine` and `nodrop-vnf` share: how they come up and go down.

use nodrop_port::{PortError, process};

mod backend;
mod doors;
pub mod layouts;
pub mod replay;
pub mod setup;
pub mod vnf;

pub use doors::HostNeighbors;

/// Version and commit, as `--version` prints them.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("NODROP_COMMIT"), ")");

/// Commit the programs were built from; ends in `+` when the tree had changes.
pub const COMMIT: &str = env!("NODROP_COMMIT");

/// Enter the network namespace of `netns_pid` if one is given, and from then on die with the parent process.
///
/// # Errors
/// When the namespace may not be entered.
pub fn come_up(netns_pid: Option<u32>) -> Result<(), PortError> {
    let parent = process::parent_id();
    if let Some(pid) = netns_pid {
        process::enter_network_namespace(pid)?;
    }
    process::die_with_parent(parent);
    Ok(())
}
