//! Replies of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::CaptureReply;
use crate::disturbance::{CpuSpeed, DisturbedTime, OtherWork, UndisturbedCounts};
use crate::doubt::Doubt;
use crate::layout::LayoutReply;
use crate::neighbor::{NeighborCounts, ResolveReply};
use crate::quality::{LossRun, LossRuns, Reordering};
use crate::stop::StopClause;
use crate::times::{DirectionTimes, SenderTimes};
use crate::traffic::SizeShare;

/// One line on the engine's standard output.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// The engine is up; sent once, before any request.
    Hello(Hello),
    /// The ports are open.
    Opened(OpenReply),
    /// MAC addresses of the requested addresses.
    Resolved(ResolveReply),
    /// Arrivals of the learning frames.
    Checked(CheckReply),
    /// Progress of the running trial.
    Window(Window),
    /// The trial's counts.
    Trial(Box<TrialReply>),
    /// Frames of a replay file.
    Inspected(InspectReply),
    /// The filter is valid.
    Compiled(CompileReply),
    /// What the kernel lets the engine do.
    Probed(ProbeReply),
    /// Layouts of the requested frames.
    Frames(LayoutReply),
    /// The ports are closed.
    Closed(CloseReply),
    /// The request failed; the engine continues.
    Error(ErrorReply),
}

/// Identity of the engine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the protocol.
    pub protocol: u32,
    /// Version of the engine.
    pub version: String,
    /// Commit the engine was built from; ends in `+` if the tree was modified.
    pub commit: String,
    /// Whether the engine was built with DPDK.
    #[serde(default)]
    pub dpdk: bool,
}

/// Properties of an open port.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PortFacts {
    /// Interface name.
    pub interface: String,
    /// Back end in use.
    pub backend: String,
    /// Reason for this back end and its mode; empty if the request named the back end.
    pub why: String,
    /// Size of the receive queue, in frames.
    pub queue_slots: u32,
    /// Timestamping capabilities; None if the port is no kernel interface or its driver does not report them.
    #[serde(default)]
    pub timestamping: Option<Timestamping>,
}

/// Timestamping capabilities of an interface; the engine uses kernel timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timestamping {
    /// The kernel timestamps received frames.
    pub software: bool,
    /// The network card timestamps all frames, sent and received.
    pub hardware: bool,
    /// Hardware clock of the card, `/dev/ptp<n>`; timestamps are comparable only between ports of the same clock.
    pub phc_index: Option<u32>,
}

/// Reply to `open`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OpenReply {
    /// Ports, in the order of the request.
    pub ports: Vec<PortFacts>,
    /// Number of threads of a trial.
    pub thread_count: usize,
}

/// Reply to `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InspectReply {
    /// Frames of one pass over the file.
    pub frame_count: u64,
    /// Number of distinct frames.
    pub template_count: usize,
    /// Frames that were extended to make space for the signature.
    pub grown_count: u64,
    /// Frames of links other than Ethernet, which are skipped.
    #[serde(default)]
    pub other_link_count: u64,
    /// Number of whole frames of a file that ends within a frame; None if it does not.
    #[serde(default)]
    pub cut_off_after: Option<u64>,
    /// Frame sizes and their counts.
    pub sizes: Vec<SizeShare>,
    /// Offsets at which signatures begin.
    pub signature_offsets: Vec<usize>,
}

/// Reply to `compile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompileReply {
    /// Length of the compiled filter program.
    pub instruction_count: u32,
}

/// Reply to `probe`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeReply {
    /// Reason why XDP programs cannot send frames (back end `xdp_live`); None if they can.
    pub xdp_live_refusal: Option<String>,
}

/// Reply to `close`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CloseReply {}

/// Connectivity of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionCheck {
    /// The stream.
    pub stream_id: u16,
    /// Learning frames sent.
    pub sent_count: u64,
    /// Learning frames that arrived at the expected port.
    pub received_count: u64,
    /// Arrivals at all ports.
    #[serde(default)]
    pub arrivals: Vec<CheckArrival>,
}

/// Learning frames of one stream that arrived with the same addresses and tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckArrival {
    /// Port of arrival.
    pub port: usize,
    /// Outermost VLAN; None if untagged.
    pub vlan: Option<u16>,
    /// Source MAC address.
    pub src: String,
    /// Destination MAC address.
    pub dst: String,
    /// Number of frames.
    pub count: u64,
}

/// Reply to `check`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckReply {
    /// One entry per stream, in the order of the open streams.
    pub directions: Vec<DirectionCheck>,
}

/// Totals of the running trial at the end of a window.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The trial it belongs to.
    pub trial_id: u64,
    /// Time since the first frame was due, in seconds.
    pub elapsed_s: f64,
    /// Frames sent so far, all streams.
    pub offered_count: u64,
    /// Distinct frames received so far, all streams.
    pub received_count: u64,
    /// Frames certainly lost so far, all streams: missing although overtaken before the window began, or sent 2 s
    /// earlier.
    pub lost_count: u64,
    /// Frames sent so far, by column of the time series.
    #[serde(default)]
    pub series_offered_count: Vec<u64>,
    /// Distinct frames received so far, by column of the time series.
    #[serde(default)]
    pub series_received_count: Vec<u64>,
}

