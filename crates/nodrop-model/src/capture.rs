//! Frames of a trial kept in a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frames that one capture may hold at most.
pub const CAPTURE_FRAMES_MAX: u64 = 10_000_000;
/// Memory that one capture may take at least and at most.
pub const CAPTURE_BYTES_RANGE: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// Which frames to capture, by the way they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaptureWay {
    /// Those that leave the tester.
    Sent,
    /// Test frames that arrive.
    Received,
    /// All of these.
    #[default]
    Both,
}

impl CaptureWay {
    /// Whether frames that leave are among them.
    #[must_use]
    pub fn takes_sent(self) -> bool {
        self != Self::Received
    }

    /// Whether frames that arrive are among them.
    #[must_use]
    pub fn takes_received(self) -> bool {
        self != Self::Sent
    }
}

/// Frames to be kept in memory during a trial, and written to a pcapng file after it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// Where to; written anew.
    pub file: String,
    /// Indices of the ports; empty: all.
    #[serde(default)]
    pub ports: Vec<usize>,
    /// Frames that leave, that arrive, or both.
    #[serde(default)]
    pub way: CaptureWay,
    /// Only frames that this lets through, in the syntax of pcap-filter(7); needs libpcap.
    #[serde(default)]
    pub filter: Option<String>,
    /// The first so many; from 1 to 10 million.
    pub frame_count_max: u64,
    /// Memory they may take, from 2^20 to 2^30.
    pub bytes_max: u64,
    /// Bytes kept of each frame, from 14; of frames that arrive no more than the back end sees.
    pub snap_bytes: u32,
}

/// What came of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureReply {
    /// The file.
    pub file: String,
    /// Frames in it.
    pub frame_count: u64,
    /// Frames that should have been in it and did not fit: beyond the first `frame_count_max`, or `bytes_max`.
    pub dropped_count: u64,
}
