//! What frames are made of, for generators other than the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::neighbor::Station;
use crate::traffic::{Field, StreamSpec};

/// Streams and stations whose frames are wanted.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayoutRequest {
    /// None of them replays a file.
    #[serde(default)]
    pub streams: Vec<StreamSpec>,
    /// Stations whose announcements are wanted.
    #[serde(default)]
    pub stations: Vec<Station>,
}

/// Answer to `frames`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Layouts {
    /// In the order asked.
    pub streams: Vec<StreamLayout>,
    /// Of each station, in the order asked: a frame for each of its single addresses, as hexadecimal digits without FCS.
    pub announcements: Vec<Vec<String>>,
}

/// The frames of a stream. They have no signature, so they may be as small as their headers allow; zeros follow these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamLayout {
    /// Its first frame of each size, in the order of its sizes: hexadecimal digits, without FCS.
    pub frames: Vec<String>,
    /// Where each header is.
    pub layers: Vec<LayerLayout>,
    /// Bytes that change from frame to frame, of each range one, or two where both halves of an IPv6 address change.
    pub fields: Vec<FieldLayout>,
    /// All checksums, outermost first.
    pub checksums: Vec<ChecksumLayout>,
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerLayout {
    /// Where it begins.
    pub at: usize,
    /// Its length.
    pub bytes: usize,
}

/// Bytes that change from frame to frame. Those of frame n hold word `n % period / every % count`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FieldLayout {
    /// Position of its range.
    pub range: usize,
    /// The field.
    pub field: Field,
    /// Where they begin.
    pub at: usize,
    /// How many: 2, 4, 6 or 8.
    pub width: usize,
    /// What they hold, as big-endian numbers.
    pub words: Words,
    /// How many words there are.
    pub count: u64,
    /// Frames that each stays for.
    pub every: u64,
    /// Frames after which it begins again, where it has not gone through by then.
    pub period: Option<u64>,
}

/// Words in turn, with all bits around the field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Words {
    /// `first`, and `step` more each time.
    Count {
        /// The first.
        first: u64,
        /// From one to the next.
        step: u64,
    },
    /// These.
    Table {
        /// In this order.
        words: Vec<u64>,
    },
}

/// A checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChecksumLayout {
    /// Position of its header.
    pub layer: usize,
    /// Where it is.
    pub at: usize,
    /// Positions of the fields it changes with.
    pub follows: Vec<usize>,
    /// Whether it changes with what is behind the headers.
    pub covers_payload: bool,
    /// Whether zero would say that there is none.
    pub zero_is_none: bool,
}
