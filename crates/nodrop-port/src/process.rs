//! The process itself: its namespaces and its parent.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use crate::PortError;

const ENTER_REMEDY: &str = "the process must be alive and belong to the same user";

/// Move the calling process into the network namespace of process `pid`, first entering its user namespace if
/// different. Must run before any thread is started.
///
/// # Errors
/// If the process has exited or its namespaces may not be entered.
pub fn enter_network_namespace(pid: u32) -> Result<(), PortError> {
    let user = open_namespace(pid, "user")?;
    let network = open_namespace(pid, "net")?;
    if inode(&user) != inode(&open_namespace(std::process::id(), "user")?) {
        join(pid, &user, libc::CLONE_NEWUSER)?;
    }
    // Entering the current namespace needs no permission.
    if inode(&network) == inode(&open_namespace(std::process::id(), "net")?) {
        return Ok(());
    }
    join(pid, &network, libc::CLONE_NEWNET)
}

/// Return the inode that identifies the network namespace of this process.
///
/// # Errors
/// If /proc is not mounted.
pub fn network_namespace_inode() -> Result<u32, PortError> {
    let own = open_namespace(std::process::id(), "net")?;
    Ok(inode(&own).and_then(|inode| u32::try_from(inode).ok()).unwrap_or(0))
}

fn open_namespace(pid: u32, kind: &str) -> Result<File, PortError> {
    File::open(format!("/proc/{pid}/ns/{kind}")).map_err(|source| PortError::System {
        port: format!("process {pid}"),
        action: "open its namespaces",
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

/// Make the kernel kill this process when its parent exits; exit now if the parent has already exited.
///
/// Call after [`enter_network_namespace`]: changing credentials clears the setting.
pub fn die_with_parent(parent: u32) {
    // SAFETY: PR_SET_PDEATHSIG takes one integer and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) };
    if parent_id() != parent {
        std::process::exit(1);
    }
}

/// Return the pid of the process that started this one; read it first thing in `main`.
#[must_use]
pub fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}
