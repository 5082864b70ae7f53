//! What became of a stream's frames beyond their number: in what order they came, and how losses lie together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames that arrived after a later one of their stream (RFC 4737 Type-P-Reordered).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reordering {
    /// How many.
    pub count: u64,
    /// Largest extent: frames that arrived since the first that overtook it, itself included (RFC 4737 section 4.2). Of
    /// frames overtaken more than 1024 gaps before, at least that.
    pub extent_max: u64,
    /// Arithmetic mean of the extents.
    pub extent_mean: f64,
    /// Frames by extent: 1, 2 to 3, 4 to 7, 8 to 15, ...
    pub extent_counts: Vec<u64>,
}

/// Frames lost one after the other (RFC 3357 loss periods).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LossRuns {
    /// How many runs of lost frames there were.
    pub count: u64,
    /// Frames in the longest.
    pub longest: u64,
}
