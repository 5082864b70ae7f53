//! Ports that copy the frames passing through them to memory allocated before the trial.
//!
//! A trial without capture runs on the ports themselves, so captures cost nothing when disabled.

use nodrop_port::clock::Clock;
use nodrop_port::pcap::{Filter, FrameDirection};
use nodrop_port::timetable::EgressPort;
use nodrop_port::{Fill, PortError, Receive, ReceivedFrame, Slot, Transmit, WireInfo};
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// Unit of memory allocation; larger than the longest frame.
const CHUNK_BYTES: usize = 1 << 16;
/// Header of each frame: time, length, captured bytes.
const HEADER_BYTES: usize = 8 + 4 + 4;
const ADDRESSES_BYTES: usize = 12;

/// The memory of one capture, shared by its taps.
pub(crate) struct Pool(Mutex<Vec<Vec<u8>>>);

impl Pool {
    /// Allocate memory and write to it, so that no page faults occur later.
    pub(crate) fn new(bytes: u64) -> Self {
        let chunk = |_| {
            let mut chunk = vec![0xff; CHUNK_BYTES];
            chunk.clear();
            chunk
        };
        Self(Mutex::new((0..bytes / CHUNK_BYTES as u64).map(chunk).collect()))
    }

    fn take(&self) -> Option<Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, chunk: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(chunk);
    }
}

/// A captured frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CapturedFrame<'a> {
    pub(crate) time_ns: u64,
    pub(crate) frame_len: usize,
    pub(crate) bytes: &'a [u8],
}

/// Settings of a capture.
#[derive(Clone, Copy)]
pub(crate) struct TapSettings<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) snap_bytes: usize,
    pub(crate) count_max: u64,
}

/// The captured frames that one port sent or received.
pub(crate) struct Tap<'a> {
    settings: TapSettings<'a>,
    pub(crate) port: usize,
    pub(crate) direction: FrameDirection,
    chunks: Vec<Vec<u8>>,
    captured_count: u64,
    /// Frames that matched, including those that found no space.
    pub(crate) matched_count: u64,
}

/// Position of a tap, for rollback.
#[derive(Clone, Copy, Default)]
struct Checkpoint {
    chunk_count: usize,
    chunk_len: usize,
    captured_count: u64,
    matched_count: u64,
}

impl<'a> Tap<'a> {
    pub(crate) fn new(settings: TapSettings<'a>, port: usize, direction: FrameDirection) -> Self {
        Self { settings, port, direction, chunks: Vec::new(), captured_count: 0, matched_count: 0 }
    }

    /// Capture a frame if it matches and there is space.
    fn offer(&mut self, bytes: &[u8], frame_len: usize, time_ns: u64) {
        if self.settings.filter.is_some_and(|filter| !filter.matches(bytes, frame_len)) {
            return;
        }
        self.matched_count += 1;
        let bytes = &bytes[..bytes.len().min(self.settings.snap_bytes)];
        if self.captured_count == self.settings.count_max || !self.reserve(HEADER_BYTES + bytes.len()) {
            return;
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.extend_from_slice(&time_ns.to_ne_bytes());
        chunk.extend_from_slice(&(frame_len as u32).to_ne_bytes());
        chunk.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
        chunk.extend_from_slice(bytes);
        self.captured_count += 1;
    }

    /// Ensure that the last chunk has space for `bytes` bytes, if any memory is left.
    fn reserve(&mut self, bytes: usize) -> bool {
        if self.chunks.last().is_some_and(|chunk| chunk.len() + bytes <= CHUNK_BYTES) {
            return true;
        }
        let chunk = self.settings.pool.take();
        let reserved = chunk.is_some();
        self.chunks.extend(chunk);
        reserved
    }

    fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            chunk_count: self.chunks.len(),
            chunk_len: self.chunks.last().map_or(0, Vec::len),
            captured_count: self.captured_count,
            matched_count: self.matched_count,
        }
    }

    /// Discard the frames captured after the checkpoint.
    fn roll_back(&mut self, checkpoint: Checkpoint) {
        for mut chunk in self.chunks.drain(checkpoint.chunk_count..) {
            chunk.clear();
            self.settings.pool.give_back(chunk);
        }
        self.chunks.last_mut().into_iter().for_each(|chunk| chunk.truncate(checkpoint.chunk_len));
        (self.captured_count, self.matched_count) = (checkpoint.captured_count, checkpoint.matched_count);
    }

    /// Return all captured frames, in order.
    pub(crate) fn frames(&self) -> impl Iterator<Item = CapturedFrame<'_>> {
        self.chunks.iter().flat_map(|chunk| Frames(chunk))
    }
}

