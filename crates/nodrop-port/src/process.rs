//! The process itself: which namespaces it lives in, and with whom it dies.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::PortError;

const ENTER_REMEDY: &str = "the process must be alive and belong to the same user";

/// Move the calling process into the network namespace of process `pid`, by way of its user namespace where that is
/// another one. Must run before any thread is started.
///
/// # Errors
/// When the process is gone or its namespaces may not be entered.
pub fn enter_network_namespace(pid: u32) -> Result<(), PortError> {
    let user = open_namespace(pid, "user")?;
    let network = open_namespace(pid, "net")?;
    if inode(&user) != inode(&open_namespace(std::process::id(), "user")?) {
        join(pid, &user, libc::CLONE_NEWUSER)?;
    }
    // Where it is already nobody needs to be allowed to go.
    if inode(&network) == inode(&open_namespace(std::process::id(), "net")?) {
        return Ok(());
    }
    join(pid, &network, libc::CLONE_NEWNET)
}

/// What tells the network namespace this process is in from all others.
///
/// # Errors
/// When /proc is not there.
pub fn network_namespace_inode() -> Result<u32, PortError> {
    let own = open_namespace(std::process::id(), "net")?;
    Ok(inode(&own).and_then(|inode| u32::try_from(inode).ok()).unwrap_or(0))
}

fn open_namespace(pid: u32, kind: &str) -> Result<File, PortError> {
    File::open(format!("/proc/{pid}/ns/{kind}")).map_err(|source| PortError::System {
        port: format!("process {pid}"),
        asked: "open its namespaces",
        source,
        remedy: ENTER_REMEDY,
    })
}

fn inode(file: &File) -> Option<u64> {
    file.metadata().ok().map(|metadata| metadata.ino())
}

fn join(pid: u32, namespace: &File, kind: libc::c_int) -> Result<(), PortError> {
    // SAFETY: setns takes a file descriptor that `namespace` keeps open, and touches no memory.
    if unsafe { libc::setns(namespace.as_raw_fd(), kind) } == 0 {
        return Ok(());
    }
    Err(PortError::last_os(&format!("process {pid}"), "enter its namespaces", ENTER_REMEDY))
}

/// Have the kernel kill this process when its parent dies; ends it now if the parent is already gone.
///
/// Call after [`enter_network_namespace`]: changing credentials clears the wish.
pub fn die_with_parent(parent: u32) {
    // SAFETY: PR_SET_PDEATHSIG takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    if parent_id() != parent {
        std::process::exit(1);
    }
}

/// The process that started this one; read it first thing in `main`.
#[must_use]
pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}
