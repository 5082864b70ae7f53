//! What touches the host: ports, clocks, cores, namespaces. The only crate with `unsafe`.
//!
//! A port is two halves, so that sending and receiving can live on different threads: [`Transmit`] and [`Receive`].
//! All back ends pass the contract test in `tests/contract.rs`, but for [`relay`], whose frames wait at its other end.

pub mod af_packet;
pub mod af_xdp;
pub mod any;
pub mod bpf;
pub mod clock;
pub mod cpuid;
pub mod dpdk;
pub mod fault;
pub mod host;
pub mod loopback;
pub mod memory;
pub mod observe;
pub mod paced;
pub mod pcap;
pub mod process;
pub mod relay;
pub mod shared;
pub mod thread;
pub mod wait;
pub mod xdp_live;

use std::ffi::CString;
use std::os::fd::BorrowedFd;

/// A buffer the back end will send: fill its bytes.
#[derive(Debug)]
pub struct Slot<'a> {
    /// Room for the longest frame of the call, without FCS; holds whatever the slot last sent.
    pub bytes: &'a mut [u8],
    /// What the caller last left here, `u32::MAX` at first: lets it skip copying a template that is already there.
    pub tag: &'a mut u32,
}

/// Writes frames to be sent. A closure will do; a type of its own can have itself compiled into every back end's loop, which
/// makes a closure of some size no matter of course.
pub trait Fill {
    /// Write the frame at this position of the call; gives its length.
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize;
}

impl<F: FnMut(usize, Slot<'_>) -> usize> Fill for F {
    #[inline]
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize {
        self(position, slot)
    }
}

/// A frame as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The first bytes of the frame, at least [`SNAP_BYTES`] of them where it is that long; without FCS.
    pub bytes: &'a [u8],
    /// Wall-clock time of arrival, in nanoseconds since the epoch, taken as early as the back end can.
    pub time_ns: u64,
}

/// A received frame as it was on the wire, where the host has cut or changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its length, without FCS.
    pub frame_len: usize,
    /// The VLAN tag, with its type, that stood between addresses and type and was taken out.
    pub vlan_tag: Option<[u8; VLAN_TAG_BYTES]>,
}

/// Length of a VLAN tag.
pub const VLAN_TAG_BYTES: usize = 4;

/// Bytes of every frame that a receiver is sure to see.
pub const SNAP_BYTES: usize = 128;

/// The sending half of a port.
pub trait Transmit: Send {
    /// Send up to `count` frames of at most `frame_len_max` bytes (without FCS); `fill` is called at most once per frame, in
    /// order, with its position in this call, and gives the frame's length. Gives how many really left, always the first
    /// ones; the others were not sent.
    ///
    /// # Errors
    /// When the port can send no more at all: it is gone or down.
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError>;

    /// Frames to send in one call where many are due: more delays what else the thread does, fewer costs more a frame.
    fn batch_max(&self) -> u64 {
        32
    }

    /// For a port that keeps timetables by itself: what [`paced::send`] needs of it. Single frames still go through
    /// [`Transmit::transmit`].
    fn paced(&self) -> Option<paced::Exit> {
        None
    }
}

/// The receiving half of a port.
pub trait Receive: Send {
    /// Hand up to `budget` waiting frames to `sink`, oldest first, without waiting. Gives how many there were.
    ///
    /// # Errors
    /// When the port can receive no more at all.
    fn receive(&mut self, budget: usize, sink: impl FnMut(Received<'_>)) -> Result<usize, PortError>;

    /// As [`Receive::receive`], for those who want to know what the frame was like on the wire.
    ///
    /// # Errors
    /// Likewise.
    fn receive_original(
        &mut self,
        budget: usize,
        mut sink: impl FnMut(Received<'_>, Original),
    ) -> Result<usize, PortError> {
        self.receive(budget, |frame| sink(frame, Original { frame_len: frame.bytes.len(), vlan_tag: None }))
    }

    /// Frames that reached this port and that its own receive path dropped since the last call.
    ///
    /// # Errors
    /// When the host does not tell.
    fn take_drop_count(&mut self) -> Result<u64, PortError>;

    /// Frames it can hold before it drops.
    fn queue_slots(&self) -> u32;

    /// Frames are stamped when they come, not when they are read: reading late then costs no accuracy.
    fn stamps_on_arrival(&self) -> bool {
        true
    }

    /// What becomes readable when a frame waits, for those who would rather sleep; None where there is no such thing.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// What a host can refuse.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{port}: {asked}: {source}; {remedy}")]
    System {
        /// Port or resource.
        port: String,
        /// What was asked of the kernel.
        asked: &'static str,
        /// What it said.
        source: std::io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The caller asked for something no port can do.
    #[error("{port}: {message}")]
    Request {
        /// Port or resource.
        port: String,
        /// Asked, found, do.
        message: String,
    },
}

impl PortError {
    /// The last system call's error, with what was asked and what to do about it.
    pub(crate) fn last_os(port: &str, asked: &'static str, remedy: &'static str) -> Self {
        Self::System { port: port.to_owned(), asked, source: std::io::Error::last_os_error(), remedy }
    }
}

/// The kernel's number of an interface of this network namespace.
///
/// # Errors
/// When there is none of that name.
pub fn interface_index(interface: &str) -> Result<libc::c_int, PortError> {
    let absent = || PortError::Request {
        port: interface.to_owned(),
        message: "no such interface in this network namespace; see `ip link`".to_owned(),
    };
    let name = CString::new(interface).map_err(|_| absent())?;
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(absent()),
        index => Ok(index as libc::c_int),
    }
}