/// The frames of one stream, each counted once.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StreamCounts {
    /// The stream.
    pub stream_id: u16,
    /// Sending port.
    pub tx_port: usize,
    /// Expected port of arrival.
    pub rx_port: usize,
    /// Frames that load and duration require.
    pub intended_count: u64,
    /// Frames actually sent.
    pub offered_count: u64,
    /// Distinct frames that arrived.
    pub received_count: u64,
    /// Offered minus received.
    pub lost_count: u64,
    /// Arrivals of frames that had already arrived.
    pub duplicate_count: u64,
    /// Frames whose arrival fields were compared.
    #[serde(default)]
    pub compared_count: u64,
    /// Of these, frames with another value than required.
    #[serde(default)]
    pub misdelivered_count: u64,
    /// Arrivals after a later frame of the stream (RFC 4737).
    pub out_of_order_count: u64,
    /// None if no frame arrived out of order.
    pub reordering: Option<Reordering>,
    /// Runs of consecutive lost frames; None if no frame was lost.
    pub loss_runs: Option<LossRuns>,
    /// The runs in time, by sequence number, if the request limits their number; fewer than `loss_runs` counts if they
    /// exceed the limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loss_timeline: Vec<LossRun>,
    /// Longest time between two arrivals.
    pub arrival_gap_max_ns: u64,
    /// Time of the first arrival, in nanoseconds since the trial's first frame was due. None unless the trial is a
    /// burst, and if no frame arrived.
    #[serde(default)]
    pub first_arrival_ns: Option<i64>,
    /// The same of the last arrival.
    #[serde(default)]
    pub last_arrival_ns: Option<i64>,
    /// Sequence number of the next frame at each load change.
    #[serde(default)]
    pub change_sequences: Vec<u64>,
}

/// Subject of a column of the time series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Sending port.
    pub tx_port: usize,
    /// Expected port of arrival.
    pub rx_port: usize,
    /// Stream, if there are at most 16; otherwise None, and the column covers all streams between these ports that begin
    /// to send with the same load change.
    pub stream_id: Option<u16>,
    /// Number of the load change with which its streams begin to send, from 1; 0: they send from the begin.
    #[serde(default)]
    pub first_phase: usize,
}

/// The trial as a time series; column vectors, one entry per window.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// Subject of each column.
    pub series: Vec<Series>,
    /// End of each window, in seconds since the first frame was due; the last window includes the wait for frames in
    /// flight.
    pub end_s: Vec<f64>,
    /// Frames sent within each window: `[series][window]`.
    pub offered_count: Vec<Vec<u64>>,
    /// Distinct frames received within each window: `[series][window]`.
    pub received_count: Vec<Vec<u64>>,
    /// Frames lost, by the window in which a later frame overtook them: `[series][window]`. The last window includes
    /// frames that no frame overtook, so that the windows add up to the series' lost frames.
    pub lost_count: Vec<Vec<u64>>,
    /// Latency of the frames that arrived within each window, by series; empty if it was not requested.
    #[serde(default)]
    pub latency: Vec<WindowLatency>,
    /// Disturbed part of the windows.
    #[serde(default)]
    pub disturbed_time: DisturbedTime,
}

/// Latency of a series; one entry per window.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowLatency {
    /// Frames whose latency was measured.
    pub count: Vec<u64>,
    /// Sum of their latencies, in nanoseconds.
    pub sum_ns: Vec<u64>,
    /// Smallest latency; 0 without any.
    pub min_ns: Vec<u64>,
    /// Largest latency; 0 without any.
    pub max_ns: Vec<u64>,
}

/// Counts and verdict of one trial.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrialReply {
    /// The trial.
    pub trial_id: u64,
    /// Time at which the first frame was due, in nanoseconds since the epoch.
    #[serde(default)]
    pub begin_unix_ns: u64,
    /// Actual sending time, in seconds; that of a burst includes the time by which its timetable moved.
    pub duration_s: f64,
    /// A stop rule or a `stop` request ended the trial.
    pub stopped_early: bool,
    /// Clause of the stop rule that ended the trial.
    pub stopped_by: Option<StopClause>,
    /// In the order of the open streams.
    pub streams: Vec<StreamCounts>,
    /// Test frames received with modified content; they count as lost. Detected for frames of up to 128 bytes whose
    /// signature follows a UDP header.
    pub corrupted_count: u64,
    /// Latency, by stream or by direction.
    pub directions: Vec<DirectionTimes>,
    /// Send timing, one entry per sending port.
    pub senders: Vec<SenderTimes>,
    /// Frames that reached the tester's ports and were dropped in its own receive path.
    pub tester_drop_count: u64,
    /// CPU time of the engine over the trial, in cores.
    pub tester_cpu_ratio: f64,
    /// ARP and neighbor discovery during the trial, for each port with stations.
    pub neighbors: Vec<NeighborCounts>,
    /// The time series.
    pub windows: Windows,
    /// The trial without disturbed time; None if no time was disturbed, no frame is missing, or the request does not
    /// separate it.
    #[serde(default)]
    pub undisturbed_counts: Option<UndisturbedCounts>,
    /// What ran on the CPUs of tester and SUT in a disturbed trial, longest first.
    #[serde(default)]
    pub other_work: Vec<OtherWork>,
    /// Speed of the SUT's CPUs; empty if disturbed time is not separated, or the SUT is not pinned to CPUs.
    #[serde(default)]
    pub cpu_speeds: Vec<CpuSpeed>,
    /// Doubts; empty means valid.
    pub doubts: Vec<Doubt>,
    /// Capture; None if not requested.
    #[serde(default)]
    pub capture: Option<CaptureReply>,
}

/// Category of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The line was not a request.
    Protocol,
    /// The request cannot be carried out.
    Request,
    /// A port could not be opened or failed.
    Port,
    /// No station on the link answered for an address.
    Neighbor,
}

/// A failed request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// Category.
    pub kind: ErrorKind,
    /// Problem and fix, as one sentence.
    pub message: String,
}
