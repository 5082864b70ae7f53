//! Runs one trial at a time: pace, send, receive, count, check validity. Generic over ports and clock; independent of
//! back ends.
//!
//! [`Engine`] owns open ports and prepared streams. A trial runs worker threads, which send and receive, under a
//! conductor, which samples their counters every few milliseconds, applies the stop rule and waits for frames in
//! flight. Between trials no thread runs.

mod burst;
mod capture;
mod conductor;
mod context;
mod disturbance;
#[cfg(fuzzing)]
pub mod fuzzing;
mod histogram;
mod host_snapshot;
mod live_loss;
mod loss_runs;
mod loss_timeline;
mod neighbors;
mod pacer;
mod path_check;
mod pattern;
mod receive_lane;
mod schedule;
mod send_lane;
mod send_phases;
mod send_times;
mod series;
mod shared_counters;
mod starvation;
mod tap;
mod timetable;
mod tracker;
mod trial;
mod trial_reply;
mod validity;
mod window_latency;
mod worker;

use nodrop_model::{CheckReply, DoubtReason, LoadPattern, LoadPhase, SignatureForm, TrialReply, TrialRequest, Window};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit};
use nodrop_wire::{Frames, TRIAL_TAGS};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use crate::context::TrialContext;
use crate::disturbance::SpeedHistories;
use crate::series::TrialSeries;

pub use neighbors::{Neighbors, StationPort, announcements};
pub use pacer::Pacer;
pub use timetable::unsupported_reason as self_pacing_unsupported_reason;
pub use tracker::{Arrival, Tracker};
pub use validity::{TrialObservations, find_doubts};

/// A port of the engine.
#[derive(Debug)]
pub struct Port<T, R> {
    /// Name for messages.
    pub name: String,
    /// Sending half.
    pub tx: T,
    /// Receiving half.
    pub rx: R,
}

/// A stream to send.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Frames of the stream.
    pub frames: Frames,
    /// Index of the sending port.
    pub tx_port: usize,
    /// Index of the port at which its frames must arrive.
    pub rx_port: usize,
}

/// Errors of a trial.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A port failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The request is invalid or does not fit the open ports and streams.
    #[error("{0}")]
    Request(String),
    /// An address was not resolved.
    #[error("{0}")]
    Neighbor(String),
    /// A thread of the engine panicked.
    #[error("a thread of the engine panicked; see its standard error")]
    Panic,
}

/// Maximum number of frames of a trial, so that no stream's sequence numbers repeat.
const FRAMES_MAX: f64 = (1u64 << 40) as f64;
/// The same of a signature in headers.
const HEADER_FRAMES_MAX: f64 = (1u64 << 32) as f64;
/// Maximum factor on the time after which an overtaken frame counts as lost.
const LATE_FACTOR_MAX: u32 = 64;

/// Open ports and prepared streams.
#[derive(Debug)]
pub struct Engine<T, R, C> {
    ports: Vec<Port<T, R>>,
    streams: Vec<Stream>,
    cores: Vec<usize>,
    clock: C,
    speed_histories: Mutex<SpeedHistories>,
    late_factor: u32,
    next_tag: u8,
}

impl<T: Transmit, R: Receive, C: Clock> Engine<T, R, C> {
    /// Take ownership of ports and streams; `cores` as in [`nodrop_model::OpenRequest`].
    ///
    /// # Errors
    /// If a stream refers to a missing port, a stream id is used twice, or streams have different forms of signatures.
    pub fn new(ports: Vec<Port<T, R>>, streams: Vec<Stream>, cores: Vec<usize>, clock: C) -> Result<Self, EngineError> {
        let mut ids = std::collections::BTreeSet::new();
        for stream in &streams {
            let id = stream.frames.stream_id();
            let highest = stream.tx_port.max(stream.rx_port);
            if highest >= ports.len() {
                let message = format!("stream {id}: no port with index {highest}; use an index below {}", ports.len());
                return Err(EngineError::Request(message));
            }
            if !ids.insert(id) {
                return Err(EngineError::Request(format!(
                    "stream {id}: duplicate id; use a unique id for every stream"
                )));
            }
        }
        if ports.is_empty() || streams.is_empty() {
            return Err(EngineError::Request(
                "ports or streams are missing; open at least one port and one stream".to_owned(),
            ));
        }
        if streams.iter().any(|stream| stream.frames.signature() != streams[0].frames.signature()) {
            let message = "signature: streams differ; use the same form in all of them";
            return Err(EngineError::Request(message.to_owned()));
        }
        Ok(Self { ports, streams, cores, clock, speed_histories: Mutex::default(), late_factor: 1, next_tag: 0 })
    }

