//! From the program's numbers to what a sender has to tell.

use std::sync::atomic::Ordering::Relaxed;

use super::tables::{
    CELLS, GAPS_AT, HISTOGRAM_NUMBERS, HISTOGRAMS_AT, LANE_NUMBERS, LANES_AT, SHIFTS, STREAM_NUMBERS, STREAMS_AT, lane,
    stream,
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
        gaps: histogram(values, index, GAPS_AT),
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
    let cell = |(range, shift): (usize, u32), cell: usize| {
        let middle_ns = ((cell as u64) << shift) + (1 << (shift - 1));
        (middle_ns, values[begin + range * CELLS + cell].load(Relaxed))
    };
    let ranges = SHIFTS.into_iter().enumerate();
    ranges.flat_map(|range| (0..CELLS).map(move |at| cell(range, at))).filter(|(_, count)| *count > 0).collect()
}
