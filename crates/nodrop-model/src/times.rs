//! Durations: of frames on their way, between frames, and by which the tester was late.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Durations in nanoseconds, from an HdrHistogram of three significant digits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSummary {
    /// Durations counted.
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
    /// The frames measured.
    #[serde(flatten)]
    pub latency: TimeSummary,
    /// Packet delay variation: 99.9th percentile minus smallest (RFC 5481 sections 4.2 and 6.5).
    pub pdv_ns: u64,
    /// Inter-packet delay variation: the difference of the latencies of frames sent one after the other, without its sign
    /// (RFC 5481 section 4.1). None without such frames.
    pub ipdv: Option<TimeSummary>,
    /// HdrHistogram V2 of the latencies, deflated, base64; only when asked for.
    pub hdr: Option<String>,
}

/// Times of the frames of a series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionTimes {
    /// Where its frames left.
    pub tx_port: usize,
    /// Where they had to arrive.
    pub rx_port: usize,
    /// The stream, where there are no more than 256; else this is about all between these ports.
    pub stream_id: Option<u16>,
    /// Of every so many frames of a stream the latency was measured; 0: of none.
    pub latency_every: u64,
    /// None when nothing arrived.
    pub latency: Option<LatencySummary>,
}

/// When a sender stood still for longer than it may catch up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// How often.
    pub count: u64,
    /// The longest.
    pub longest_ns: u64,
    /// When that began, since the first frame was due.
    pub longest_at_s: f64,
}

/// How the frames of one port left.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderTimes {
    /// The sending port.
    pub port: usize,
    /// Actual minus intended send time; None when nothing was sent.
    pub lateness: Option<TimeSummary>,
    /// Time between two frames. Frames handed to the port at once share the time that took evenly.
    pub gaps: Option<TimeSummary>,
    /// None when it never stood still.
    pub stalls: Option<Stall>,
    /// Frames that were due longer ago than may be caught up, and so were never sent.
    pub unsent_count: u64,
}
