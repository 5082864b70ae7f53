//! bpf(2): one number for the command, one structure for its arguments.

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

/// Carry out a command. `attributes` is the part of `union bpf_attr` that belongs to it, the rest being zero.
pub(super) fn bpf<T>(command: libc::c_int, attributes: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes are plain data, valid for reads and writes of the size passed along; what they point to is
    // kept alive by the caller.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, (&raw mut *attributes).cast::<libc::c_void>(), size_of::<T>()) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as libc::c_int) }
}

/// Carry out a command that gives a descriptor.
pub(super) fn open<T>(command: libc::c_int, attributes: &mut T) -> io::Result<OwnedFd> {
    let fd = bpf(command, attributes)?;
    // SAFETY: the kernel just opened `fd` for us and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// A refusal, with what was asked.
pub(super) fn refused(port: &str, asked: &'static str, source: io::Error) -> PortError {
    let remedy = match source.raw_os_error() {
        Some(libc::ENOMEM) => "raise the limit of locked memory (`ulimit -l`, RLIMIT_MEMLOCK) or free memory",
        Some(libc::EBUSY | libc::EEXIST) => {
            "another XDP program is there: `ip link show` names it, `ip link set dev ... xdp off` removes it"
        }
        Some(libc::EOPNOTSUPP) => "the interface's driver cannot: choose generic mode or another back end",
        _ => REMEDY,
    };
    PortError::System { port: port.to_owned(), asked, source, remedy }
}
