//! The memory shared by the program and this process: one array of 64-bit numbers.

use std::sync::atomic::Ordering::Relaxed;

use super::FRAME_BYTES_MAX;
use crate::PortError;
use crate::bpf::SharedValues;
use crate::clock::{SystemClock, WallOffset};
use crate::timetable::{Frame, MARK_BYTES, Timetable, TrialWindow};

/// Maximum number of ports.
pub(super) const LANES_MAX: usize = 16;
/// Maximum number of streams of all ports together.
pub(super) const STREAMS_MAX: usize = 1 << 12;
/// Maximum length of all ports' orders together.
pub(super) const ORDER_LEN_MAX: usize = 1 << 17;
pub(super) const FIELDS_MAX: usize = 4;
pub(super) const CHECKSUMS_MAX: usize = 4;
/// Maximum length of headers and mark.
pub(super) const PREFIX_BYTES_MAX: usize = 192;

/// Sizes and offsets, in numbers.
pub(super) const LANE_NUMBERS: usize = 32;
pub(super) const STREAM_NUMBERS: usize = 64;
/// Cells of each range of a histogram: 32 ns wide up to 32 µs, 1 µs up to 1 ms, 131 µs up to 134 ms.
pub(super) const CELLS: usize = 1 << 10;
pub(super) const SHIFTS: [u32; 3] = [5, 10, 17];
/// Histograms of lateness and of gaps; the size of each is a power of two.
pub(super) const HISTOGRAM_NUMBERS: usize = 2 * GAPS_AT;
pub(super) const GAPS_AT: usize = 4 * CELLS;
pub(super) const LANES_AT: usize = 32;
pub(super) const HISTOGRAMS_AT: usize = LANES_AT + LANES_MAX * LANE_NUMBERS;
pub(super) const ORDER_AT: usize = HISTOGRAMS_AT + LANES_MAX * HISTOGRAM_NUMBERS;
pub(super) const STREAMS_AT: usize = ORDER_AT + ORDER_LEN_MAX;
pub(super) const NUMBERS: usize = STREAMS_AT + STREAMS_MAX * STREAM_NUMBERS;

/// Numbers of a lane, i.e. of a port's timetable.
pub(super) mod lane {
    pub(crate) const START_NS: usize = 0;
    /// Time between frames, in 1/65536 ns.
    pub(crate) const INTERVAL: usize = 1;
    pub(crate) const FRAME_COUNT: usize = 2;
    pub(crate) const END_NS: usize = 3;
    pub(crate) const CATCH_UP_NS: usize = 4;
    /// Number of frames sent or skipped.
    pub(crate) const NEXT: usize = 5;
    /// Due time of the next frame, in 1/65536 ns.
    pub(crate) const NEXT_DUE: usize = 6;
    pub(crate) const ORDER_NEXT: usize = 7;
    pub(crate) const ORDER_LEN: usize = 8;
    pub(crate) const ORDER: usize = 9;
    pub(crate) const INTERFACE: usize = 10;
    /// Wall-clock time of the start.
    pub(crate) const WALL_START_NS: usize = 11;
    /// Trial tag, shifted to its position.
    pub(crate) const TRIAL: usize = 12;
    pub(crate) const UNSENT: usize = 13;
    pub(crate) const STALLS: usize = 14;
    pub(crate) const STALL_LONGEST_NS: usize = 15;
    pub(crate) const STALL_AT_NS: usize = 16;
    pub(crate) const LAST_POLL_NS: usize = 17;
    pub(crate) const SENT_NS: usize = 18;
    pub(crate) const DONE: usize = 19;
    pub(crate) const GRACE_NS: usize = 20;
    pub(crate) const INDEX: usize = 21;
    pub(crate) const LATEST_NS: usize = 22;
}

/// Numbers of a stream.
pub(super) mod stream {
    pub(crate) const SENT: usize = 0;
    pub(crate) const SUMS: usize = 1;
    /// First, step, count, every.
    pub(crate) const COUNTERS: usize = 8;
    pub(crate) const COUNTER_NUMBERS: usize = 4;
    pub(crate) const PREFIX: usize = 32;
}

/// Return the length of headers and mark.
pub(super) fn prefix_bytes(frame: &Frame<'_>) -> usize {
    frame.mark_at + MARK_BYTES
}

