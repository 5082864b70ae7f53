//! The nouns that `nodrop-engine` and its callers speak, as JSON lines: one request a line in, one reply a line out.
//!
//! Names carry their unit: `_pps`, `_s`, `_ns`, `_count`, `_bytes`. Frame sizes count the FCS (RFC 1242 3.5).

mod capture;
mod layout;
mod neighbor;
mod pattern;
mod quality;
mod reply;
mod request;
mod stop;
mod times;
mod traffic;

pub use capture::{CAPTURE_BYTES_RANGE, CAPTURE_FRAMES_MAX, CaptureReply, CaptureRequest, CaptureWay};
pub use layout::{ChecksumLayout, FieldLayout, LayerLayout, LayoutRequest, Layouts, StreamLayout, Words};
pub use neighbor::{Answer, NeighborCounts, Question, Resolve, Resolved, Station};
pub use pattern::{LoadPattern, StairDirection};
pub use quality::{LossRuns, Reordering};
pub use reply::{
    CheckArrival, Checked, Closed, Compiled, DirectionCheck, Doubt, ErrorKind, ErrorReply, Hello, Inspected, Opened,
    PortFacts, Reply, Series, StreamCounts, Timestamping, TrialReply, Verdict, Window, Windows,
};
pub use request::{Backend, Check, CompileFilter, Copying, FaultSpec, Open, PortSpec, Request, TrialRequest};
pub use stop::{StopClause, StopRule};
pub use times::{DirectionTimes, LatencySummary, SenderTimes, Stall, TimeSummary};

pub use traffic::{
    Arp, Ethernet, Field, FieldRange, FieldValue, FieldValues, Gre, IcmpEcho, Ipv4, Ipv6, Layer, Mpls, Nd, ReplaySpec,
    SizeOrder, SizeShare, StreamSpec, Tcp, Udp, Vlan, Vxlan,
};

/// Version of the request and reply shapes; a caller refuses an engine that speaks another one.
pub const PROTOCOL_VERSION: u32 = 3;

/// Traffic's worth of time that may go unsent without counting as lost, in seconds.
///
/// Source: draft-ietf-bmwg-mlrsearch-01 section 5.1 item 5.
pub const UNSENT_TOLERANCE_S: f64 = 10e-6;

/// Time after the end of sending in which a sender that was held up just before may still catch up, in seconds.
///
/// A sender catches up after being held up in the middle of a trial; without this, where the delay happens to fall would
/// decide whether frames count as lost.
pub const CATCH_UP_MAX_S: f64 = 5e-3;

/// Longest wait for frames still in flight after sending, in seconds (RFC 2544 section 23).
pub const DRAIN_MAX_S: f64 = 2.0;
