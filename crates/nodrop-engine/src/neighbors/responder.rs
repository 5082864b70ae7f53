//! Responder for one port's stations: replies and announcements.

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nodrop_model::NeighborCounts;
use nodrop_port::{Slot, Transmit};
use nodrop_wire::{MacAddr, Message, NeighborMessage, WireError};

use super::station::Station;
use crate::EngineError;

/// Number of attempts to send a frame if the port is full.
const SEND_ATTEMPTS: u32 = 5;
const RETRY_DELAY: Duration = Duration::from_micros(200);

/// Responder for one port's stations.
#[derive(Debug)]
pub(super) struct Responder<T> {
    pub(super) port: usize,
    pub(super) name: String,
    pub(super) stations: Vec<Station>,
    tx: Mutex<T>,
    received: AtomicU64,
    answered: AtomicU64,
    announced: AtomicU64,
}

impl<T: Transmit> Responder<T> {
    pub(super) fn new(port: usize, name: String, specs: &[nodrop_model::Station], tx: T) -> Result<Self, EngineError> {
        let stations = specs.iter().map(|station| Station::new(&name, station)).collect::<Result<_, _>>()?;
        let zero = AtomicU64::default;
        Ok(Self { port, name, stations, tx: Mutex::new(tx), received: zero(), answered: zero(), announced: zero() })
    }

    /// Process a frame: reply if it requests a station's address. Return the message, if it is one.
    pub(super) fn handle(&self, frame: &[u8]) -> Option<NeighborMessage> {
        let received = NeighborMessage::parse(frame)?;
        self.received.fetch_add(1, Relaxed);
        if let Message::Request { target, sender, sender_mac } = received.message {
            self.reply(&received, target, (sender, sender_mac));
        }
        Some(received)
    }

    fn reply(&self, request: &NeighborMessage, target: IpAddr, (sender, sender_mac): (IpAddr, MacAddr)) {
        let owns = |station: &&Station| station.tags == request.tags && station.owns(target);
        let Some(station) = self.stations.iter().find(owns) else { return };
        // An announcement of the same address by another station needs no reply.
        if sender != target && self.send(station.encoder().reply(target, sender, sender_mac)) {
            self.answered.fetch_add(1, Relaxed);
        }
    }

    /// Announce all single addresses.
    pub(super) fn announce(&self) {
        for station in &self.stations {
            let sent = station.single_addresses().filter(|own| self.send(station.encoder().announce(*own))).count();
            self.announced.fetch_add(sent as u64, Relaxed);
        }
    }

    /// Send a request for `target` from that station; return whether it was sent.
    pub(super) fn request(&self, station: &Station, target: IpAddr) -> bool {
        station.source_address(target).is_some_and(|source| self.send(station.encoder().request(source, target)))
    }

    pub(super) fn take_counts(&self) -> NeighborCounts {
        NeighborCounts {
            port: self.port,
            received_count: self.received.swap(0, Relaxed),
            answered_count: self.answered.swap(0, Relaxed),
            announced_count: self.announced.swap(0, Relaxed),
        }
    }

    /// Send a frame; return whether it was sent.
    fn send(&self, frame: Result<Vec<u8>, WireError>) -> bool {
        let Ok(frame) = frame else { return false };
        let mut tx = self.tx.lock().unwrap_or_else(PoisonError::into_inner);
        let fill = |_, slot: Slot<'_>| {
            slot.bytes[..frame.len()].copy_from_slice(&frame);
            *slot.tag = u32::MAX;
            frame.len()
        };
        for _ in 0..SEND_ATTEMPTS {
            match tx.transmit(1, frame.len(), fill) {
                Ok(0) => std::thread::sleep(RETRY_DELAY),
                sent => return sent.is_ok(),
            }
        }
        false
    }
}
