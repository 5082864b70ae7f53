//! AF_XDP sockets (Documentation/networking/af_xdp.rst): frames by rings in shared memory.
//!
//! One socket per receive queue; the first one also sends. A receive program of our own, put together at run time, lets
//! test frames into the sockets and the kernel have everything else. It stamps each frame's arrival, so that reading late
//! costs no accuracy.

mod program;
mod ring;
mod rx;
mod socket;
mod tx;
mod umem;

use std::sync::Arc;

pub use rx::XdpRx;
pub use tx::XdpTx;

use crate::memory::Pages;
use crate::{PortError, SNAP_BYTES};
use socket::{Depth, XdpSocket};

/// Which frames to receive, and how much of each.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Those with this 32-bit word, in network order, at one of these places; only the start of each.
    Marked {
        /// The word.
        magic: u32,
        /// Bytes from the start of the frame.
        offsets: Vec<usize>,
    },
    /// Every frame, whole, of up to so many bytes.
    All(usize),
}

/// Whether frames are handed over without being copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Copying {
    /// Without where the driver can.
    #[default]
    Auto,
    /// Never without.
    Copy,
    /// Only without.
    ZeroCopy,
}

/// How to open an interface.
#[derive(Clone, Debug)]
pub struct Options {
    /// Received frames each queue can hold; becomes a power of two.
    pub queue_slots: u32,
    /// Receive queues to listen to, from 0.
    pub queues: u32,
    /// Copy or not.
    pub copying: Copying,
    /// What to receive.
    pub wanted: Wanted,
    /// In which pages frames lie.
    pub pages: Pages,
}

/// What was found to work.
#[derive(Clone, Debug)]
pub struct Found {
    /// Why the receive program runs in generic mode; None when it runs in the driver.
    pub generic: Option<String>,
    /// Frames are not copied.
    pub zero_copy: bool,
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let copying = if self.zero_copy { "zero-copy" } else { "frames are copied" };
        match &self.generic {
            None => write!(f, "XDP in the driver, {copying}"),
            Some(why) => write!(f, "generic XDP, {copying}; in the driver: {why}"),
        }
    }
}

/// Open both halves of an interface.
///
/// # Errors
/// When there is no such interface, another XDP program is there, or a capability is missing.
pub fn open(interface: &str, options: &Options) -> Result<(XdpTx, XdpRx, Found), PortError> {
    let (sockets, zero_copy) = open_sockets(interface, options, tx::SLOTS)?;
    let tx = XdpTx::new(Arc::clone(&sockets[0]), zero_copy)?;
    let (rx, generic) = XdpRx::start(interface, sockets, &options.wanted)?;
    Ok((tx, rx, Found { generic, zero_copy }))
}

/// Open the receiving half alone.
///
/// # Errors
/// As [`open`].
pub fn open_receiver(interface: &str, options: &Options) -> Result<(XdpRx, Found), PortError> {
    let (sockets, zero_copy) = open_sockets(interface, options, 0)?;
    let (rx, generic) = XdpRx::start(interface, sockets, &options.wanted)?;
    Ok((rx, Found { generic, zero_copy }))
}

/// Sockets for all queues, zero-copy or not.
fn open_sockets(interface: &str, options: &Options, tx_slots: u32) -> Result<(Vec<Arc<XdpSocket>>, bool), PortError> {
    let whole_bytes = match options.wanted {
        Wanted::Marked { .. } => SNAP_BYTES,
        Wanted::All(bytes) => bytes,
    };
    let rx_slots = options.queue_slots.next_power_of_two();
    let all = |flags: u16| {
        let depth = |queue| Depth { rx: rx_slots, tx: if queue == 0 { tx_slots } else { 0 } };
        let open =
            |queue| XdpSocket::open(interface, queue, depth(queue), whole_bytes, options.pages, flags).map(Arc::new);
        (0..options.queues.max(1)).map(open).collect::<Result<Vec<_>, _>>()
    };
    match options.copying {
        Copying::Copy => all(libc::XDP_COPY).map(|sockets| (sockets, false)),
        Copying::ZeroCopy => all(libc::XDP_ZEROCOPY).map(|sockets| (sockets, true)),
        Copying::Auto => match all(libc::XDP_ZEROCOPY) {
            Ok(sockets) => Ok((sockets, true)),
            Err(_) => all(libc::XDP_COPY).map(|sockets| (sockets, false)),
        },
    }
}
