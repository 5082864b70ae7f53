//! The sending half of a port.

use std::sync::Arc;

use super::MAX_BATCH;
use super::socket::{SendRings, XdpSocket};
use crate::{Fill, PortError, Slot, Transmit};

/// Number of chunks of the sender.
pub(super) const SLOTS: u32 = 2048;
/// System calls without progress after which the kernel counts as full.
const MAX_IDLE_CALLS: u32 = 4;
/// An invalid address: `xskq_cons_read_desc` skips such a descriptor.
const INVALID_ADDRESS: u64 = u64::MAX;

/// The sending half of a port.
#[derive(Debug)]
pub struct XdpTx {
    socket: Arc<XdpSocket>,
    rings: SendRings,
    zero_copy: bool,
    /// Chunks owned by the sender, most recently used last because it is in the cache.
    free: Vec<u32>,
    tags: Vec<u32>,
    /// Range of start offsets: frames begin at different offsets of their chunks if space allows, because equal offsets
    /// would share few cache lines.
    stagger_bytes: usize,
    frame_len_max: usize,
    /// Consumer position last read, i.e. the descriptors that the kernel has consumed.
    consumed: u32,
    /// Upper bound of withdrawn descriptors that the kernel still has to skip; a system call skips at least one.
    withdrawn: u32,
}

impl XdpTx {
    pub(super) fn new(socket: Arc<XdpSocket>, zero_copy: bool) -> Result<Self, PortError> {
        let rings = socket.take_send_rings().ok_or_else(|| PortError::Request {
            port: socket.interface.clone(),
            message: "the sending half is already in use; open the port once".to_owned(),
        })?;
        Ok(Self {
            free: (0..rings.slots).rev().collect(),
            tags: vec![u32::MAX; rings.slots as usize],
            socket,
            rings,
            zero_copy,
            stagger_bytes: 0,
            frame_len_max: 0,
            consumed: 0,
            withdrawn: 0,
        })
    }

    fn chunk_bytes(&self) -> usize {
        self.socket.umem.chunk_bytes
    }

    /// Lay out the chunks for longer frames than before.
    fn lay_out_chunks(&mut self, frame_len_max: usize) -> Result<(), PortError> {
        let chunk_bytes = self.chunk_bytes();
        if frame_len_max > chunk_bytes {
            return Err(PortError::Request {
                port: self.socket.interface.clone(),
                message: format!(
                    "frame of {frame_len_max} bytes is too large for af_xdp (at most {chunk_bytes}); use af_packet"
                ),
            });
        }
        self.frame_len_max = frame_len_max;
        self.stagger_bytes = (chunk_bytes - frame_len_max).min(1024) / 64 * 64;
        self.tags.fill(u32::MAX);
        Ok(())
    }

    /// Return the offset of a chunk's frame.
    #[inline]
    fn address(&self, chunk: u32) -> usize {
        let begin = chunk as usize * self.chunk_bytes();
        if self.stagger_bytes == 0 { begin } else { begin + chunk as usize * 64 % self.stagger_bytes }
    }

    /// Take back chunks that the kernel has completed.
    #[inline]
    fn reclaim(&mut self) {
        let count = self.rings.completed.available(self.rings.slots);
        for ahead in 0..count {
            let address = self.rings.completed.read(ahead);
            // Some kernels also complete the descriptors that they skip.
            if address != INVALID_ADDRESS {
                self.free.push((address / self.chunk_bytes() as u64) as u32);
            }
        }
        if count > 0 {
            self.rings.completed.release(count);
        }
    }

