//! The sending half of a port.

use std::sync::Arc;

use super::socket::{SendRings, XdpSocket};
use crate::{Fill, PortError, Slot, Transmit};

/// Frames in the sender's hands and the kernel's.
pub(super) const SLOTS: u32 = 2048;
/// Most frames one call sends.
pub(super) const MAX_BATCH: u32 = 64;
/// System calls without effect after which the kernel is taken to be full.
const TRIES: u32 = 4;
/// No frame lies there: the kernel skips such a descriptor.
const NOWHERE: u64 = u64::MAX;

/// The sending half of a port.
#[derive(Debug)]
pub struct XdpTx {
    socket: Arc<XdpSocket>,
    rings: SendRings,
    zero_copy: bool,
    /// Chunks in our hands, the one used last on top: it is in the cache.
    free: Vec<u32>,
    tags: Vec<u32>,
    /// Frames begin at different places of their chunks, as far as there is room: else all would share few cache lines.
    stagger_bytes: usize,
    frame_len_max: usize,
    /// Descriptors the kernel is known to have taken.
    taken: u32,
    /// Descriptors withdrawn that the kernel may still have to skip, one or more a system call.
    withdrawn: u32,
}

impl XdpTx {
    pub(super) fn new(socket: Arc<XdpSocket>, zero_copy: bool) -> Result<Self, PortError> {
        let rings = socket.take_send_rings().ok_or_else(|| PortError::Request {
            port: socket.interface.clone(),
            message: "its sending half is taken already; open it once".to_owned(),
        })?;
        Ok(Self {
            free: (0..rings.slots).rev().collect(),
            tags: vec![u32::MAX; rings.slots as usize],
            socket,
            rings,
            zero_copy,
            stagger_bytes: 0,
            frame_len_max: 0,
            taken: 0,
            withdrawn: 0,
        })
    }

    fn chunk_bytes(&self) -> usize {
        self.socket.umem.chunk_bytes
    }

    /// Make room for longer frames than before.
    fn fit(&mut self, frame_len_max: usize) -> Result<(), PortError> {
        let chunk_bytes = self.chunk_bytes();
        if frame_len_max > chunk_bytes {
            return Err(PortError::Request {
                port: self.socket.interface.clone(),
                message: format!(
                    "a frame of {frame_len_max} bytes; af_xdp sends up to {chunk_bytes}: choose af_packet"
                ),
            });
        }
        self.frame_len_max = frame_len_max;
        self.stagger_bytes = (chunk_bytes - frame_len_max).min(1024) / 64 * 64;
        self.tags.fill(u32::MAX);
        Ok(())
    }

    /// Where the frame of a chunk begins.
    #[inline]
    fn address(&self, chunk: u32) -> usize {
        let begin = chunk as usize * self.chunk_bytes();
        if self.stagger_bytes == 0 { begin } else { begin + chunk as usize * 64 % self.stagger_bytes }
    }

    /// Take back chunks the kernel has done with.
    #[inline]
    fn reclaim(&mut self) {
        let count = self.rings.completed.waiting(self.rings.slots);
        for ahead in 0..count {
            let address = self.rings.completed.read(ahead);
            // Some kernels also give back what they skip.
            if address != NOWHERE {
                self.free.push((address / self.chunk_bytes() as u64) as u32);
            }
        }
        if count > 0 {
            self.rings.completed.release(count);
        }
    }

    /// Have the kernel take the last `count` descriptors; gives how many frames left, always the first ones.
    fn hand_over(&mut self, count: u32) -> Result<u32, PortError> {
        let end = self.rings.descriptors.position();
        let begin = end.wrapping_sub(count);
        if self.zero_copy {
            if self.rings.descriptors.needs_wakeup() {
                let _ = self.socket.kick_sending();
            }
            return Ok(count);
        }
        let mut tries = 0;
        while tries < TRIES + self.withdrawn {
            let before = self.taken;
            let result = self.socket.kick_sending();
            let published = self.rings.descriptors.consumed();
            if published.wrapping_sub(before) as i32 > 0 {
                self.taken = published;
                (tries, self.withdrawn) = (0, 0);
            } else {
                tries += 1;
            }
            match result.as_ref().err().and_then(std::io::Error::raw_os_error) {
                None | Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => {}
                // The driver dropped one, which the kernel tells by its position only if one before it left.
                Some(libc::EBUSY) => {
                    if self.taken == before {
                        self.taken = before.wrapping_add(1);
                    }
                    return Ok(self.taken.wrapping_sub(begin).saturating_sub(1));
                }
                Some(_) => {
                    let error = result.err().unwrap_or_else(std::io::Error::last_os_error);
                    return Err(self.socket.failed("send", error));
                }
            }
            if self.taken == end {
                break;
            }
        }
        Ok(self.taken.wrapping_sub(begin))
    }

    /// Take back descriptors that the kernel has not looked at, and will skip: it reads the ring in our system calls only.
    fn withdraw(&mut self) {
        let stale = self.rings.descriptors.position().wrapping_sub(self.taken);
        for back in 1..=stale {
            let ahead = 0u32.wrapping_sub(back);
            let descriptor = self.rings.descriptors.read(ahead);
            if descriptor.addr != NOWHERE {
                self.free.push((descriptor.addr / self.chunk_bytes() as u64) as u32);
                self.rings.descriptors.write(ahead, libc::xdp_desc { addr: NOWHERE, ..descriptor });
            }
        }
        self.taken = self.rings.descriptors.position();
        self.withdrawn = self.rings.slots.min(self.withdrawn + stale);
    }
}

impl Transmit for XdpTx {
    #[inline]
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        if frame_len_max > self.frame_len_max {
            self.fit(frame_len_max)?;
        }
        self.reclaim();
        let room = self.rings.descriptors.room((count as u32).min(MAX_BATCH));
        let count = room.min(self.free.len() as u32);
        for position in 0..count {
            let Some(chunk) = self.free.pop() else { break };
            let address = self.address(chunk);
            // SAFETY: the chunk is in our hands until its descriptor is handed over, and the frame fits it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(self.socket.umem.at(address), frame_len_max) };
            let tag = &mut self.tags[chunk as usize];
            let len = fill.fill(position as usize, Slot { bytes, tag }).min(frame_len_max) as u32;
            self.rings.descriptors.write(position, libc::xdp_desc { addr: address as u64, len, options: 0 });
        }
        if count == 0 {
            // Perhaps the kernel waits for room among the completions just taken, or to skip what was withdrawn.
            return self.hand_over(0).map(|_| 0);
        }
        self.rings.descriptors.publish(count);
        let sent = self.hand_over(count)?;
        if sent < count && !self.zero_copy {
            self.withdraw();
        }
        Ok(sent as usize)
    }

    fn batch_max(&self) -> u64 {
        u64::from(MAX_BATCH)
    }
}
