//! What holds a program where it was attached, until it is dropped.

use std::os::fd::{AsRawFd, OwnedFd};

use super::Program;
use super::syscall::{self, refused};
use crate::PortError;

/// Where on its way an interface runs an XDP program (linux/if_link.h, `XDP_FLAGS_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum XdpMode {
    /// On any interface, once the kernel has made a socket buffer of the frame.
    Generic = 1 << 1,
    /// In the driver, before that.
    Native = 1 << 2,
}

/// An attachment; ends when dropped, and with the process.
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
    /// When the driver cannot, another program is there, or a capability is missing.
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
            Err(error) => Err(refused(interface, "attach an XDP program", error)),
        }
    }

    /// Run this program whenever the kernel passes a tracepoint, such as `kfree_skb`.
    ///
    /// # Errors
    /// When there is no such tracepoint, or a capability is missing.
    pub fn attach_raw_tracepoint(&self, name: &str) -> Result<Link, PortError> {
        let text = std::ffi::CString::new(name).map_err(|_| PortError::Request {
            port: name.to_owned(),
            message: "no tracepoint has such a name; see /sys/kernel/tracing/available_events".to_owned(),
        })?;
        let program = self.descriptor().as_raw_fd() as u32;
        let mut attributes = RawTracepointAttributes { name: text.as_ptr() as u64, program, unused: 0, cookie: 0 };
        match syscall::open(syscall::RAW_TRACEPOINT_OPEN, &mut attributes) {
            Ok(fd) => Ok(Link { _fd: fd }),
            Err(error) => Err(refused(name, "attach a program to the tracepoint", error)),
        }
    }
}
