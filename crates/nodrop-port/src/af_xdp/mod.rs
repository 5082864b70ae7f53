//! AF_XDP sockets (Documentation/networking/af_xdp.rst): frames through rings in shared memory.
//!
//! One socket per receive queue; the first one also sends. A custom XDP program, assembled at run time, redirects test
//! frames to the sockets and passes all other frames to the kernel. It timestamps each frame on arrival, so late reads
//! cost no accuracy.

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
use socket::{RingSizes, XdpSocket};

/// Maximum number of frames that a call sends.
const MAX_BATCH: u32 = 64;

/// Selection of the frames to receive.
#[derive(Clone, Debug)]
pub enum FrameSelection {
    /// Frames with this 32-bit word, in network order, at one of these offsets; only the start of each.
    Marked {
        /// Word.
        magic: u32,
        /// Offsets from the start of the frame.
        offsets: Vec<usize>,
    },
    /// All frames, complete, up to this length in bytes.
    All(usize),
}

/// Copy mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyMode {
    /// Zero-copy if the driver supports it.
    #[default]
    Auto,
    /// Always copy.
    Copy,
    /// Require zero-copy.
    ZeroCopy,
}

/// How to open an interface.
#[derive(Clone, Debug)]
pub struct Options {
    /// Received frames that each queue can hold; rounded up to a power of two.
    pub queue_slots: u32,
    /// Number of receive queues, starting at queue 0.
    pub queues: u32,
    /// Copy mode.
    pub copying: CopyMode,
    /// Frames to receive.
    pub selection: FrameSelection,
    /// Page size of the frame memory.
    pub pages: Pages,
}

/// Mode that the interface supports.
#[derive(Clone, Debug)]
pub struct OpenMode {
    /// Reason why the receive program runs in generic mode; None if it runs in the driver.
    pub generic: Option<String>,
    /// Whether frames are transferred without copying.
    pub zero_copy: bool,
}

impl std::fmt::Display for OpenMode {
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
/// If the interface does not exist, another XDP program is attached, or a capability is missing.
pub fn open(interface: &str, options: &Options) -> Result<(XdpTx, XdpRx, OpenMode), PortError> {
    let (sockets, zero_copy) = open_sockets(interface, options, tx::SLOTS)?;
    let tx = XdpTx::new(Arc::clone(&sockets[0]), zero_copy)?;
    let (rx, generic) = XdpRx::start(interface, sockets, &options.selection)?;
    Ok((tx, rx, OpenMode { generic, zero_copy }))
}

/// Open the receiving half alone.
///
/// # Errors
/// Same as [`open`].
pub fn open_receiver(interface: &str, options: &Options) -> Result<(XdpRx, OpenMode), PortError> {
    let (sockets, zero_copy) = open_sockets(interface, options, 0)?;
    let (rx, generic) = XdpRx::start(interface, sockets, &options.selection)?;
    Ok((rx, OpenMode { generic, zero_copy }))
}

/// Open sockets for all queues; also return whether they are zero-copy.
fn open_sockets(interface: &str, options: &Options, tx_slots: u32) -> Result<(Vec<Arc<XdpSocket>>, bool), PortError> {
    let frame_bytes = match options.selection {
        FrameSelection::Marked { .. } => SNAP_BYTES,
        FrameSelection::All(bytes) => bytes,
    };
    let rx_slots = options.queue_slots.next_power_of_two();
    let open_all = |flags: u16| {
        let sizes = |queue| RingSizes { rx: rx_slots, tx: if queue == 0 { tx_slots } else { 0 } };
        let open =
            |queue| XdpSocket::open(interface, queue, sizes(queue), frame_bytes, options.pages, flags).map(Arc::new);
        (0..options.queues.max(1)).map(open).collect::<Result<Vec<_>, _>>()
    };
    match options.copying {
        CopyMode::Copy => open_all(libc::XDP_COPY).map(|sockets| (sockets, false)),
        CopyMode::ZeroCopy => open_all(libc::XDP_ZEROCOPY).map(|sockets| (sockets, true)),
        CopyMode::Auto => match open_all(libc::XDP_ZEROCOPY) {
            Ok(sockets) => Ok((sockets, true)),
            Err(_) => open_all(libc::XDP_COPY).map(|sockets| (sockets, false)),
        },
    }
}
