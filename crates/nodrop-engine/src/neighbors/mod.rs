//! Stations that the tester emulates on its links: they reply to requests for their addresses, announce them, and
//! resolve other addresses.
//!
//! All messages use station ports that are separate from the ports of test frames, and a thread that sleeps until a
//! message arrives. So a trial's loops are not involved, and stations are also active between trials.

mod resolver;
mod responder;
mod station;

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nodrop_model::{NeighborCounts, ResolveReply, ResolveRequest};
use nodrop_port::{PortError, Receive, Transmit, wait};

use crate::EngineError;
use resolver::Resolver;
use responder::Responder;
use station::Station;

/// Longest sleep if every receiver can wake the thread.
const SLEEP_MAX: Duration = Duration::from_secs(3600);
/// Longest sleep if a receiver cannot.
const SLEEP_WITHOUT_DESCRIPTOR: Duration = Duration::from_millis(1);
/// Delay after a wake-up without a message: a socket in an error state wakes the thread repeatedly.
const IDLE_DELAY: Duration = Duration::from_millis(1);
/// Maximum number of messages per receiver and round.
const BATCH: usize = 64;
/// Shortest interval between announcements.
const ANNOUNCE_INTERVAL_MIN_S: f64 = 0.001;

/// Access to the link of a port's stations.
#[derive(Debug)]
pub struct StationPort<T, R> {
    /// Index of the port.
    pub port: usize,
    /// Name for messages.
    pub name: String,
    /// Stations on this link.
    pub stations: Vec<nodrop_model::Station>,
    /// Sender of the stations' messages.
    pub tx: T,
    /// Receivers of the neighbors' messages.
    pub receivers: Vec<R>,
}

/// The tester's stations, active until dropped.
#[derive(Debug)]
pub struct Neighbors<T> {
    responders: Arc<[Responder<T>]>,
    resolver: Arc<Resolver>,
    /// Closing it wakes and ends the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Transmit + 'static> Neighbors<T> {
    /// Start answering; also announce every `announce_every_s` seconds.
    ///
    /// # Errors
    /// If a station is invalid, or the thread cannot be started.
    pub fn start<R: Receive + 'static>(
        ports: Vec<StationPort<T, R>>,
        announce_every_s: Option<f64>,
    ) -> Result<Self, EngineError> {
        let every = announce_every_s.map(interval).transpose()?;
        let (mut responders, mut receivers) = (Vec::new(), Vec::new());
        for port in ports {
            responders.push(Responder::new(port.port, port.name, &port.stations, port.tx)?);
            receivers.push(port.receivers);
        }
        let (responders, resolver): (Arc<[Responder<T>]>, _) = (responders.into(), Arc::new(Resolver::default()));
        let (stop, stopped) = UnixStream::pair().map_err(failed)?;
        stopped.set_nonblocking(true).map_err(failed)?;
        let worker = ResponderThread { responders: responders.clone(), resolver: resolver.clone(), receivers, stopped };
        let thread = std::thread::Builder::new().name("neighbors".to_owned());
        let thread = thread.spawn(move || worker.run(every)).map_err(failed)?;
        Ok(Self { responders, resolver, stop: Some(stop), thread: Some(thread) })
    }

    /// Resolve addresses with the requested number of tries.
    ///
    /// # Errors
    /// If a request is invalid, or an address is not resolved.
    pub fn resolve(&self, request: &ResolveRequest) -> Result<ResolveReply, EngineError> {
        self.resolver.resolve(&self.responders, request)
    }

    /// Return the counts of each port since the last call.
    pub fn take_counts(&self) -> Vec<NeighborCounts> {
        self.responders.iter().map(Responder::take_counts).collect()
    }
}

impl<T> Drop for Neighbors<T> {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Build a station's announcements: a frame for each of its single addresses, without FCS.
///
/// # Errors
/// If the station is invalid.
pub fn announcements(spec: &nodrop_model::Station) -> Result<Vec<Vec<u8>>, EngineError> {
    let station = Station::new("announcements", spec)?;
    let announce = |own| station.encoder().announce(own).map_err(|error| EngineError::Request(error.to_string()));
    station.single_addresses().map(announce).collect()
}

fn interval(seconds: f64) -> Result<Duration, EngineError> {
    if (ANNOUNCE_INTERVAL_MIN_S..=86_400.0).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(EngineError::Request(format!(
        "announce_every_s: {seconds} is out of range; use {ANNOUNCE_INTERVAL_MIN_S} to 86400"
    )))
}

/// Return the next announcement time; missed announcements are skipped.
fn next_announcement(due: Instant, every: Duration, now: Instant) -> Instant {
    if due + every > now { due + every } else { now + every }
}

fn failed(source: std::io::Error) -> EngineError {
    EngineError::Port(PortError::System {
        port: "neighbors".to_owned(),
        action: "start the responder thread",
        source,
        remedy: "allow this process more threads and open files (`ulimit -u`, `ulimit -n`)",
    })
}

/// The thread that serves all responders.
struct ResponderThread<T, R> {
    responders: Arc<[Responder<T>]>,
    resolver: Arc<Resolver>,
    /// Receivers of each responder.
    receivers: Vec<Vec<R>>,
    stopped: UnixStream,
}

impl<T: Transmit, R: Receive> ResponderThread<T, R> {
    fn run(mut self, every: Option<Duration>) {
        let mut next = every.map(|_| Instant::now());
        let mut was_idle = false;
        while !matches!((&self.stopped).read(&mut [0]), Ok(0)) {
            let count = self.receive();
            if let (Some(every), Some(due)) = (every, next)
                && due <= Instant::now()
            {
                self.responders.iter().for_each(Responder::announce);
                next = Some(next_announcement(due, every, Instant::now()));
            }
            if count == 0 {
                if was_idle {
                    std::thread::sleep(IDLE_DELAY);
                }
                self.sleep(next);
            }
            was_idle = count == 0;
        }
    }

    fn receive(&mut self) -> usize {
        let mut count = 0;
        for (index, (responder, receivers)) in self.responders.iter().zip(&mut self.receivers).enumerate() {
            for receiver in receivers {
                // An error is ignored here; the port's own receiver reports a removed interface.
                count += receiver
                    .receive(BATCH, |frame| {
                        if let Some(message) = responder.handle(frame.bytes) {
                            self.resolver.record(index, &responder.stations, &message);
                        }
                    })
                    .unwrap_or(0);
            }
        }
        count
    }

    /// Sleep until a message arrives, the next announcement is due, or the thread is stopped.
    fn sleep(&self, next: Option<Instant>) {
        let receivers = || self.receivers.iter().flatten();
        let all_wake = receivers().all(|receiver| receiver.descriptor().is_some());
        let longest = if all_wake { SLEEP_MAX } else { SLEEP_WITHOUT_DESCRIPTOR };
        let timeout = next.map_or(longest, |next| next.saturating_duration_since(Instant::now()).min(longest));
        let descriptors = receivers().filter_map(Receive::descriptor).chain([self.stopped.as_fd()]);
        wait::until_readable(descriptors, timeout.as_micros().div_ceil(1000) as i32);
    }
}

#[cfg(test)]
mod tests;
