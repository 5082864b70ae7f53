//! One port's stations, and what leaves for them.

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nodrop_model::NeighborCounts;
use nodrop_port::{Slot, Transmit};
use nodrop_wire::{Heard, Message, WireError};

use super::questions::Questions;
use super::station::Station;
use crate::EngineError;

/// How often to offer a frame to a port that is full.
const TRIES: u32 = 5;
const RETRY: Duration = Duration::from_micros(200);

/// One port's stations.
#[derive(Debug)]
pub(super) struct Desk<T> {
    pub(super) port: usize,
    pub(super) name: String,
    pub(super) stations: Vec<Station>,
    tx: Mutex<T>,
    heard: AtomicU64,
    answered: AtomicU64,
    announced: AtomicU64,
}

impl<T: Transmit> Desk<T> {
    pub(super) fn new(port: usize, name: String, asked: &[nodrop_model::Station], tx: T) -> Result<Self, EngineError> {
        let stations = asked.iter().map(|station| Station::new(&name, station)).collect::<Result<_, _>>()?;
        let zero = AtomicU64::default;
        Ok(Self { port, name, stations, tx: Mutex::new(tx), heard: zero(), answered: zero(), announced: zero() })
    }

    /// Take in a frame: answer it if it asks for a station, note it if it answers a question. `at` is this desk's position.
    pub(super) fn hear(&self, at: usize, frame: &[u8], questions: &Questions) {
        let Some(heard) = Heard::parse(frame) else { return };
        self.heard.fetch_add(1, Relaxed);
        questions.note(at, &self.stations, &heard);
        let Message::Question { target, asker, asker_mac } = heard.message else { return };
        let here = |station: &&Station| station.tags == heard.tags && station.owns(target);
        let Some(station) = self.stations.iter().find(here) else { return };
        // A neighbour that announces the same address wants no answer.
        if asker != target && self.send(station.speaker().tell(target, asker, asker_mac)) {
            self.answered.fetch_add(1, Relaxed);
        }
    }

    /// Tell everybody of all single addresses.
    pub(super) fn announce(&self) {
        for station in &self.stations {
            let sent = station.single().filter(|own| self.send(station.speaker().announce(*own))).count();
            self.announced.fetch_add(sent as u64, Relaxed);
        }
    }

    /// Ask as that station.
    pub(super) fn ask(&self, station: &Station, target: IpAddr) -> bool {
        station.source(target).is_some_and(|source| self.send(station.speaker().ask(source, target)))
    }

    pub(super) fn take_counts(&self) -> NeighborCounts {
        NeighborCounts {
            port: self.port,
            heard_count: self.heard.swap(0, Relaxed),
            answered_count: self.answered.swap(0, Relaxed),
            announced_count: self.announced.swap(0, Relaxed),
        }
    }

    /// Gives whether it left.
    fn send(&self, frame: Result<Vec<u8>, WireError>) -> bool {
        let Ok(frame) = frame else { return false };
        let mut tx = self.tx.lock().unwrap_or_else(PoisonError::into_inner);
        let fill = |_, slot: Slot<'_>| {
            slot.bytes[..frame.len()].copy_from_slice(&frame);
            *slot.tag = u32::MAX;
            frame.len()
        };
        for _ in 0..TRIES {
            match tx.transmit(1, frame.len(), fill) {
                Ok(0) => std::thread::sleep(RETRY),
                sent => return sent.is_ok(),
            }
        }
        false
    }
}
