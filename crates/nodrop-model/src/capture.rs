//! Capture of a trial's frames to a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of frames in one capture.
pub const CAPTURE_FRAMES_MAX: u64 = 10_000_000;
/// Allowed memory of one capture, in bytes.
pub const CAPTURE_BYTES_RANGE: std::ops::RangeInclusive<u64> = 1 << 20..=1 << 30;

/// Frames to capture, by direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CaptureDirection {
    /// Frames that leave the tester.
    Sent,
    /// Test frames that arrive.
    Received,
    /// Both directions.
    #[default]
    Both,
}

impl CaptureDirection {
    /// Return true if sent frames are captured.
    #[must_use]
    pub fn includes_sent(self) -> bool {
        self != Self::Received
    }

    /// Return true if received frames are captured.
    #[must_use]
    pub fn includes_received(self) -> bool {
        self != Self::Sent
    }
}

/// Frames to hold in memory during a trial and write to a pcapng file afterwards.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    /// Path of the file; overwritten if it exists.
    pub file: String,
    /// Indices of the ports; empty means all ports.
    #[serde(default)]
    pub ports: Vec<usize>,
    /// Sent frames, received frames, or both.
    #[serde(rename = "way", default)]
    pub direction: CaptureDirection,
    /// Capture only frames that match this filter (syntax of pcap-filter(7)); needs libpcap.
    #[serde(default)]
    pub filter: Option<String>,
    /// Capture only the first N frames; 1 to 10 million.
    pub frame_count_max: u64,
    /// Memory limit of the capture, from 2^20 to 2^30 bytes.
    pub bytes_max: u64,
    /// Bytes stored of each frame, at least 14. Of a received frame, at most the bytes that the back end reads.
    pub snap_bytes: u32,
}

/// Result of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureReply {
    /// The file.
    pub file: String,
    /// Frames in it.
    pub frame_count: u64,
    /// Frames that were not stored because `frame_count_max` or `bytes_max` was reached.
    pub dropped_count: u64,
}
