//! What the engine answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::CaptureReply;
use crate::layout::Layouts;
use crate::neighbor::{NeighborCounts, Resolved};
use crate::quality::{LossRuns, Reordering};
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
    Opened(Opened),
    /// Who answered, and what.
    Resolved(Resolved),
    /// What came of the learning frames.
    Checked(Checked),
    /// Progress of the running trial.
    Window(Window),
    /// The trial's counts.
    Trial(Box<TrialReply>),
    /// What frames a file has to replay.
    Inspected(Inspected),
    /// The filter can be used.
    Compiled(Compiled),
    /// What frames are made of.
    Frames(Layouts),
    /// The ports are closed.
    Closed(Closed),
    /// The request could not be carried out; the engine goes on.
    Error(ErrorReply),
}

/// Who is speaking.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// Version of the shapes on this pipe.
    pub protocol: u32,
    /// Version of the engine.
    pub version: String,
    /// Commit it was built from; ends in `+` when the tree had changes.
    pub commit: String,
    /// Whether it was built with DPDK.
    #[serde(default)]
    pub dpdk: bool,
}

/// What is known of an open port.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PortFacts {
    /// Interface name.
    pub interface: String,
    /// Back end in use.
    pub backend: String,
    /// Why that one, and how it works here; empty where there was no choice.
    pub why: String,
    /// Received frames it can hold.
    pub queue_slots: u32,
    /// What it can stamp frames with; none where it is no interface of the kernel or does not say.
    #[serde(default)]
    pub timestamping: Option<Timestamping>,
}

/// What stamps an interface can give frames; the engine takes the kernel's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Timestamping {
    /// The kernel stamps frames as they come.
    pub software: bool,
    /// The card itself stamps all frames, those that leave and those that come.
    pub hardware: bool,
    /// The card's clock, `/dev/ptp<n>`; only ports that share one can be compared.
    pub phc_index: Option<u32>,
}

/// Answer to `open`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Opened {
    /// In the order asked.
    pub ports: Vec<PortFacts>,
    /// Threads a trial will run on.
    pub thread_count: usize,
}

/// Answer to `inspect`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Inspected {
    /// Frames that would be sent in turn.
    pub frame_count: u64,
    /// How many of them differ.
    pub template_count: usize,
    /// Those that had to grow for the signature to fit.
    pub grown_count: u64,
    /// Their sizes, with how many there are of each.
    pub sizes: Vec<SizeShare>,
    /// Where signatures begin.
    pub signature_offsets: Vec<usize>,
}

/// Answer to `compile`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Compiled {
    /// How long the filter's program is.
    pub instruction_count: u32,
}

/// Answer to `close`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Closed {}

/// Connectivity of one stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionCheck {
    /// The stream.
    pub stream_id: u16,
    /// Learning frames sent.
    pub sent_count: u64,
    /// Of those, how many arrived at the port they should.
    pub received_count: u64,
    /// Where they arrived and as what, at whichever port.
    #[serde(default)]
    pub arrivals: Vec<CheckArrival>,
}

/// Learning frames of one stream that arrived alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckArrival {
    /// The port.
    pub port: usize,
    /// The outermost VLAN they came in; None: without a tag.
    pub vlan: Option<u16>,
    /// Source MAC address.
    pub src: String,
    /// Destination MAC address.
    pub dst: String,
    /// How many.
    pub count: u64,
}

/// Answer to `check`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// One per stream, in their order.
    pub directions: Vec<DirectionCheck>,
}

