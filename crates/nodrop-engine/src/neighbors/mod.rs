//! What the tester is on its links besides a source of test traffic: stations that answer for their addresses, announce them
//! and ask for others'.
//!
//! All of it goes through doors of its own, beside the ports that test frames use: a thread that sleeps until somebody asks.
//! So a trial's loops know nothing of it, and it works between trials as well as during them.

mod desk;
mod questions;
mod station;

use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nodrop_model::{NeighborCounts, Resolve, Resolved};
use nodrop_port::{PortError, Receive, Transmit, wait};

use crate::EngineError;
use desk::Desk;
use questions::Questions;
use station::Station;

/// Longest sleep where a door can wake the thread.
const SLEEP_MAX: Duration = Duration::from_secs(3600);
/// Longest sleep where one of them cannot.
const SLEEP_WITHOUT_DESCRIPTOR: Duration = Duration::from_millis(1);
/// Sleep after having been woken for nothing: a socket in an error wakes at once, again and again.
const IDLE: Duration = Duration::from_millis(1);
/// Messages taken from a door at once.
const BATCH: usize = 64;
/// Shortest time between two announcements.
const ANNOUNCE_LEAST_S: f64 = 0.001;

/// How the stations of a port are reached.
#[derive(Debug)]
pub struct Door<T, R> {
    /// Index of the port.
    pub port: usize,
    /// Its name in messages.
    pub name: String,
    /// What the tester is there.
    pub stations: Vec<nodrop_model::Station>,
    /// Where its messages leave.
    pub tx: T,
    /// Where others' arrive.
    pub receivers: Vec<R>,
}

/// The tester's stations, at work until this is dropped.
#[derive(Debug)]
pub struct Neighbors<T> {
    desks: Arc<[Desk<T>]>,
    questions: Arc<Questions>,
    /// Its end wakes and ends the thread.
    life: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Transmit + 'static> Neighbors<T> {
    /// Open for business; with `announce_every_s` also unasked.
    ///
    /// # Errors
    /// When a station cannot be as asked, or no thread can be had.
    pub fn start<R: Receive + 'static>(
        doors: Vec<Door<T, R>>,
        announce_every_s: Option<f64>,
    ) -> Result<Self, EngineError> {
        let every = announce_every_s.map(interval).transpose()?;
        let (mut desks, mut receivers) = (Vec::new(), Vec::new());
        for door in doors {
            desks.push(Desk::new(door.port, door.name, &door.stations, door.tx)?);
            receivers.push(door.receivers);
        }
        let (desks, questions): (Arc<[Desk<T>]>, _) = (desks.into(), Arc::new(Questions::default()));
        let (life, end) = UnixStream::pair().map_err(failed)?;
        end.set_nonblocking(true).map_err(failed)?;
        let attendant = Attendant { desks: desks.clone(), questions: questions.clone(), receivers, end };
        let thread = std::thread::Builder::new().name("neighbors".to_owned());
        let thread = thread.spawn(move || attendant.work(every)).map_err(failed)?;
        Ok(Self { desks, questions, life: Some(life), thread: Some(thread) })
    }

    /// Ask until all is answered, or as often as was asked.
    ///
    /// # Errors
    /// When a question cannot be asked, or nobody answers it.
    pub fn resolve(&self, asked: &Resolve) -> Result<Resolved, EngineError> {
        self.questions.resolve(&self.desks, asked)
    }

    /// What went on at each port since the last call.
    pub fn take_counts(&self) -> Vec<NeighborCounts> {
        self.desks.iter().map(Desk::take_counts).collect()
    }
}

impl<T> Drop for Neighbors<T> {
    fn drop(&mut self) {
        drop(self.life.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What a station tells everybody: a frame for each of its single addresses, without FCS.
///
/// # Errors
/// When the station cannot be as asked.
pub fn announcements(asked: &nodrop_model::Station) -> Result<Vec<Vec<u8>>, EngineError> {
    let station = Station::new("announcements", asked)?;
    let announce = |own| station.speaker().announce(own).map_err(|error| EngineError::Request(error.to_string()));
    station.single().map(announce).collect()
}

fn interval(seconds: f64) -> Result<Duration, EngineError> {
    if (ANNOUNCE_LEAST_S..=86_400.0).contains(&seconds) {
        return Ok(Duration::from_secs_f64(seconds));
    }
    Err(EngineError::Request(format!("announce_every_s: {seconds}; must be from {ANNOUNCE_LEAST_S} to 86400")))
}

/// The next of the times every so often; what could not be announced in time is not made up for.
fn following(due: Instant, every: Duration, now: Instant) -> Instant {
    if due + every > now { due + every } else { now + every }
}

fn failed(source: std::io::Error) -> EngineError {
    EngineError::Port(PortError::System {
        port: "neighbors".to_owned(),
        asked: "start a thread that answers for the stations",
        source,
        remedy: "allow this process more threads and open files (`ulimit -u`, `ulimit -n`)",
    })
}

/// The thread behind the desks.
struct Attendant<T, R> {
    desks: Arc<[Desk<T>]>,
    questions: Arc<Questions>,
    /// By desk.
    receivers: Vec<Vec<R>>,
    end: UnixStream,
}

impl<T: Transmit, R: Receive> Attendant<T, R> {
    fn work(mut self, every: Option<Duration>) {
        let mut next = every.map(|_| Instant::now());
        let mut woken_for_nothing = false;
        while !matches!((&self.end).read(&mut [0]), Ok(0)) {
            let heard = self.hear();
            if let (Some(every), Some(due)) = (every, next)
                && due <= Instant::now()
            {
                self.desks.iter().for_each(Desk::announce);
                next = Some(following(due, every, Instant::now()));
            }
            if heard == 0 {
                if woken_for_nothing {
                    std::thread::sleep(IDLE);
                }
                self.sleep(next);
            }
            woken_for_nothing = heard == 0;
        }
    }

    fn hear(&mut self) -> usize {
        let mut heard = 0;
        for (at, (desk, receivers)) in self.desks.iter().zip(&mut self.receivers).enumerate() {
            for receiver in receivers {
                // The port's own receiver tells when the interface is gone.
                heard += receiver.receive(BATCH, |frame| desk.hear(at, frame.bytes, &self.questions)).unwrap_or(0);
            }
        }
        heard
    }

    /// Until something comes, the next announcement is due, or the end.
    fn sleep(&self, next: Option<Instant>) {
        let doors = || self.receivers.iter().flatten();
        let all_wake = doors().all(|door| door.descriptor().is_some());
        let most = if all_wake { SLEEP_MAX } else { SLEEP_WITHOUT_DESCRIPTOR };
        let left = next.map_or(most, |next| next.saturating_duration_since(Instant::now()).min(most));
        let descriptors = doors().filter_map(Receive::descriptor).chain([self.end.as_fd()]);
        wait::until_readable(descriptors, left.as_micros().div_ceil(1000) as i32);
    }
}

#[cfg(test)]
mod tests;
