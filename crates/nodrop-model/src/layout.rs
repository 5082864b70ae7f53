//! Frame layouts for generators other than the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::neighbor::Station;
use crate::traffic::{Field, StreamSpec};

/// Streams and stations whose frames are requested.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutRequest {
    /// Streams; none of them may replay a file.
    #[serde(default)]
    pub streams: Vec<StreamSpec>,
    /// Stations whose announcements are requested.
    #[serde(default)]
    pub stations: Vec<Station>,
}

/// Reply to `frames`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutReply {
    /// LayoutReply, in the order of the request.
    pub streams: Vec<StreamLayout>,
    /// Announcement frames of each station, in the order of the request: one frame per single address, as hexadecimal
    /// digits without FCS.
    pub announcements: Vec<Vec<String>>,
}

/// Frames of a stream. They carry no signature, so they may be as small as their headers allow; zeros pad them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLayout {
    /// First frame of each size, in the order of the stream's sizes: hexadecimal digits, without FCS.
    pub frames: Vec<String>,
    /// Position of each header.
    pub layers: Vec<LayerLayout>,
    /// Bytes that change from frame to frame: one entry per range, or two if both halves of an IPv6 address change.
    pub fields: Vec<FieldLayout>,
    /// All checksums, outermost first.
    pub checksums: Vec<ChecksumLayout>,
}

/// Position of a header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerLayout {
    /// Offset in the frame.
    pub at: usize,
    /// Length in bytes.
    pub bytes: usize,
}

/// Bytes that change from frame to frame. Frame n holds word `n % period / every % count`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldLayout {
    /// Index of the range.
    pub range: usize,
    /// Field that the range changes.
    pub field: Field,
    /// Offset in the frame.
    pub at: usize,
    /// Length in bytes: 2, 4, 6 or 8.
    pub width: usize,
    /// Values, as big-endian numbers.
    pub words: Words,
    /// Number of words.
    pub count: u64,
    /// Number of consecutive frames with the same word.
    pub every: u64,
    /// Number of frames after which the sequence restarts, even if it is not complete.
    pub period: Option<u64>,
}

/// Sequence of words, including the bits next to the field in the same bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Words {
    /// `first`, then `step` more each time.
    Count {
        /// First word.
        first: u64,
        /// Difference between consecutive words.
        step: u64,
    },
    /// Explicit words.
    Table {
        /// Words, in order.
        words: Vec<u64>,
    },
}

/// Position and dependencies of a checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecksumLayout {
    /// Index of its header.
    pub layer: usize,
    /// Offset in the frame.
    pub at: usize,
    /// Indices of the fields that the checksum depends on.
    pub follows: Vec<usize>,
    /// Whether the checksum depends on the payload.
    pub covers_payload: bool,
    /// Whether zero means "no checksum" (RFC 768).
    pub zero_is_none: bool,
}
