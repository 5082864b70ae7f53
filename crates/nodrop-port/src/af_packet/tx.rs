//! Sending: a fixed set of buffers, handed to the driver with one `sendmmsg` a batch.

use std::io;

use super::socket::PacketSocket;
use crate::{Fill, PortError, Slot, Transmit};

/// Most frames one call sends.
pub const MAX_BATCH: usize = 64;

const MAX_FRAME_BYTES: usize = 9216;

/// The sending half of a port.
pub struct PacketTx {
    socket: PacketSocket,
    batch: Batch,
}

impl std::fmt::Debug for PacketTx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacketTx").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl PacketTx {
    /// Open `interface` for sending.
    ///
    /// # Errors
    /// When the interface does not exist or the kernel refuses raw access.
    pub fn open(interface: &str) -> Result<Self, PortError> {
        let socket = PacketSocket::open(interface)?;
        let on: libc::c_int = 1;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &on,
            "send past the queueing discipline",
            "needs Linux 3.14 or later",
        )?;
        socket.bind(0)?;
        Ok(Self { socket, batch: Batch::new(0) })
    }

    /// The interface's own MAC address.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn hardware_address(&self) -> Result<[u8; 6], PortError> {
        self.socket.hardware_address()
    }
}

impl Transmit for PacketTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        if frame_len_max > MAX_FRAME_BYTES {
            return Err(PortError::Request {
                port: self.socket.interface.clone(),
                message: format!("a frame of {frame_len_max} bytes, the largest is {MAX_FRAME_BYTES}"),
            });
        }
        if self.batch.stride < frame_len_max {
            self.batch = Batch::new(frame_len_max);
        }
        let count = count.min(MAX_BATCH);
        let Batch { stride, frames, tags, messages, vectors } = &mut self.batch;
        let slots = frames.chunks_exact_mut(*stride).zip(tags.iter_mut()).zip(vectors.iter_mut()).take(count);
        for (position, ((buffer, tag), vector)) in slots.enumerate() {
            vector.iov_len = fill.fill(position, Slot { bytes: &mut buffer[..frame_len_max], tag }).min(frame_len_max);
        }
        send(&self.socket, &mut messages[..count])
    }
}

/// Buffers for frames, with the message headers that point at them: made once, used for every batch.
struct Batch {
    stride: usize,
    frames: Box<[u8]>,
    tags: [u32; MAX_BATCH],
    messages: Box<[libc::mmsghdr; MAX_BATCH]>,
    vectors: Box<[libc::iovec; MAX_BATCH]>,
}

// SAFETY: the pointers in `messages` lead into `vectors` and from there into `frames`, boxes that move with this value
// without moving themselves.
unsafe impl Send for Batch {}

impl Batch {
    /// Room for frames of up to `frame_len` bytes: whole cache lines, so that frames do not share one.
    fn new(frame_len: usize) -> Self {
        let stride = frame_len.max(1).next_multiple_of(64);
        let mut frames = vec![0; stride * MAX_BATCH].into_boxed_slice();
        let mut vectors = Box::new([EMPTY_VECTOR; MAX_BATCH]);
        for (frame, vector) in frames.chunks_exact_mut(stride).zip(vectors.iter_mut()) {
            *vector = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: 0 };
        }
        let messages = Box::new(messages_for(&mut vectors));
        Self { stride, frames, tags: [u32::MAX; MAX_BATCH], messages, vectors }
    }
}

const EMPTY_VECTOR: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

fn messages_for(vectors: &mut [libc::iovec; MAX_BATCH]) -> [libc::mmsghdr; MAX_BATCH] {
    // SAFETY: mmsghdr is plain data for which all zeros is valid.
    let mut messages: [libc::mmsghdr; MAX_BATCH] = unsafe { std::mem::zeroed() };
    for (message, vector) in messages.iter_mut().zip(vectors) {
        message.msg_hdr.msg_iov = &raw mut *vector;
        message.msg_hdr.msg_iovlen = 1;
    }
    messages
}

/// One `sendmmsg`; every message must point at frame bytes that live until this returns.
#[inline]
fn send(socket: &PacketSocket, messages: &mut [libc::mmsghdr]) -> Result<usize, PortError> {
    if messages.is_empty() {
        return Ok(0);
    }
    let count = messages.len() as libc::c_uint;
    // SAFETY: the messages point at vectors that point at live frame bytes, as the caller sees to.
    let sent = unsafe { libc::sendmmsg(socket.raw(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    if sent >= 0 {
        return Ok(sent as usize);
    }
    match io::Error::last_os_error().raw_os_error() {
        // Full for now, dropped by the driver, or interrupted: nothing of this batch left.
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(0),
        _ => Err(socket.failed("send", "the interface must be up and its MTU hold the frame")),
    }
}
