//! Timetables of self-paced ports: streams, schedule, and the report of what was sent.

use std::sync::atomic::AtomicU64;

use nodrop_model::FieldProgram;

/// A port from which a timetable can be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EgressPort {
    /// The kernel's index of the interface.
    pub interface_index: u32,
}

/// A stream's frame and its variable parts.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// Bytes without FCS.
    pub bytes: &'a [u8],
    /// Even offset of the mark: 6 constant bytes, 6 of wall-clock time in nanoseconds, 1 of the trial, 5 of the frame number;
    /// all in network order, the low-order bits of longer values.
    pub mark_at: usize,
    /// Variable fields, at even offsets and 2 or 4 bytes long, and checksums.
    pub program: FieldProgram,
}

/// Length of a mark.
pub const MARK_BYTES: usize = 18;

/// The frames to send from one port.
#[derive(Clone, Debug)]
pub struct Timetable<'a> {
    /// Port to send from.
    pub egress: EgressPort,
    /// Frames per second, evenly spaced.
    pub load_pps: f64,
    /// Number of frames to send.
    pub frame_count: u64,
    /// Catch-up limit: frames due longer ago are never sent.
    pub catch_up_max_ns: u64,
    /// Frame of each stream.
    pub frames: Vec<Frame<'a>>,
    /// Indices in `frames` in sending order; cyclic.
    pub order: &'a [u32],
}

impl Timetable<'_> {
    /// Return the number of frames due before `end_ns`, an end after that of the timetable.
    #[must_use]
    pub fn frame_count_by(&self, end_ns: u64) -> u64 {
        self.frame_count.max((end_ns as f64 * self.load_pps / 1e9).ceil() as u64)
    }
}

/// Times and tag of a trial, common to all ports.
#[derive(Clone, Copy, Debug)]
pub struct TrialWindow<'a> {
    /// Monotonic time at which the first frames are due.
    pub start_ns: u64,
    /// End of sending, relative to `start_ns`; may be brought forward or postponed during the trial.
    pub end_ns: &'a AtomicU64,
    /// Time after the end in which frames due by the end are still sent; may change with the end.
    pub grace_ns: &'a AtomicU64,
    /// Trial number in the mark.
    pub trial_tag: u8,
}

/// Counts of one port while it sends.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Frames sent of each stream.
    pub sent: Vec<u64>,
    /// Frames skipped because they were overdue.
    pub unsent_count: u64,
    /// Lateness of the next frame; 0 if it is not due.
    pub lateness_ns: u64,
}

/// Report of one port.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Frames sent of each stream.
    pub sent: Vec<u64>,
    /// Lateness histogram, as (nanoseconds, frames).
    pub lateness: Vec<(u64, u64)>,
    /// Histogram of gaps between frames, as (nanoseconds, gaps).
    pub gaps: Vec<(u64, u64)>,
    /// Longest lateness.
    pub lateness_max_ns: u64,
    /// Number of stalls longer than the catch-up limit.
    pub stall_count: u64,
    /// Duration of the longest stall.
    pub stall_longest_ns: u64,
    /// Start of the longest stall.
    pub stall_at_ns: u64,
    /// Frames skipped because they were overdue.
    pub unsent_count: u64,
    /// Frames that the interface rejected; included in `sent`.
    pub rejected_count: u64,
}
