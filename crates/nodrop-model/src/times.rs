//! Times: latency, gaps between frames, and lateness of the tester.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Durations in nanoseconds, from an HdrHistogram of three significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    /// Number of durations.
    pub count: u64,
    /// Smallest.
    pub min_ns: u64,
    /// Arithmetic mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// Largest.
    pub max_ns: u64,
}

/// Latency: receive time minus actual send time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencySummary {
    /// Latency of the measured frames.
    #[serde(flatten)]
    pub latency: TimeSummary,
    /// Packet delay variation: 99.9th percentile minus minimum (RFC 5481 sections 4.2 and 6.5).
    pub pdv_ns: u64,
    /// Inter-packet delay variation: absolute difference between the latencies of consecutive frames (RFC 5481 section
    /// 4.1). None without such frames.
    pub ipdv: Option<TimeSummary>,
    /// HdrHistogram V2 of the latencies, deflated, base64; only on request.
    pub hdr: Option<String>,
}

/// Latency of the frames of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionTimes {
    /// Sending port.
    pub tx_port: usize,
    /// Expected port of arrival.
    pub rx_port: usize,
    /// Stream, if there are at most 256; otherwise None, and the entry covers all streams between these ports.
    pub stream_id: Option<u16>,
    /// Latency was measured for every n-th frame of a stream; 0 means none.
    pub latency_every: u64,
    /// None if no frame arrived.
    pub latency: Option<LatencySummary>,
}

/// Periods in which a sender stalled for longer than it may catch up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Number of stalls.
    pub count: u64,
    /// Duration of the longest stall.
    pub longest_ns: u64,
    /// Start of the longest stall, in seconds since the first frame was due.
    pub longest_at_s: f64,
}

/// Send timing of a burst (RFC 9004 section 5): whether it left as intended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BurstTimes {
    /// Time at which its first frame was sent, since the trial's first frame was due.
    pub first_sent_ns: u64,
    /// Time at which its last frame was sent, since the trial's first frame was due.
    pub last_sent_ns: u64,
    /// Longest time between two consecutive frames.
    pub gap_max_ns: u64,
    /// Largest number of frames ahead of the intended load: the longest queue of them if it is emptied at that load,
    /// without the frame that is leaving it.
    pub ahead_max_count: u64,
    /// Time by which the timetable moved because the sender was held up.
    pub shift_ns: u64,
}

/// Send timing of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderTimes {
    /// The sending port.
    pub port: usize,
    /// Actual minus intended send time, that of a burst in its moved timetable; None if no frame was sent.
    pub lateness: Option<TimeSummary>,
    /// Time between consecutive frames. Frames of one batch share the time of the batch evenly.
    pub gaps: Option<TimeSummary>,
    /// None if the sender never stalled.
    pub stalls: Option<Stall>,
    /// Frames that were never sent because they were due longer ago than the catch-up limit.
    pub unsent_count: u64,
    /// None unless the trial is a burst.
    #[serde(default)]
    pub burst: Option<BurstTimes>,
}