/// Iterator over the frames of a chunk.
struct Frames<'a>(&'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = CapturedFrame<'a>;

    fn next(&mut self) -> Option<CapturedFrame<'a>> {
        let (time, rest) = self.0.split_first_chunk::<8>()?;
        let (frame_len, rest) = rest.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_ne_bytes(*len) as usize)?;
        self.0 = rest;
        let frame_len = u32::from_ne_bytes(*frame_len) as usize;
        Some(CapturedFrame { time_ns: u64::from_ne_bytes(*time), frame_len, bytes })
    }
}

/// A sending half with a tap.
pub(crate) struct TapTx<'a, T, C> {
    inner: &'a mut T,
    clock: &'a C,
    pub(crate) tap: Option<Tap<'a>>,
    /// Position of the tap before each frame of the latest call.
    checkpoints: Vec<Checkpoint>,
}

impl<'a, T, C> TapTx<'a, T, C> {
    pub(crate) fn new(inner: &'a mut T, clock: &'a C, tap: Option<Tap<'a>>) -> Self {
        Self { inner, clock, tap, checkpoints: Vec::new() }
    }
}

impl<T: Transmit, C: Clock> Transmit for TapTx<'_, T, C> {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        let Self { inner, clock, tap: Some(tap), checkpoints } = self else {
            return self.inner.transmit(count, frame_len_max, fill);
        };
        let time_ns = clock.wall_ns();
        checkpoints.clear();
        let sent = inner.transmit(count, frame_len_max, |position, Slot { bytes, tag }: Slot<'_>| {
            let frame_len = fill.fill(position, Slot { bytes: &mut *bytes, tag });
            checkpoints.push(tap.checkpoint());
            tap.offer(&bytes[..frame_len], frame_len, time_ns);
            frame_len
        })?;
        // Discard frames that were filled but not sent.
        checkpoints.get(sent).into_iter().for_each(|checkpoint| tap.roll_back(*checkpoint));
        Ok(sent)
    }

    fn batch_max(&self) -> u64 {
        self.inner.batch_max()
    }

    fn egress_port(&self) -> Option<EgressPort> {
        self.inner.egress_port()
    }
}

/// A receiving half with a tap.
pub(crate) struct TapRx<'a, R> {
    inner: &'a mut R,
    pub(crate) tap: Option<Tap<'a>>,
    /// Buffer for a frame with its VLAN tag restored.
    tagged_frame: Vec<u8>,
}

impl<'a, R> TapRx<'a, R> {
    pub(crate) fn new(inner: &'a mut R, tap: Option<Tap<'a>>) -> Self {
        Self { inner, tap, tagged_frame: Vec::new() }
    }
}

impl<R: Receive> Receive for TapRx<'_, R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        self.receive_with_wire_info(budget, |frame, _| sink(frame))
    }

    fn receive_with_wire_info(
        &mut self,
        budget: usize,
        mut sink: impl FnMut(ReceivedFrame<'_>, WireInfo),
    ) -> Result<usize, PortError> {
        let Self { inner, tap: Some(tap), tagged_frame } = self else {
            return self.inner.receive_with_wire_info(budget, sink);
        };
        inner.receive_with_wire_info(budget, |frame, wire| {
            let WireInfo { frame_len, vlan_tag } = wire;
            match (vlan_tag, frame.bytes.split_at_checked(ADDRESSES_BYTES)) {
                (Some(tag), Some((addresses, rest))) => {
                    tagged_frame.clear();
                    [addresses, &tag, rest].into_iter().for_each(|part| tagged_frame.extend_from_slice(part));
                    tap.offer(tagged_frame, frame_len, frame.time_ns);
                }
                _ => tap.offer(frame.bytes, frame_len, frame.time_ns),
            }
            sink(frame, wire);
        })
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        self.inner.take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        self.inner.queue_slots()
    }

    fn stamps_on_arrival(&self) -> bool {
        self.inner.stamps_on_arrival()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.descriptor()
    }
}
