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
