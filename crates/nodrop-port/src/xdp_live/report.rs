//! From the program's numbers to what a sender has to tell.

use std::sync::atomic::Ordering::Relaxed;

use super::tables::{
    CELLS, COARSE_SHIFT, FINE_SHIFT, HISTOGRAM_NUMBERS, HISTOGRAMS_AT, LANE_NUMBERS, LANES_AT, STREAM_NUMBERS,
    STREAMS_AT, lane, stream,
};
use crate::bpf::SharedValues;
use crate::paced::Report;

/// Number `number` of a lane.
pub(super) fn of_lane(values: &SharedValues, lane: usize, number: usize) -> u64 {
    values[LANES_AT + lane * LANE_NUMBERS + number].load(Relaxed)
}

/// Frames sent of each of the streams in this range.
pub(super) fn sent(values: &SharedValues, streams: std::ops::Range<usize>) -> Vec<u64> {
    streams.map(|index| values[STREAMS_AT + index * STREAM_NUMBERS + stream::SENT].load(Relaxed)).collect()
}

/// Of the lane at `index`, which has these streams.
pub(super) fn report(values: &SharedValues, index: usize, streams: std::ops::Range<usize>) -> Report {
    let of = |number| of_lane(values, index, number);
    Report {
        sent: sent(values, streams),
        lateness: histogram(values, index, 0),
        gaps: histogram(values, index, 2 * CELLS),
        lateness_max_ns: of(lane::LATEST_NS),
        stall_count: of(lane::STALLS),
        stall_longest_ns: of(lane::STALL_LONGEST_NS),
        stall_at_ns: of(lane::STALL_AT_NS),
        unsent_count: of(lane::UNSENT),
        refused_count: 0,
    }
}

/// Cells that are not empty, by the middle of each.
fn histogram(values: &SharedValues, lane: usize, at: usize) -> Vec<(u64, u64)> {
    let begin = HISTOGRAMS_AT + lane * HISTOGRAM_NUMBERS + at;
    let middle = |cell: u64, shift: u32| (cell << shift) + (1 << (shift - 1));
    let time_ns = |cell: usize| match cell.checked_sub(CELLS) {
        None => middle(cell as u64, FINE_SHIFT),
        Some(coarse) => middle(coarse as u64, COARSE_SHIFT),
    };
    let count = |cell: usize| values[begin + cell].load(Relaxed);
    (0..2 * CELLS).map(|cell| (time_ns(cell), count(cell))).filter(|(_, count)| *count > 0).collect()
}
