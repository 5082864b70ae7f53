//! What a caller may ask of the engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::capture::CaptureRequest;
use crate::layout::LayoutRequest;
use crate::neighbor::{Resolve, Station};
use crate::pattern::LoadPattern;
use crate::stop::StopRule;
use crate::traffic::{ReplaySpec, StreamSpec};

/// One line on the engine's standard input.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Request {
    /// Open ports and prepare streams; answered by `opened`.
    Open(Open),
    /// Ask for MAC addresses on the links; answered by `resolved`, or an error that names who did not answer.
    Resolve(Resolve),
    /// Send learning frames along every stream; answered by `checked`.
    Check(Check),
    /// Run one trial; answered by `window` lines and one `trial`.
    Trial(TrialRequest),
    /// End the running trial now; its `trial` reply follows with what was counted.
    Stop,
    /// Say what frames a file has to replay; answered by `inspected`.
    Inspect(ReplaySpec),
    /// Say whether a filter can be used; answered by `compiled`.
    Compile(CompileFilter),
    /// Say what frames streams are made of, for others to send; needs no ports. Answered by `frames`.
    Frames(LayoutRequest),
    /// Let go of all ports; answered by `closed`.
    Close,
}

/// How frames get in and out of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// The best of those for kernel interfaces that works there.
    Auto,
    /// Linux packet sockets: any interface, also in a user namespace.
    AfPacket,
    /// AF_XDP sockets: any interface, faster where its driver has XDP; needs CAP_BPF and CAP_NET_ADMIN.
    AfXdp,
    /// Frames made by an XDP program in the kernel, received through AF_XDP: fastest where no socket buffers are involved.
    XdpLive,
    /// DPDK devices, where the engine is built with DPDK.
    Dpdk,
    /// Ports in memory, wired in pairs (0 to 1, 2 to 3): for tests, touches nothing.
    Loopback,
    /// A datagram socket to another program, which has the real port: each frame a datagram, both ways.
    Relay,
}

/// Whether AF_XDP frames are handed over without being copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Copying {
    /// Without where the driver can.
    #[default]
    Auto,
    /// Never without.
    Copy,
    /// Only without.
    ZeroCopy,
}

fn yes() -> bool {
    true
}

fn queues() -> u32 {
    1
}

/// A port to open.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortSpec {
    /// How to reach it.
    pub backend: Backend,
    /// Interface name in the engine's network namespace; of a DPDK port its device arguments, as in
    /// `net_memif0,role=client`; of a relay the path of the other program's socket, beside which the engine's is made, with
    /// `.engine` behind its name.
    pub interface: String,
    /// Received frames it can hold before the tester itself drops.
    pub queue_slots: u32,
    /// Receive queues to listen to, from 0: `af_xdp` and `xdp_live`.
    #[serde(default = "queues")]
    pub queues: u32,
    /// Whether frames are copied: `af_xdp` and `xdp_live`.
    #[serde(default)]
    pub copying: Copying,
    /// What the tester is on this link, where neighbours shall find it.
    #[serde(default)]
    pub stations: Vec<Station>,
    /// Spoil what arrives: `loopback`, to try out what is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultSpec>,
}

/// Arrivals to spoil, counted from 1 since the port was opened; zero: none. One that several name is dropped, else held back,
/// else corrupted and repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FaultSpec {
    /// Drop every n-th.
    pub drop_every: u64,
    /// Deliver every n-th twice.
    pub repeat_every: u64,
    /// Hold back every n-th.
    pub delay_every: u64,
    /// Until so many more have arrived, at least one.
    pub delay_frames: u64,
    /// Flip the lowest bit of the last byte of every n-th.
    pub corrupt_every: u64,
}

/// Ports, streams and threads of the trials that follow.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// At least one.
    pub ports: Vec<PortSpec>,
    /// At least one.
    pub streams: Vec<StreamSpec>,
    /// CPUs to bind threads to, one thread each: senders on the first half, receivers on the second. Empty: one
    /// thread that does both, unbound. One CPU: the same, bound.
    #[serde(default)]
    pub cores: Vec<usize>,
    /// How often stations announce their single addresses unasked, also during trials: gratuitous ARP (RFC 5227),
    /// unsolicited neighbour advertisements (RFC 4861 section 7.2.6). Left out: never.
    #[serde(default)]
    pub announce_every_s: Option<f64>,
    /// Whether DPDK takes huge pages when enough of them are free; it starts with the first such ports, and stays as it is.
    #[serde(default = "yes")]
    pub huge_pages: bool,
}

/// A filter to be tried before it is needed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompileFilter {
    /// In the syntax of pcap-filter(7).
    pub filter: String,
}

/// A connectivity check before measuring.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// Give up after this long.
    pub timeout_s: f64,
}

/// One trial (RFC 2544 section 23).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRequest {
    /// Comes back in every reply about this trial.
    pub trial_id: u64,
    /// Intended load of each open stream, in their order.
    pub loads_pps: Vec<f64>,
    /// Time to send for.
    pub duration_s: f64,
    /// How the load varies around its mean.
    #[serde(default)]
    pub pattern: LoadPattern,
    /// When to stop earlier.
    #[serde(default)]
    pub stop: Option<StopRule>,
    /// Width of the time series' windows, at most 0.1 s.
    pub window_s: f64,
    /// How often to look for losses, at most 0.1 s. A frame is certainly lost when it had been overtaken at one look and is
    /// still missing at the next.
    #[serde(default = "look_s")]
    pub look_s: f64,
    /// A sender that was held up sends what was due for so long; what was due before is never sent, and counts as lost.
    #[serde(default = "catch_up_max_s")]
    pub catch_up_max_s: f64,
    /// Measure the latency of every so many frames of a stream; 0: of none. Left out: of every one up to 4 million frames
    /// per second and port, of fewer beyond.
    #[serde(default)]
    pub latency_every: Option<u64>,
    /// Also return the whole latency histograms.
    #[serde(default)]
    pub histograms: bool,
    /// Keep frames in a file.
    #[serde(default)]
    pub capture: Option<Box<CaptureRequest>>,
}

fn look_s() -> f64 {
    0.008
}

fn catch_up_max_s() -> f64 {
    0.02
}
