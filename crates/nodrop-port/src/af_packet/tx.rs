//! Sending: a fixed set of buffers, handed to the driver with one `sendmmsg` a batch.

use std::io;

use super::socket::PacketSocket;
use crate::{PortError, Slot, Transmit};

/// Most frames one call sends.
pub const MAX_BATCH: usize = 64;

const MAX_FRAME_BYTES: usize = 9216;

/// The sending half of a port.
pub struct PacketTx {
    socket: PacketSocket,
    buffers: Vec<[u8; MAX_FRAME_BYTES]>,
    tags: [u32; MAX_BATCH],
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
        Ok(Self { socket, buffers: vec![[0; MAX_FRAME_BYTES]; MAX_BATCH], tags: [u32::MAX; MAX_BATCH] })
    }

    /// The interface's own MAC address.
    ///
    /// # Errors
    /// When the interface is gone.
    pub fn hardware_address(&self) -> Result<[u8; 6], PortError> {
        self.socket.hardware_address()
    }

    /// Send the given buffers as they are; gives how many left.
    ///
    /// # Errors
    /// As [`Transmit::transmit`].
    pub fn send_raw<'a>(&mut self, frames: impl Iterator<Item = &'a mut [u8]>) -> Result<usize, PortError> {
        send(&self.socket, frames.take(MAX_BATCH).map(|frame| (frame.as_mut_ptr(), frame.len())))
    }
}

impl Transmit for PacketTx {
    #[inline]
    fn transmit(
        &mut self,
        count: usize,
        frame_len: usize,
        mut fill: impl FnMut(usize, Slot<'_>),
    ) -> Result<usize, PortError> {
        if frame_len > MAX_FRAME_BYTES {
            return Err(PortError::Request {
                port: self.socket.interface.clone(),
                message: format!("a frame of {frame_len} bytes, the largest is {MAX_FRAME_BYTES}"),
            });
        }
        let frames =
            self.buffers.iter_mut().zip(&mut self.tags).take(count).enumerate().map(|(position, (buffer, tag))| {
                let bytes = &mut buffer[..frame_len];
                fill(position, Slot { bytes, tag });
                (bytes.as_mut_ptr(), frame_len)
            });
        send(&self.socket, frames)
    }
}

/// One `sendmmsg`. Every pointer must be valid for its length until this returns, which its callers' borrows ensure.
#[inline]
fn send(socket: &PacketSocket, frames: impl Iterator<Item = (*mut u8, usize)>) -> Result<usize, PortError> {
    // SAFETY: iovec and mmsghdr are plain data for which all zeros is valid.
    let mut vectors: [libc::iovec; MAX_BATCH] = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut messages: [libc::mmsghdr; MAX_BATCH] = unsafe { std::mem::zeroed() };
    let mut count = 0;
    for ((base, len), (vector, message)) in frames.zip(vectors.iter_mut().zip(&mut messages)) {
        *vector = libc::iovec { iov_base: base.cast(), iov_len: len };
        message.msg_hdr.msg_iov = &raw mut *vector;
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    if count == 0 {
        return Ok(0);
    }
    // SAFETY: the first `count` messages point at vectors that point at live frame bytes.
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
