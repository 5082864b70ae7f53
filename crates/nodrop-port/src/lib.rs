//! Access to the host: ports, clocks, cores, namespaces. The only crate with `unsafe`.
//!
//! A port has two halves, [`Transmit`] and [`Receive`], so that they can live on different threads. All back ends pass
//! the contract test in `tests/contract.rs`, except [`relay`], whose frames wait at the peer.

pub mod af_packet;
pub mod af_xdp;
pub mod backend;
pub mod bpf;
pub mod clock;
pub mod cpu_speed;
pub mod cpuid;
pub mod dpdk;
pub mod fault;
pub mod host;
pub mod loopback;
pub mod memory;
pub mod observe;
pub mod pcap;
pub mod process;
pub mod relay;
pub mod sched;
pub mod self_paced;
pub mod split_port;
pub mod thread;
pub mod timetable;
pub mod wait;
pub mod xdp_live;

use std::ffi::CString;
use std::os::fd::BorrowedFd;

/// A buffer that the back end will send.
#[derive(Debug)]
pub struct Slot<'a> {
    /// Buffer for the longest frame of the call, without FCS; initially holds what the slot last sent.
    pub bytes: &'a mut [u8],
    /// Value that the caller last stored here, `u32::MAX` at first: lets it skip copying a template that is already in
    /// the buffer.
    pub tag: &'a mut u32,
}

/// Writes frames to send. A closure works. Use a named type with `#[inline(always)]` where inlining into the back end's
/// loop matters; large closures are not inlined reliably.
pub trait Fill {
    /// Write the frame at this position of the call; return its length.
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize;
}

impl<F: FnMut(usize, Slot<'_>) -> usize> Fill for F {
    #[inline]
    fn fill(&mut self, position: usize, slot: Slot<'_>) -> usize {
        self(position, slot)
    }
}

/// A received frame.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedFrame<'a> {
    /// Start of the frame, at least [`SNAP_BYTES`] if it is that long; without FCS.
    pub bytes: &'a [u8],
    /// Wall-clock time of arrival, in nanoseconds since the epoch, taken as early as the back end can.
    pub time_ns: u64,
}

/// Properties of a received frame on the wire, where the host truncated or changed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireInfo {
    /// Length, without FCS.
    pub frame_len: usize,
    /// VLAN tag with its type, if the kernel removed it from between addresses and type.
    pub vlan_tag: Option<[u8; VLAN_TAG_BYTES]>,
}

/// Length of a VLAN tag.
pub const VLAN_TAG_BYTES: usize = 4;

/// Bytes of every frame that a receiver is guaranteed to see.
pub const SNAP_BYTES: usize = 128;

/// The sending half of a port.
pub trait Transmit: Send {
    /// Send up to `count` frames of at most `frame_len_max` bytes (without FCS); `fill` is called at most once per
    /// frame, in order, with its position in this call, and returns the frame's length. Return how many frames were
    /// sent, always the first ones; the others were not sent.
    ///
    /// # Errors
    /// If the port cannot send any more: it was removed or is down.
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError>;

    /// Preferred number of frames per call if many are due: larger batches delay other work of the thread, smaller ones
    /// cost more per frame.
    fn batch_max(&self) -> u64 {
        32
    }

    /// The egress port for [`self_paced::send`], if this port can send a timetable by itself. Single frames still use
    /// [`Transmit::transmit`].
    fn egress_port(&self) -> Option<timetable::EgressPort> {
        None
    }
}

/// The receiving half of a port.
pub trait Receive: Send {
    /// Pass up to `budget` waiting frames to `sink`, oldest first, without blocking. Return their number.
    ///
    /// # Errors
    /// If the port cannot receive any more.
    fn receive(&mut self, budget: usize, sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError>;

    /// Same as [`Receive::receive`], with the properties of each frame on the wire.
    ///
    /// # Errors
    /// Same as [`Receive::receive`].
    fn receive_with_wire_info(
        &mut self,
        budget: usize,
        mut sink: impl FnMut(ReceivedFrame<'_>, WireInfo),
    ) -> Result<usize, PortError> {
        self.receive(budget, |frame| sink(frame, WireInfo { frame_len: frame.bytes.len(), vlan_tag: None }))
    }

    /// Return the frames that reached this port and that its own receive path dropped since the last call.
    ///
    /// # Errors
    /// If the host does not report the counter.
    fn take_drop_count(&mut self) -> Result<u64, PortError>;

    /// Size of the receive queue, in frames.
    fn queue_slots(&self) -> u32;

    /// Whether frames are timestamped on arrival instead of when read: late reads then cost no accuracy.
    fn stamps_on_arrival(&self) -> bool {
        true
    }

    /// A descriptor that becomes readable when a frame waits, for callers that sleep; None if the back end has none.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Errors of ports and host access.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// A system call failed.
    #[error("{port}: {action}: {source}; {remedy}")]
    System {
        /// Port or resource.
        port: String,
        /// Attempted action.
        action: &'static str,
        /// Error of the system call.
        source: std::io::Error,
        /// Suggested fix.
        remedy: &'static str,
    },
    /// A request that no port can fulfill.
    #[error("{port}: {message}")]
    Request {
        /// Port or resource.
        port: String,
        /// Problem and fix.
        message: String,
    },
}

impl PortError {
    /// Wrap the last system call's error, with the attempted action and a fix.
    pub(crate) fn last_os(port: &str, action: &'static str, remedy: &'static str) -> Self {
        Self::System { port: port.to_owned(), action, source: std::io::Error::last_os_error(), remedy }
    }
}

/// Return the kernel's index of an interface of this network namespace.
///
/// # Errors
/// If the interface does not exist.
pub fn interface_index(interface: &str) -> Result<libc::c_int, PortError> {
    let missing = || PortError::Request {
        port: interface.to_owned(),
        message: "does not exist in this network namespace; run `ip link` to list interfaces".to_owned(),
    };
    let name = CString::new(interface).map_err(|_| missing())?;
    // SAFETY: `name` is a NUL-terminated string that outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(missing()),
        index => Ok(index as libc::c_int),
    }
}
