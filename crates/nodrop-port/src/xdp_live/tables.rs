//! What the program and this process share: one array of 64-bit numbers.

use std::sync::atomic::Ordering::Relaxed;

use super::FRAME_BYTES_MAX;
use crate::PortError;
use crate::bpf::SharedValues;
use crate::clock::{SystemClock, WallOffset};
use crate::paced::{Frame, MARK_BYTES, Sitting, Timetable};

/// Ports sent from at once.
pub(super) const LANES_MAX: usize = 16;
/// Streams of all ports together.
pub(super) const STREAMS_MAX: usize = 1 << 12;
/// Turns of all ports' orders together.
pub(super) const TURNS_MAX: usize = 1 << 17;
pub(super) const COUNTERS_MAX: usize = 4;
pub(super) const SUMS_MAX: usize = 4;
/// Bytes of headers and mark.
pub(super) const PREFIX_BYTES_MAX: usize = 192;

/// Sizes and places in numbers.
pub(super) const LANE_NUMBERS: usize = 32;
pub(super) const STREAM_NUMBERS: usize = 64;
/// Cells of each of a histogram's ranges: 32 ns wide up to 32 µs, 1 µs up to 1 ms, 131 µs up to 134 ms.
pub(super) const CELLS: usize = 1 << 10;
pub(super) const SHIFTS: [u32; 3] = [5, 10, 17];
/// Of lateness, then of gaps, each as many as a power of two.
pub(super) const HISTOGRAM_NUMBERS: usize = 2 * GAPS_AT;
pub(super) const GAPS_AT: usize = 4 * CELLS;
pub(super) const LANES_AT: usize = 32;
pub(super) const HISTOGRAMS_AT: usize = LANES_AT + LANES_MAX * LANE_NUMBERS;
pub(super) const ORDER_AT: usize = HISTOGRAMS_AT + LANES_MAX * HISTOGRAM_NUMBERS;
pub(super) const STREAMS_AT: usize = ORDER_AT + TURNS_MAX;
pub(super) const NUMBERS: usize = STREAMS_AT + STREAMS_MAX * STREAM_NUMBERS;

/// Numbers of a lane, the timetable of a port.
pub(super) mod lane {
    pub(crate) const START_NS: usize = 0;
    /// Between frames, in 1/65536 ns.
    pub(crate) const INTERVAL: usize = 1;
    pub(crate) const FRAME_COUNT: usize = 2;
    pub(crate) const END_NS: usize = 3;
    pub(crate) const CATCH_UP_NS: usize = 4;
    /// Frames sent or let go.
    pub(crate) const NEXT: usize = 5;
    /// When the next is due, in 1/65536 ns.
    pub(crate) const NEXT_DUE: usize = 6;
    pub(crate) const TURN: usize = 7;
    pub(crate) const TURNS: usize = 8;
    pub(crate) const ORDER: usize = 9;
    pub(crate) const INTERFACE: usize = 10;
    /// Wall-clock time at the start.
    pub(crate) const WALL_START_NS: usize = 11;
    /// The trial's byte in its place.
    pub(crate) const TRIAL: usize = 12;
    pub(crate) const UNSENT: usize = 13;
    pub(crate) const STALLS: usize = 14;
    pub(crate) const STALL_LONGEST_NS: usize = 15;
    pub(crate) const STALL_AT_NS: usize = 16;
    pub(crate) const LOOKED_NS: usize = 17;
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

/// Headers and mark.
pub(super) fn prefix_bytes(frame: &Frame<'_>) -> usize {
    frame.mark_at + MARK_BYTES
}

/// Why these cannot be sent by one program; None when they can.
pub(crate) fn refusal(timetables: &[Timetable<'_>]) -> Option<String> {
    let frames = || timetables.iter().flat_map(|timetable| &timetable.frames);
    let first = frames().next()?;
    let streams = frames().count();
    let turns: usize = timetables.iter().map(|timetable| timetable.order.len()).sum();
    let same_place = |one: &Frame<'_>| {
        let places = |frame: &Frame<'_>| {
            let counters: Vec<_> = frame.counters.iter().map(|counter| (counter.at, counter.width)).collect();
            let sums: Vec<_> =
                frame.sums.iter().map(|sum| (sum.at, sum.covers_mark, sum.covers.clone(), sum.never_zero)).collect();
            (frame.bytes.len(), frame.mark_at, counters, sums)
        };
        places(one) == places(first)
    };
    let counts = |frame: &Frame<'_>| {
        frame.counters.len() <= COUNTERS_MAX
            && frame.sums.len() <= SUMS_MAX
            && frame.mark_at.is_multiple_of(2)
            && frame.counters.iter().all(|counter| {
                counter.at.is_multiple_of(2)
                    && matches!(counter.width, 2 | 4)
                    && counter.at + counter.width <= frame.mark_at
                    && counter.count > 0
                    && counter.every > 0
            })
    };
    let refused = |what: &str| Some(format!("xdp_live cannot send {what}; choose af_xdp or af_packet"));
    match () {
        () if timetables.len() > LANES_MAX => refused("from more than 16 ports at once"),
        () if streams > STREAMS_MAX => refused(&format!("{streams} streams, it can {STREAMS_MAX}")),
        () if turns > TURNS_MAX => refused("streams whose loads are in no simple proportion, so many at once"),
        () if first.bytes.len() > FRAME_BYTES_MAX => {
            refused(&format!("frames of {} bytes, it can {FRAME_BYTES_MAX}", first.bytes.len()))
        }
        () if prefix_bytes(first) > PREFIX_BYTES_MAX => refused("headers this long"),
        () if !frames().all(same_place) => refused("frames that differ in length or in what changes in them"),
        () if !counts(first) => refused("fields that change this way"),
        () => None,
    }
}