    /// Make the kernel send the last `count` descriptors; return how many frames were sent, always the first ones.
    ///
    /// In copy mode, `xsk_generic_xmit` (net/xdp/xsk.c) consumes descriptors within `sendto` and returns
    /// - EAGAIN after its batch limit, if the completion ring or the socket's send buffer is full, or if the driver's queue
    ///   is busy (NETDEV_TX_BUSY, the descriptor stays in the ring): call again;
    /// - EBUSY if the driver dropped the frame (NET_XMIT_DROP): the descriptor is consumed and completed, the frame is lost.
    ///   The kernel publishes its consumer position only if a frame before it in this call was sent.
    fn submit(&mut self, count: u32) -> Result<u32, PortError> {
        let end = self.rings.descriptors.position();
        let begin = end.wrapping_sub(count);
        if self.zero_copy {
            if self.rings.descriptors.needs_wakeup() {
                let _ = self.socket.kick_sending();
            }
            return Ok(count);
        }
        let mut idle_calls = 0;
        while idle_calls < MAX_IDLE_CALLS + self.withdrawn {
            let before = self.consumed;
            let result = self.socket.kick_sending();
            let position = self.rings.descriptors.consumed();
            if position.wrapping_sub(before) as i32 > 0 {
                self.consumed = position;
                (idle_calls, self.withdrawn) = (0, 0);
            } else {
                idle_calls += 1;
            }
            match result.as_ref().err().and_then(std::io::Error::raw_os_error) {
                None | Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {}
                // The driver dropped a frame; if the position is unchanged, the frame was the first one.
                Some(libc::EBUSY) => {
                    if self.consumed == before {
                        self.consumed = before.wrapping_add(1);
                    }
                    return Ok(self.consumed.wrapping_sub(begin).saturating_sub(1));
                }
                Some(_) => {
                    let error = result.err().unwrap_or_else(std::io::Error::last_os_error);
                    return Err(self.socket.failed("send", error));
                }
            }
            if self.consumed == end {
                break;
            }
        }
        Ok(self.consumed.wrapping_sub(begin))
    }

    /// Invalidate descriptors that the kernel has not processed, so that it skips them: in copy mode, it reads the ring
    /// only within this thread's system calls.
    fn withdraw(&mut self) {
        let stale = self.rings.descriptors.position().wrapping_sub(self.consumed);
        for back in 1..=stale {
            let ahead = 0u32.wrapping_sub(back);
            let descriptor = self.rings.descriptors.read(ahead);
            if descriptor.addr != INVALID_ADDRESS {
                self.free.push((descriptor.addr / self.chunk_bytes() as u64) as u32);
                self.rings.descriptors.write(ahead, libc::xdp_desc { addr: INVALID_ADDRESS, ..descriptor });
            }
        }
        self.consumed = self.rings.descriptors.position();
        self.withdrawn = self.rings.slots.min(self.withdrawn + stale);
    }
}

impl Transmit for XdpTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        if frame_len_max > self.frame_len_max {
            self.lay_out_chunks(frame_len_max)?;
        }
        self.reclaim();
        let free_entries = self.rings.descriptors.free_entries((count as u32).min(MAX_BATCH));
        let count = free_entries.min(self.free.len() as u32);
        for position in 0..count {
            let Some(chunk) = self.free.pop() else { break };
            let address = self.address(chunk);
            // SAFETY: the chunk belongs to the sender until its descriptor is published, and the frame fits it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(self.socket.umem.pointer_to(address), frame_len_max) };
            let tag = &mut self.tags[chunk as usize];
            let len = fill.fill(position as usize, Slot { bytes, tag }).min(frame_len_max) as u32;
            self.rings.descriptors.write(position, libc::xdp_desc { addr: address as u64, len, options: 0 });
        }
        if count == 0 {
            // The kernel may be waiting for the completion entries released above, or still has to skip withdrawn
            // descriptors.
            return self.submit(0).map(|_| 0);
        }
        self.rings.descriptors.publish(count);
        let sent = self.submit(count)?;
        if sent < count && !self.zero_copy {
            self.withdraw();
        }
        Ok(sent as usize)
    }

    fn batch_max(&self) -> u64 {
        u64::from(MAX_BATCH)
    }
}
