//! One trial at a time: pace, send, receive, count, judge. Generic over ports and clock; names no back end.
//!
//! [`Engine`] holds open ports and prepared streams. A trial runs workers, which send and receive, under a conductor, which
//! samples their counters every few milliseconds, applies the stop rule and waits for frames in flight. Between trials no thread runs.

mod capture;
mod conductor;
#[cfg(fuzzing)]
pub mod fuzzing;
mod groups;
mod histogram;
mod judge;
mod learn;
mod loss_runs;
mod losses;
mod neighbors;
mod outcome;
mod paced;
mod pacer;
mod pattern;
mod progress;
mod reading;
mod receive_lane;
mod schedule;
mod send_lane;
mod send_times;
mod tap;
mod tracker;
mod trial;
mod worker;

use nodrop_model::{Checked, TrialReply, TrialRequest, Window};
use nodrop_port::clock::Clock;
use nodrop_port::{PortError, Receive, Transmit};
use nodrop_wire::Frames;
use std::sync::atomic::AtomicBool;

use crate::groups::Groups;

pub use judge::{Observed, judge};
pub use neighbors::{Door, Neighbors, announcements};
pub use paced::refusal as paced_refusal;
pub use pacer::Pacer;
pub use tracker::{Arrival, Tracker};

/// A port the engine owns.
#[derive(Debug)]
pub struct Port<T, R> {
    /// Its name in messages.
    pub name: String,
    /// Sending half.
    pub tx: T,
    /// Receiving half.
    pub rx: R,
}

/// A stream the engine sends.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its frames.
    pub frames: Frames,
    /// Index of the sending port.
    pub tx_port: usize,
    /// Index of the port its frames must arrive at.
    pub rx_port: usize,
}

/// Why a trial could not be run.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// A port failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The request contradicts what is open.
    #[error("{0}")]
    Request(String),
    /// Nobody on a link answered.
    #[error("{0}")]
    Neighbor(String),
    /// A thread of the engine panicked.
    #[error("a thread of the engine panicked; see its standard error")]
    Panic,
}

/// Frames of a trial at most, so that no stream's sequence numbers repeat.
const FRAMES_MAX: f64 = (1u64 << 40) as f64;
/// How many times longer than asked a frame may be late at most before it is taken for lost.
const PATIENCE_MAX: u32 = 64;

/// Open ports and prepared streams.
#[derive(Debug)]
pub struct Engine<T, R, C> {
    ports: Vec<Port<T, R>>,
    streams: Vec<Stream>,
    cores: Vec<usize>,
    clock: C,
    groups: Groups,
    patience: u32,
    next_tag: u8,
}

impl<T: Transmit, R: Receive, C: Clock> Engine<T, R, C> {
    /// Take over ports and streams; `cores` as in [`nodrop_model::Open`].
    ///
    /// # Errors
    /// When a stream names a port that is not there, or a stream id is used twice.
    pub fn new(ports: Vec<Port<T, R>>, streams: Vec<Stream>, cores: Vec<usize>, clock: C) -> Result<Self, EngineError> {
        let mut ids = std::collections::BTreeSet::new();
        for stream in &streams {
            let id = stream.frames.stream_id();
            let highest = stream.tx_port.max(stream.rx_port);
            if highest >= ports.len() {
                let message = format!("stream {id}: names port {highest}, there are {} (counted from 0)", ports.len());
                return Err(EngineError::Request(message));
            }
            if !ids.insert(id) {
                return Err(EngineError::Request(format!(
                    "stream {id}: given twice; every stream needs an id of its own"
                )));
            }
        }
        if ports.is_empty() || streams.is_empty() {
            return Err(EngineError::Request("nothing to do: at least one port and one stream are needed".to_owned()));
        }
        let groups = Groups::new(&streams);
        Ok(Self { ports, streams, cores, clock, groups, patience: 1, next_tag: 0 })
    }

