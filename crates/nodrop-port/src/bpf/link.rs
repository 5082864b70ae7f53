//! Attachment of programs to interfaces and tracepoints.

use std::os::fd::{AsRawFd, OwnedFd};

use super::Program;
use super::syscall::{self, bpf_error};
use crate::PortError;

/// Execution mode of an XDP program (linux/if_link.h, `XDP_FLAGS_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum XdpMode {
    /// On any interface, after the kernel has built a socket buffer.
    Generic = 1 << 1,
    /// In the driver, before a socket buffer is built.
    Native = 1 << 2,
}

/// An attachment; ends when dropped or when the process exits.
#[derive(Debug)]
pub struct Link {
    _fd: OwnedFd,
}

/// linux/bpf.h, `BPF_XDP` of `enum bpf_attach_type`.
const ATTACH_XDP: u32 = 37;

#[repr(C)]
struct LinkAttributes {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
    unused: [u64; 4],
}

#[repr(C)]
struct RawTracepointAttributes {
    name: u64,
    program: u32,
    unused: u32,
    cookie: u64,
}

impl Program {
    /// Run this XDP program for every frame that arrives at the interface.
    ///
    /// # Errors
    /// If the driver does not support it, another program is attached, or a capability is missing.
    pub fn attach_xdp(&self, interface: &str, mode: XdpMode) -> Result<Link, PortError> {
        let mut attributes = LinkAttributes {
            program: self.descriptor().as_raw_fd() as u32,
            target: crate::interface_index(interface)? as u32,
            attach_type: ATTACH_XDP,
            flags: mode as u32,
            unused: [0; 4],
        };
        match syscall::open(syscall::LINK_CREATE, &mut attributes) {
            Ok(fd) => Ok(Link { _fd: fd }),
            Err(error) => Err(bpf_error(interface, "attach an XDP program", error)),
        }
    }

    /// Run this program at each hit of a raw tracepoint, e.g. `kfree_skb`.
    ///
    /// # Errors
    /// If the tracepoint does not exist, or a capability is missing.
    pub fn attach_raw_tracepoint(&self, name: &str) -> Result<Link, PortError> {
        let text = std::ffi::CString::new(name).map_err(|_| PortError::Request {
            port: name.to_owned(),
            message: "invalid tracepoint name; see the list in /sys/kernel/tracing/available_events".to_owned(),
        })?;
        let program = self.descriptor().as_raw_fd() as u32;
        let mut attributes = RawTracepointAttributes { name: text.as_ptr() as u64, program, unused: 0, cookie: 0 };
        match syscall::open(syscall::RAW_TRACEPOINT_OPEN, &mut attributes) {
            Ok(fd) => Ok(Link { _fd: fd }),
            Err(error) => Err(bpf_error(name, "attach a program to the tracepoint", error)),
        }
    }
}
