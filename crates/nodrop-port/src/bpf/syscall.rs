//! The bpf(2) system call: a command number and a structure with its arguments.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::PortError;

pub(super) const MAP_CREATE: libc::c_int = 0;
pub(super) const MAP_LOOKUP: libc::c_int = 1;
pub(super) const MAP_UPDATE: libc::c_int = 2;
pub(super) const MAP_DELETE: libc::c_int = 3;
pub(super) const MAP_NEXT_KEY: libc::c_int = 4;
pub(super) const PROGRAM_LOAD: libc::c_int = 5;
pub(super) const TEST_RUN: libc::c_int = 10;
pub(super) const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
pub(super) const LINK_CREATE: libc::c_int = 28;

const REMEDY: &str = "needs CAP_BPF and CAP_NET_ADMIN (for tracepoints CAP_PERFMON) outside of any user namespace, \
     and a kernel with CONFIG_BPF_SYSCALL: run as root";

/// Execute a command. `attributes` is the command's part of `union bpf_attr`; the kernel treats the rest as zero.
pub(super) fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are plain data, valid for reads and writes of the size passed; the caller keeps alive what
    // they point to.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, (&raw mut *attributes).cast::<libc::c_void>(), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// Execute a command that returns a descriptor.
pub(super) fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: the kernel just opened `fd` and it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Convert an error of the bpf system call, with the attempted action and a fix.
pub(super) fn bpf_error(port: &str, action: &'static str, source: io::Error) -> PortError {
    let remedy = match source.raw_os_error() {
        Some(libc::ENOMEM) => "raise the limit of locked memory (`ulimit -l`, RLIMIT_MEMLOCK) or free memory",
        Some(libc::EBUSY | libc::EEXIST) => {
            "another XDP program is attached: `ip link show` displays it, `ip link set dev ... xdp off` removes it"
        }
        Some(libc::EOPNOTSUPP) => "the interface's driver does not support it: use generic mode or another back end",
        _ => REMEDY,
    };
    PortError::System { port: port.to_owned(), action, source, remedy }
}