/// Return the reason why one program cannot send these timetables; None if it can.
pub(crate) fn unsupported_reason(timetables: &[Timetable<'_>]) -> Option<String> {
    let frames = || timetables.iter().flat_map(|timetable| &timetable.frames);
    let first = frames().next()?;
    let streams = frames().count();
    let order_len: usize = timetables.iter().map(|timetable| timetable.order.len()).sum();
    let has_same_layout = |one: &Frame<'_>| {
        let layout = |frame: &Frame<'_>| {
            let fields: Vec<_> = frame.program.fields.iter().map(|field| (field.at, field.width)).collect();
            let checksums: Vec<_> = frame
                .program
                .checksums
                .iter()
                .map(|sum| (sum.at, sum.covers_signature, sum.covers.clone(), sum.zero_is_none))
                .collect();
            (frame.bytes.len(), frame.mark_at, fields, checksums)
        };
        layout(one) == layout(first)
    };
    let has_supported_fields = |frame: &Frame<'_>| {
        frame.program.fields.len() <= FIELDS_MAX
            && frame.program.checksums.len() <= CHECKSUMS_MAX
            && frame.mark_at.is_multiple_of(2)
            && frame.program.fields.iter().all(|field| {
                field.at.is_multiple_of(2)
                    && matches!(field.width, 2 | 4)
                    && field.at + field.width <= frame.mark_at
                    && field.count > 0
                    && field.every > 0
            })
    };
    let unsupported = |what: &str| Some(format!("xdp_live cannot send {what}; use af_xdp or af_packet"));
    match () {
        () if timetables.len() > LANES_MAX => unsupported("from more than 16 ports"),
        () if streams > STREAMS_MAX => unsupported(&format!("{streams} streams (at most {STREAMS_MAX})")),
        () if order_len > ORDER_LEN_MAX => unsupported("so many streams whose loads have no simple ratio"),
        () if first.bytes.len() > FRAME_BYTES_MAX => {
            unsupported(&format!("frames of {} bytes (at most {FRAME_BYTES_MAX})", first.bytes.len()))
        }
        () if prefix_bytes(first) > PREFIX_BYTES_MAX => unsupported("headers of this length"),
        () if !frames().all(has_same_layout) => unsupported("frames that differ in length or in their variable fields"),
        () if !has_supported_fields(first) => unsupported("these variable fields"),
        () => None,
    }
}

/// Write the timetables to the shared memory.
pub(super) fn fill(values: &SharedValues, timetables: &[Timetable<'_>], window: TrialWindow<'_>) {
    let wall_offset_ns = WallOffset::new(&SystemClock).current(&SystemClock);
    let (mut order_at, mut stream_at) = (0, 0);
    for (index, timetable) in timetables.iter().enumerate() {
        let at = LANES_AT + index * LANE_NUMBERS;
        let set = |number: usize, value: u64| values[at + number].store(value, Relaxed);
        set(lane::START_NS, window.start_ns);
        // Rounded down, so that the last frame is due before the end.
        set(lane::INTERVAL, (65_536e9 / timetable.load_pps) as u64);
        set(lane::FRAME_COUNT, timetable.frame_count);
        set(lane::END_NS, window.end_ns.load(Relaxed));
        set(lane::CATCH_UP_NS, timetable.catch_up_max_ns);
        set(lane::ORDER_LEN, timetable.order.len() as u64);
        set(lane::ORDER, order_at as u64);
        set(lane::INTERFACE, u64::from(timetable.egress.interface_index));
        set(lane::WALL_START_NS, window.start_ns.wrapping_add(wall_offset_ns));
        set(lane::TRIAL, u64::from(window.trial_tag) << 40);
        set(lane::GRACE_NS, window.grace_ns.load(Relaxed));
        set(lane::INDEX, index as u64);
        for (position, stream) in timetable.order.iter().enumerate() {
            values[ORDER_AT + order_at + position].store((stream_at + *stream as usize) as u64, Relaxed);
        }
        order_at += timetable.order.len();
        for frame in &timetable.frames {
            fill_stream(&values[STREAMS_AT + stream_at * STREAM_NUMBERS..][..STREAM_NUMBERS], frame);
            stream_at += 1;
        }
    }
}

fn fill_stream(numbers: &[std::sync::atomic::AtomicU64], frame: &Frame<'_>) {
    let set = |number: usize, value: u64| numbers[number].store(value, Relaxed);
    for (index, checksum) in frame.program.checksums.iter().enumerate() {
        let mut folded = checksum.static_sum;
        while folded > 0xffff {
            folded = (folded >> 16) + (folded & 0xffff);
        }
        set(stream::SUMS + index, folded);
    }
    for (index, field) in frame.program.fields.iter().enumerate() {
        let at = stream::COUNTERS + index * stream::COUNTER_NUMBERS;
        for (number, value) in [field.first, field.step, field.count, field.every].into_iter().enumerate() {
            set(at + number, value);
        }
    }
    let prefix = &frame.bytes[..prefix_bytes(frame).min(frame.bytes.len())];
    for (index, bytes) in prefix.chunks(8).enumerate() {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        set(stream::PREFIX + index, u64::from_ne_bytes(word));
    }
}

/// Check that one program can send these timetables.
pub(super) fn check(timetables: &[Timetable<'_>]) -> Result<(), PortError> {
    unsupported_reason(timetables)
        .map_or(Ok(()), |message| Err(PortError::Request { port: "xdp_live".to_owned(), message }))
}