/// Write everything down for the program.
pub(super) fn fill(values: &SharedValues, timetables: &[Timetable<'_>], sitting: Sitting<'_>) {
    let wall_offset_ns = WallOffset::new(&SystemClock).current(&SystemClock);
    let (mut order_at, mut stream_at) = (0, 0);
    for (index, timetable) in timetables.iter().enumerate() {
        let at = LANES_AT + index * LANE_NUMBERS;
        let set = |number: usize, value: u64| values[at + number].store(value, Relaxed);
        set(lane::START_NS, sitting.start_ns);
        // Rounded down, so that the last frame is due before the end.
        set(lane::INTERVAL, (65_536e9 / timetable.load_pps) as u64);
        set(lane::FRAME_COUNT, timetable.frame_count);
        set(lane::END_NS, sitting.end_ns.load(Relaxed));
        set(lane::CATCH_UP_NS, timetable.catch_up_max_ns);
        set(lane::TURNS, timetable.order.len() as u64);
        set(lane::ORDER, order_at as u64);
        set(lane::INTERFACE, u64::from(timetable.exit.interface_index));
        set(lane::WALL_START_NS, sitting.start_ns.wrapping_add(wall_offset_ns));
        set(lane::TRIAL, u64::from(sitting.trial_tag) << 40);
        set(lane::GRACE_NS, sitting.grace_ns);
        set(lane::INDEX, index as u64);
        for (turn, stream) in timetable.order.iter().enumerate() {
            values[ORDER_AT + order_at + turn].store((stream_at + *stream as usize) as u64, Relaxed);
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
    for (index, sum) in frame.sums.iter().enumerate() {
        let mut folded = sum.static_sum;
        while folded > 0xffff {
            folded = (folded >> 16) + (folded & 0xffff);
        }
        set(stream::SUMS + index, folded);
    }
    for (index, counter) in frame.counters.iter().enumerate() {
        let at = stream::COUNTERS + index * stream::COUNTER_NUMBERS;
        for (number, value) in [counter.first, counter.step, counter.count, counter.every].into_iter().enumerate() {
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

/// Refuse with the name of the first port.
pub(super) fn check(timetables: &[Timetable<'_>]) -> Result<(), PortError> {
    refusal(timetables).map_or(Ok(()), |message| Err(PortError::Request { port: "xdp_live".to_owned(), message }))
}
