//! Senders that keep a timetable by themselves: told once what to send when, then only watched.

use std::sync::atomic::AtomicU64;

use crate::{PortError, xdp_live};

/// A port that such a sender can send from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit {
    /// The kernel's number of the interface.
    pub interface_index: u32,
}

/// A field that counts: `first + step * (frame number / every % count)`, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counter {
    /// Where in the frame, at an even place.
    pub at: usize,
    /// Bytes: 2 or 4.
    pub width: usize,
    /// The first value.
    pub first: u64,
    /// From value to value.
    pub step: u64,
    /// Values, at least one.
    pub count: u64,
    /// Frames with the same value, at least one.
    pub every: u64,
}

/// An Internet checksum (RFC 1071) that has to follow what changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sum {
    /// Where in the frame.
    pub at: usize,
    /// Sum over everything it covers that never changes.
    pub static_sum: u64,
    /// Whether it covers the mark's time and number.
    pub covers_mark: bool,
    /// Which counters it covers, by their position.
    pub covers: Vec<usize>,
    /// A computed zero is sent as all ones (RFC 768).
    pub never_zero: bool,
}

/// A stream's frame, and what changes in it.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    /// Without FCS.
    pub bytes: &'a [u8],
    /// Where the mark begins, at an even place: 6 bytes that never change, 6 of wall-clock time in nanoseconds, 1 of the
    /// trial, 5 of the frame's number; all in network order, the lower bits of what is longer.
    pub mark_at: usize,
    /// Fields that count.
    pub counters: Vec<Counter>,
    /// Checksums to be kept right.
    pub sums: Vec<Sum>,
}

/// Bytes of a mark.
pub const MARK_BYTES: usize = 18;

/// What one port is to send.
#[derive(Clone, Debug)]
pub struct Timetable<'a> {
    /// Where frames leave.
    pub exit: Exit,
    /// Frames per second, evenly spaced.
    pub load_pps: f64,
    /// Frames to send.
    pub frame_count: u64,
    /// Frames due longer ago are never sent.
    pub catch_up_max_ns: u64,
    /// The streams.
    pub frames: Vec<Frame<'a>>,
    /// Positions in `frames` in the order of their turns; begins again after the last.
    pub order: &'a [u32],
}

/// What holds for all ports that are sent from together.
#[derive(Clone, Copy, Debug)]
pub struct Sitting<'a> {
    /// Steady-clock time at which the first frames are due.
    pub start_ns: u64,
    /// Since then: when sending ends; may be brought forward meanwhile.
    pub end_ns: &'a AtomicU64,
    /// What was due by the end still leaves for so long after it.
    pub grace_ns: u64,
    /// The trial's byte in the mark.
    pub trial_tag: u8,
}

/// How sending from one port went.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Frames sent of each stream.
    pub sent: Vec<u64>,
    /// How late frames left, as (nanoseconds, frames).
    pub lateness: Vec<(u64, u64)>,
    /// Times between frames, as (nanoseconds, gaps).
    pub gaps: Vec<(u64, u64)>,
    /// Longest lateness.
    pub lateness_max_ns: u64,
    /// How often the sender stood still for longer than may be caught up.
    pub stall_count: u64,
    /// The longest such time.
    pub stall_longest_ns: u64,
    /// When that began.
    pub stall_at_ns: u64,
    /// Frames whose time went by.
    pub unsent_count: u64,
    /// Frames the interface would not take; they are among those sent.
    pub refused_count: u64,
}

/// Why timetables cannot be kept this way; None when they can.
#[must_use]
pub fn refusal(timetables: &[Timetable<'_>]) -> Option<String> {
    xdp_live::refusal(timetables)
}

/// Send from all these ports until their timetables end. `heard` is told now and then how many frames of each stream have
/// left, by position of the port.
///
/// # Errors
/// When the frames are not such as can be sent this way, or the kernel refuses.
pub fn send(
    timetables: &[Timetable<'_>],
    sitting: Sitting<'_>,
    heard: impl Fn(usize, &[u64]) + Sync,
) -> Result<Vec<Report>, PortError> {
    xdp_live::send(timetables, sitting, &heard)
}
