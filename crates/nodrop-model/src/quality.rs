//! Frame order and loss patterns of a stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames that arrived after a later one of their stream (RFC 4737 Type-P-Reordered).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reordering {
    /// Number of reordered frames.
    pub count: u64,
    /// Largest extent: frames that arrived since the first frame that overtook this one, that frame included (RFC 4737
    /// section 4.2). A lower bound for frames overtaken more than 1024 gaps earlier.
    pub extent_max: u64,
    /// Arithmetic mean of the extents.
    pub extent_mean: f64,
    /// Frames by extent: 1, 2 to 3, 4 to 7, 8 to 15, ...
    pub extent_counts: Vec<u64>,
}

/// Runs of consecutive lost frames (RFC 3357 loss periods).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossRuns {
    /// Number of runs.
    pub count: u64,
    /// Frames in the longest run.
    pub longest: u64,
}

/// Times of a frame that arrived, in nanoseconds since the first frame of the trial was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameTimes {
    /// Send time.
    pub sent_ns: i64,
    /// Arrival time.
    pub received_ns: i64,
}

/// A run of consecutive lost frames and the frames around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossRun {
    /// Sequence number of the first lost frame in its stream, from 0.
    pub first_sequence: u64,
    /// Number of lost frames.
    pub count: u64,
    /// The frame before the run; None if the run begins with the stream's first frame.
    pub before: Option<FrameTimes>,
    /// The frame after the run; None if the run lasts until the end of the trial.
    pub after: Option<FrameTimes>,
}

impl LossRun {
    /// Return the run with times relative to `begin_ns`.
    #[must_use]
    pub fn since(self, begin_ns: i64) -> Self {
        let shift = |frame: FrameTimes| FrameTimes {
            sent_ns: frame.sent_ns - begin_ns,
            received_ns: frame.received_ns - begin_ns,
        };
        Self { before: self.before.map(shift), after: self.after.map(shift), ..self }
    }
}
