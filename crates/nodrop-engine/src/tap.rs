//! Ports that keep a copy of the frames that go through them, in memory set aside before the trial.
//!
//! A trial without capture runs on the ports themselves, so that capturing costs nothing where it is not asked for.

use nodrop_port::clock::Clock;
use nodrop_port::paced::Exit;
use nodrop_port::pcap::{Filter, Way};
use nodrop_port::{Fill, Original, PortError, Receive, Received, Slot, Transmit};
use std::os::fd::BorrowedFd;
use std::sync::{Mutex, PoisonError};

/// Memory handed out at once; more than the longest frame.
const CHUNK_BYTES: usize = 1 << 16;
/// In front of each frame: time, its length, bytes kept.
const HEADER_BYTES: usize = 8 + 4 + 4;
const ADDRESSES_BYTES: usize = 12;

/// The memory of one capture, shared by its taps.
pub(crate) struct Pool(Mutex<Vec<Vec<u8>>>);

impl Pool {
    /// So much memory, already written to, that no page is missing later.
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

/// A frame that was kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'a> {
    pub(crate) time_ns: u64,
    pub(crate) frame_len: usize,
    pub(crate) bytes: &'a [u8],
}

/// Which frames to keep.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) pool: &'a Pool,
    pub(crate) filter: Option<&'a Filter>,
    pub(crate) snap_bytes: usize,
    pub(crate) count_max: u64,
}

/// The frames that one port sent, or received.
pub(crate) struct Tap<'a> {
    wanted: Wanted<'a>,
    pub(crate) port: usize,
    pub(crate) way: Way,
    chunks: Vec<Vec<u8>>,
    kept_count: u64,
    /// Frames that should be here, also those that found no room.
    pub(crate) wanted_count: u64,
}

/// How far a tap is.
#[derive(Clone, Copy, Default)]
struct Mark {
    chunk_count: usize,
    chunk_len: usize,
    kept_count: u64,
    wanted_count: u64,
}

impl<'a> Tap<'a> {
    pub(crate) fn new(wanted: Wanted<'a>, port: usize, way: Way) -> Self {
        Self { wanted, port, way, chunks: Vec::new(), kept_count: 0, wanted_count: 0 }
    }

    /// Keep a frame, if it is wanted and there is room.
    fn offer(&mut self, bytes: &[u8], frame_len: usize, time_ns: u64) {
        if self.wanted.filter.is_some_and(|filter| !filter.matches(bytes, frame_len)) {
            return;
        }
        self.wanted_count += 1;
        let bytes = &bytes[..bytes.len().min(self.wanted.snap_bytes)];
        if self.kept_count == self.wanted.count_max || !self.make_room(HEADER_BYTES + bytes.len()) {
            return;
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        chunk.extend_from_slice(&time_ns.to_ne_bytes());
        chunk.extend_from_slice(&(frame_len as u32).to_ne_bytes());
        chunk.extend_from_slice(&(bytes.len() as u32).to_ne_bytes());
        chunk.extend_from_slice(bytes);
        self.kept_count += 1;
    }

    /// Make the last chunk one that has room for so many bytes, if there is any left.
    fn make_room(&mut self, bytes: usize) -> bool {
        if self.chunks.last().is_some_and(|chunk| chunk.len() + bytes <= CHUNK_BYTES) {
            return true;
        }
        let fresh = self.wanted.pool.take();
        let found = fresh.is_some();
        self.chunks.extend(fresh);
        found
    }

    fn mark(&self) -> Mark {
        Mark {
            chunk_count: self.chunks.len(),
            chunk_len: self.chunks.last().map_or(0, Vec::len),
            kept_count: self.kept_count,
            wanted_count: self.wanted_count,
        }
    }

    /// Forget what came after the mark.
    fn go_back(&mut self, mark: Mark) {
        for mut chunk in self.chunks.drain(mark.chunk_count..) {
            chunk.clear();
            self.wanted.pool.give_back(chunk);
        }
        self.chunks.last_mut().into_iter().for_each(|chunk| chunk.truncate(mark.chunk_len));
        (self.kept_count, self.wanted_count) = (mark.kept_count, mark.wanted_count);
    }

    /// Every frame kept, in the order they came.
    pub(crate) fn frames(&self) -> impl Iterator<Item = Kept<'_>> {
        self.chunks.iter().flat_map(|chunk| Frames(chunk))
    }
}

/// The frames of a chunk.
struct Frames<'a>(&'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = Kept<'a>;

    fn next(&mut self) -> Option<Kept<'a>> {
        let (time, rest) = self.0.split_first_chunk::<8>()?;
        let (frame_len, rest) = rest.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (bytes, rest) = rest.split_at_checked(u32::from_ne_bytes(*len) as usize)?;
        self.0 = rest;
        let frame_len = u32::from_ne_bytes(*frame_len) as usize;
        Some(Kept { time_ns: u64::from_ne_bytes(*time), frame_len, bytes })
    }
}

/// A sending half whose frames are kept.
pub(crate) struct TapTx<'a, T, C> {
    inner: &'a mut T,
    clock: &'a C,
    pub(crate) tap: Option<Tap<'a>>,
    /// Where the tap was before each frame of the latest call, and after the last.
    marks: Vec<Mark>,
}

impl<'a, T, C> TapTx<'a, T, C> {
    pub(crate) fn new(inner: &'a mut T, clock: &'a C, tap: Option<Tap<'a>>) -> Self {
        Self { inner, clock, tap, marks: Vec::new() }
    }
}

impl<T: Transmit, C: Clock> Transmit for TapTx<'_, T, C> {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        let Self { inner, clock, tap: Some(tap), marks } = self else {
            return self.inner.transmit(count, frame_len_max, fill);
        };
        let time_ns = clock.wall_ns();
        marks.clear();
        let sent = inner.transmit(count, frame_len_max, |position, Slot { bytes, tag }: Slot<'_>| {
            let frame_len = fill.fill(position, Slot { bytes: &mut *bytes, tag });
            marks.push(tap.mark());
            tap.offer(&bytes[..frame_len], frame_len, time_ns);
            frame_len
        })?;
        // Those that were filled and did not leave.
        marks.get(sent).into_iter().for_each(|mark| tap.go_back(*mark));
        Ok(sent)
    }

    fn batch_max(&self) -> u64 {
        self.inner.batch_max()
    }

    fn paced(&self) -> Option<Exit> {
        self.inner.paced()
    }
}

/// A receiving half whose frames are kept.
pub(crate) struct TapRx<'a, R> {
    inner: &'a mut R,
    pub(crate) tap: Option<Tap<'a>>,
    /// A frame with its VLAN tag where it was.
    whole: Vec<u8>,
}

impl<'a, R> TapRx<'a, R> {
    pub(crate) fn new(inner: &'a mut R, tap: Option<Tap<'a>>) -> Self {
        Self { inner, tap, whole: Vec::new() }
    }
}

impl<R: Receive> Receive for TapRx<'_, R> {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        let Self { inner, tap: Some(tap), whole } = self else { return self.inner.receive(budget, sink) };
        inner.receive_original(budget, |frame, Original { frame_len, vlan_tag }| {
            match (vlan_tag, frame.bytes.split_at_checked(ADDRESSES_BYTES)) {
                (Some(tag), Some((addresses, rest))) => {
                    whole.clear();
                    [addresses, &tag, rest].into_iter().for_each(|part| whole.extend_from_slice(part));
                    tap.offer(whole, frame_len, frame.time_ns);
                }
                _ => tap.offer(frame.bytes, frame_len, frame.time_ns),
            }
            sink(frame);
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