/// Totals of the running trial at the end of a window.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Window {
    /// The trial it belongs to.
    pub trial_id: u64,
    /// Since the first frame was due.
    pub elapsed_s: f64,
    /// Frames sent so far, all streams.
    pub offered_count: u64,
    /// Distinct frames received so far, all streams.
    pub received_count: u64,
    /// Frames certainly lost so far, all streams: missing though overtaken before the window began, or sent 2 s before.
    pub lost_count: u64,
    /// The same by column of the time series: frames sent so far.
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
    /// Where its frames left.
    pub tx_port: usize,
    /// Where they had to arrive.
    pub rx_port: usize,
    /// Frames that load and duration ask for.
    pub intended_count: u64,
    /// Frames that really left.
    pub offered_count: u64,
    /// Distinct frames that arrived.
    pub received_count: u64,
    /// Offered minus received.
    pub lost_count: u64,
    /// Arrivals of frames that had arrived before.
    pub duplicate_count: u64,
    /// Arrivals after a later frame of the stream (RFC 4737).
    pub out_of_order_count: u64,
    /// None when nothing came out of order.
    pub reordering: Option<Reordering>,
    /// Losses as runs of consecutive frames; None when nothing was lost.
    pub loss_runs: Option<LossRuns>,
    /// Longest time between two arrivals.
    pub arrival_gap_max_ns: u64,
}

/// What a column of the time series is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Where its frames leave.
    pub tx_port: usize,
    /// Where they have to arrive.
    pub rx_port: usize,
    /// The stream, where there are no more than 16; else the column is about all between these ports.
    pub stream_id: Option<u16>,
}

/// The trial as a time series; column vectors, one entry per window.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Windows {
    /// What each column is about.
    pub series: Vec<Series>,
    /// End of each window since the first frame was due; the last one ends with the wait for frames in flight.
    pub end_s: Vec<f64>,
    /// Frames sent within each window: `[series][window]`.
    pub offered_count: Vec<Vec<u64>>,
    /// Distinct frames received within each window: `[series][window]`.
    pub received_count: Vec<Vec<u64>>,
    /// Frames lost, by the window in which a later frame overtook them: `[series][window]`. The last window takes those
    /// that none overtook, so that the windows add up to the series' lost frames.
    pub lost_count: Vec<Vec<u64>>,
}

/// How far a trial's counts can be trusted; ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing speaks against them.
    Valid,
    /// They are true, but the tester or the host may have shaped them.
    Suspect,
    /// They do not speak for the SUT.
    Invalid,
}

/// One reason why a trial is not simply valid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Stable name of the reason.
    pub code: String,
    /// What this reason alone makes of the trial.
    pub verdict: Verdict,
    /// The figure found and the limit it broke.
    pub text: String,
}

/// Counts and verdict of one trial.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrialReply {
    /// The trial.
    pub trial_id: u64,
    /// Time really sent for.
    pub duration_s: f64,
    /// The stop rule or a `stop` request ended it.
    pub stopped_early: bool,
    /// The clause of the stop rule that did.
    pub stopped_by: Option<StopClause>,
    /// In the order of the open streams.
    pub streams: Vec<StreamCounts>,
    /// Test frames that arrived with other content than was sent; they count as lost. Known of frames of up to 128 bytes
    /// whose signature follows a UDP header.
    pub corrupted_count: u64,
    /// Latency, by stream or by direction.
    pub directions: Vec<DirectionTimes>,
    /// How sending went, one for each sending port.
    pub senders: Vec<SenderTimes>,
    /// Frames that reached the tester's ports and were dropped in its own receive path.
    pub tester_drop_count: u64,
    /// CPU time of the engine over the trial, in cores.
    pub tester_cpu_ratio: f64,
    /// ARP and neighbour discovery meanwhile, of each port with stations.
    pub neighbors: Vec<NeighborCounts>,
    /// The time series.
    pub windows: Windows,
    /// Empty means valid.
    pub doubts: Vec<Doubt>,
    /// What was captured; None where nothing was to be.
    #[serde(default)]
    pub capture: Option<CaptureReply>,
}

/// What went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The line was not a request.
    Protocol,
    /// The request asks for something impossible.
    Request,
    /// A port could not be opened or failed.
    Port,
    /// Nobody on the link told the MAC address of an address.
    Neighbor,
}

/// Asked, found, do.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ErrorReply {
    /// Which side has to change.
    pub kind: ErrorKind,
    /// As a sentence.
    pub message: String,
}