    /// Return the number of threads of a trial.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        // A self-paced port occupies a thread.
        let least = if self.ports.iter().any(|port| port.tx.egress_port().is_some()) { 2 } else { 1 };
        self.cores.len().clamp(least, 2 * self.ports.len().max(least))
    }

    /// Send learning frames along every stream until all have arrived, or `timeout_s` has passed.
    ///
    /// # Errors
    /// If the timeout is invalid, or a port fails.
    pub fn check(&mut self, timeout_s: f64) -> Result<CheckReply, EngineError> {
        if !(0.0..=86_400.0).contains(&timeout_s) {
            return Err(EngineError::Request(format!("timeout_s: {timeout_s} is out of range; use 0 to 86400")));
        }
        let tag = self.take_tag();
        path_check::check(&mut self.ports, &self.streams, &self.clock, tag, timeout_s)
    }

    /// Run one trial; `on_window` is called for every window, `stop` ends the trial early when set.
    ///
    /// # Errors
    /// If the request does not fit the streams, or a port fails.
    pub fn trial(
        &mut self,
        request: &TrialRequest,
        stop: &AtomicBool,
        on_window: impl FnMut(Window),
    ) -> Result<TrialReply, EngineError> {
        check_request(request, &self.streams)?;
        let tag = self.take_tag();
        let threads = self.thread_count();
        let series = TrialSeries::new(&self.streams, request);
        let context = TrialContext {
            request,
            tag,
            threads,
            cores: &self.cores,
            stop,
            series: &series,
            speed_histories: &self.speed_histories,
            late_factor: self.late_factor,
        };
        trial::discard_stale(&mut self.ports)?;
        let (streams, clock) = (&self.streams, &self.clock);
        let reply = match &request.capture {
            None => trial::run(&mut self.ports, streams, clock, &context, on_window),
            Some(capture) => capture::run(&mut self.ports, capture, clock, |ports| {
                trial::run(ports, streams, clock, &context, on_window)
            }),
        }?;
        if reply.doubts.iter().any(|doubt| matches!(doubt.reason, DoubtReason::StoppedForLate { .. })) {
            self.late_factor = (2 * self.late_factor).min(LATE_FACTOR_MAX);
        }
        Ok(reply)
    }

    fn take_tag(&mut self) -> u8 {
        self.next_tag = (self.next_tag + 1) % TRIAL_TAGS;
        self.next_tag
    }
}

fn check_request(request: &TrialRequest, streams: &[Stream]) -> Result<(), EngineError> {
    let stream_count = streams.len();
    let error = |message: String| Err(EngineError::Request(message));
    if request.loads_pps.len() != stream_count {
        return error(format!(
            "loads_pps: {} loads for {stream_count} streams; give one load per stream",
            request.loads_pps.len()
        ));
    }
    let change_lens = request.load_changes.iter().map(|change| change.loads_pps.len());
    if let Some(len) = change_lens.into_iter().find(|len| *len != stream_count) {
        return error(format!("load_changes: {len} loads for {stream_count} streams; give one load per stream"));
    }
    if let Some(message) = request.range_error() {
        return error(message);
    }
    if !request.load_changes.is_empty() && !matches!(request.pattern, LoadPattern::Flat) {
        return error("load_changes: only a flat load changes within a trial; use the pattern flat".to_owned());
    }
    if request.burst && !matches!(request.pattern, LoadPattern::Flat) {
        return error("burst: the load within a burst is flat; use the pattern flat".to_owned());
    }
    if request.burst && !request.load_changes.is_empty() {
        return error("burst: the load does not change within a burst; leave out load_changes".to_owned());
    }
    let frame_count = |phase: &LoadPhase<'_>| phase.loads_pps.iter().sum::<f64>() * phase.duration_s();
    let frame_count_max: f64 = request.load_phases().iter().map(frame_count).sum();
    let is_in_headers = streams.iter().any(|stream| stream.frames.signature() == SignatureForm::Headers);
    let (limit, limit_text) = if is_in_headers { (HEADER_FRAMES_MAX, "2^32") } else { (FRAMES_MAX, "2^40") };
    if frame_count_max > limit {
        return error(format!(
            "loads_pps and duration_s: {frame_count_max:.3e} frames are too many; use at most {limit_text}"
        ));
    }
    pattern::pattern_error(&request.pattern, request.duration_s, frame_count_max).map_or(Ok(()), error)
}