    /// Threads a trial runs on.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        // A port that keeps its timetable by itself keeps a thread busy with it.
        let least = if self.ports.iter().any(|port| port.tx.paced().is_some()) { 2 } else { 1 };
        self.cores.len().clamp(least, 2 * self.ports.len().max(least))
    }

    /// Send learning frames along every stream until one has arrived on each, or `timeout_s` is over.
    ///
    /// # Errors
    /// When that is no time to wait for, or a port fails.
    pub fn check(&mut self, timeout_s: f64) -> Result<Checked, EngineError> {
        if !(0.0..=86_400.0).contains(&timeout_s) {
            return Err(EngineError::Request(format!("timeout_s: {timeout_s}; must be from 0 to a day")));
        }
        let tag = self.take_tag();
        learn::check(&mut self.ports, &self.streams, &self.clock, tag, timeout_s)
    }

    /// Run one trial; `on_window` hears of every window, `stop` ends it early when set.
    ///
    /// # Errors
    /// When the request does not fit the streams, or a port fails.
    pub fn trial(
        &mut self,
        request: &TrialRequest,
        stop: &AtomicBool,
        on_window: impl FnMut(Window),
    ) -> Result<TrialReply, EngineError> {
        check_request(request, self.streams.len())?;
        let tag = self.take_tag();
        let threads = self.thread_count();
        let setting = trial::Setting {
            request,
            tag,
            threads,
            cores: &self.cores,
            stop,
            groups: &self.groups,
            patience: self.patience,
        };
        trial::discard_stale(&mut self.ports)?;
        let (streams, clock) = (&self.streams, &self.clock);
        let reply = match &request.capture {
            None => trial::run(&mut self.ports, streams, clock, &setting, on_window),
            Some(asked) => capture::run(&mut self.ports, asked, clock, |ports| {
                trial::run(ports, streams, clock, &setting, on_window)
            }),
        }?;
        if reply.doubts.iter().any(|doubt| doubt.code == judge::STOPPED_FOR_LATE) {
            self.patience = (2 * self.patience).min(PATIENCE_MAX);
        }
        Ok(reply)
    }

    fn take_tag(&mut self) -> u8 {
        self.next_tag = self.next_tag.wrapping_add(1);
        self.next_tag
    }
}

fn check_request(request: &TrialRequest, stream_count: usize) -> Result<(), EngineError> {
    let wrong = |message: String| Err(EngineError::Request(message));
    if request.loads_pps.len() != stream_count {
        return wrong(format!(
            "loads_pps: {} given, one per stream is needed: {stream_count}",
            request.loads_pps.len()
        ));
    }
    if let Some(load) = request.loads_pps.iter().find(|load| !(load.is_finite() && **load > 0.0)) {
        return wrong(format!("loads_pps: {load} frames per second; a load must be above 0"));
    }
    if !(request.duration_s > 0.0 && request.duration_s <= 86_400.0) {
        return wrong(format!("duration_s: {}; must be above 0 and at most a day", request.duration_s));
    }
    if !(0.001..=0.1).contains(&request.window_s) {
        return wrong(format!("window_s: {}; must be from 0.001 to 0.1", request.window_s));
    }
    if !(0.001..=0.1).contains(&request.look_s) {
        return wrong(format!("look_s: {}; must be from 0.001 to 0.1", request.look_s));
    }
    if !(0.0..=60.0).contains(&request.catch_up_max_s) {
        return wrong(format!("catch_up_max_s: {}; must be from 0 to 60", request.catch_up_max_s));
    }
    let frame_count_max = request.loads_pps.iter().sum::<f64>() * request.duration_s;
    if frame_count_max > FRAMES_MAX {
        return wrong(format!("loads_pps and duration_s: {frame_count_max:.3e} frames; sequence numbers end at 2^40"));
    }
    pattern::refusal(&request.pattern, request.duration_s, frame_count_max).map_or(Ok(()), wrong)
}
