//! Types of the protocol between `nodrop-engine` and its callers: JSON lines, one request per line in, one reply per
//! line out.
//!
//! Names carry their unit: `_pps`, `_s`, `_ns`, `_count`, `_bytes`. Frame sizes count the FCS (RFC 1242 3.5).

mod capture;
mod disturbance;
mod doubt;
mod field_program;
mod layout;
mod neighbor;
mod pattern;
mod quality;
mod reply;
mod request;
mod stop;
mod times;
mod traffic;

pub use capture::{CAPTURE_BYTES_RANGE, CAPTURE_FRAMES_MAX, CaptureDirection, CaptureReply, CaptureRequest};
pub use disturbance::{CpuSpeed, DisturbanceRule, DisturbedTime, OtherWork, UndisturbedCounts};
pub use doubt::{Doubt, DoubtReason, Validity};
pub use field_program::{ChecksumUpdate, CountingField, FieldProgram};
pub use layout::{ChecksumLayout, FieldLayout, LayerLayout, LayoutReply, LayoutRequest, StreamLayout, Words};
pub use neighbor::{NeighborCounts, Query, ResolveReply, ResolveRequest, ResolvedAddress, Station};
pub use pattern::{LoadPattern, StairDirection};
pub use quality::{FrameTimes, LossRun, LossRuns, Reordering};
pub use reply::{
    CheckArrival, CheckReply, CloseReply, CompileReply, DirectionCheck, ErrorKind, ErrorReply, Hello, InspectReply,
    OpenReply, PortFacts, ProbeReply, Reply, Series, StreamCounts, Timestamping, TrialReply, Window, WindowLatency,
    Windows,
};
pub use request::{
    Backend, CheckRequest, CompileRequest, CopyMode, FaultSpec, LoadChange, LoadPhase, OpenRequest, PortSpec, Request,
    TrialRequest,
};
pub use stop::{StopClause, StopRule};
pub use times::{BurstTimes, DirectionTimes, LatencySummary, SenderTimes, Stall, TimeSummary};

pub use traffic::{
    Anchor, Arp, ArrivalField, ArrivalValues, Ethernet, Field, FieldRange, FieldValue, FieldValues, Gre, IcmpEcho,
    Ipv4, Ipv6, Layer, Mpls, Nd, ReplaySpec, SignatureForm, SizeOrder, SizeShare, StreamSpec, Tcp, Udp, Vlan, Vxlan,
};

/// Version of the request and reply shapes; a caller rejects an engine of another version.
pub const PROTOCOL_VERSION: u32 = 7;

/// Amount of unsent traffic, as sending time in seconds, that does not count as lost.
///
/// Source: draft-ietf-bmwg-mlrsearch-01 section 5.1 item 5.
pub const UNSENT_TOLERANCE_S: f64 = 10e-6;

/// Longest wait for frames still in flight after sending, in seconds (RFC 2544 section 23).
pub const DRAIN_MAX_S: f64 = 2.0;
