//! Sending: a fixed set of buffers, passed to the driver with one `sendmmsg` per batch.

use std::io;

use super::socket::PacketSocket;
use crate::{Fill, PortError, Slot, Transmit};

/// Maximum number of frames per call.
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
    /// If the interface does not exist or the kernel denies raw access.
    pub fn open(interface: &str) -> Result<Self, PortError> {
        let socket = PacketSocket::open(interface)?;
        let on: libc::c_int = 1;
        socket.set(
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &on,
            "bypass the queueing discipline",
            "needs Linux 3.14 or later",
        )?;
        socket.bind(0)?;
        Ok(Self { socket, batch: Batch::new(0) })
    }

    /// Return the interface's MAC address.
    ///
    /// # Errors
    /// If the interface no longer exists.
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
                message: format!("frame of {frame_len_max} bytes is too large; use at most {MAX_FRAME_BYTES} bytes"),
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

/// Frame buffers and the message headers that point to them; allocated once and reused for every batch.
struct Batch {
    stride: usize,
    frames: Box<[u8]>,
    tags: [u32; MAX_BATCH],
    messages: Box<[libc::mmsghdr; MAX_BATCH]>,
    vectors: Box<[libc::iovec; MAX_BATCH]>,
}

// SAFETY: the pointers in `messages` refer to `vectors`, and these to `frames`: boxes that move with this value while
// their contents stay in place.
unsafe impl Send for Batch {}

impl Batch {
    /// Allocate buffers for frames of up to `frame_len` bytes, in whole cache lines so that frames do not share one.
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

/// Call `sendmmsg` once; every message must point to frame bytes that live until this returns.
#[inline]
fn send(socket: &PacketSocket, messages: &mut [libc::mmsghdr]) -> Result<usize, PortError> {
    if messages.is_empty() {
        return Ok(0);
    }
    let count = messages.len() as libc::c_uint;
    // SAFETY: the messages point to vectors that point to live frame bytes, as the caller guarantees.
    let sent = unsafe { libc::sendmmsg(socket.raw(), messages.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    if sent >= 0 {
        return Ok(sent as usize);
    }
    match io::Error::last_os_error().raw_os_error() {
        // EAGAIN: `packet_snd` could not allocate within SO_SNDBUF (`sock_alloc_send_pskb`). ENOBUFS: the driver's
        // queue is stopped or busy, and `packet_direct_xmit` dropped the frame (`net_xmit_errno`). EINTR: a signal. In
        // all cases no frame of this batch was sent, because `sendmmsg` reports an error only for the first message.
        Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(0),
        _ => Err(socket.failed("send", "the interface must be up and its MTU must fit the frame")),
    }
}
