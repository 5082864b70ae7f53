//! Conversion of the program's numbers to a report.

use std::sync::atomic::Ordering::Relaxed;

use super::tables::{
    CELLS, GAPS_AT, HISTOGRAM_NUMBERS, HISTOGRAMS_AT, LANE_NUMBERS, LANES_AT, SHIFTS, STREAM_NUMBERS, STREAMS_AT, lane,
    stream,
};
use crate::bpf::SharedValues;
use crate::timetable::{Progress, Report};

/// Read a number of a lane.
pub(super) fn lane_number(values: &SharedValues, lane: usize, number: usize) -> u64 {
    values[LANES_AT + lane * LANE_NUMBERS + number].load(Relaxed)
}

/// Return the counts of the lane at `index`, which has these streams, once `elapsed_ns` have passed.
pub(super) fn progress(
    values: &SharedValues,
    index: usize,
    streams: std::ops::Range<usize>,
    elapsed_ns: u64,
) -> Progress {
    let is_done = lane_number(values, index, lane::DONE) != 0;
    let due_ns = lane_number(values, index, lane::NEXT_DUE) >> 16;
    Progress {
        sent: sent(values, streams),
        unsent_count: lane_number(values, index, lane::UNSENT),
        lateness_ns: if is_done { 0 } else { elapsed_ns.saturating_sub(due_ns) },
    }
}

/// Return the frames sent of each stream in this range.
fn sent(values: &SharedValues, streams: std::ops::Range<usize>) -> Vec<u64> {
    streams.map(|index| values[STREAMS_AT + index * STREAM_NUMBERS + stream::SENT].load(Relaxed)).collect()
}

/// Build the report of the lane at `index`, which has these streams.
pub(super) fn report(values: &SharedValues, index: usize, streams: std::ops::Range<usize>) -> Report {
    let read = |number| lane_number(values, index, number);
    Report {
        sent: sent(values, streams),
        lateness: histogram(values, index, 0),
        gaps: histogram(values, index, GAPS_AT),
        lateness_max_ns: read(lane::LATEST_NS),
        stall_count: read(lane::STALLS),
        stall_longest_ns: read(lane::STALL_LONGEST_NS),
        stall_at_ns: read(lane::STALL_AT_NS),
        unsent_count: read(lane::UNSENT),
        rejected_count: 0,
    }
}

/// Return the non-empty cells, each represented by its middle.
fn histogram(values: &SharedValues, lane: usize, at: usize) -> Vec<(u64, u64)> {
    let begin = HISTOGRAMS_AT + lane * HISTOGRAM_NUMBERS + at;
    let cell = |(range, shift): (usize, u32), cell: usize| {
        let middle_ns = ((cell as u64) << shift) + (1 << (shift - 1));
        (middle_ns, values[begin + range * CELLS + cell].load(Relaxed))
    };
    let ranges = SHIFTS.into_iter().enumerate();
    ranges.flat_map(|range| (0..CELLS).map(move |at| cell(range, at))).filter(|(_, count)| *count > 0).collect()
}
