//! A cross-connect of two ports on one thread: whatever comes in on one leaves on the other, MAC addresses rewritten.
//!
//! When it cannot keep up its receive rings fill and the kernel drops there, so its limit shows as loss.

use std::time::{Duration, Instant};

use nodrop_port::PortError;
use nodrop_port::af_packet::{PacketRx, PacketTx, wait_any};

/// Frames taken from one port before the other has its turn.
///
/// Small on purpose: tester and VNF pay the kernel the same price for a frame, and a VNF as fast as the tester would never
/// show its limit as loss.
const BATCH: usize = 4;
/// After this long without a frame the thread sleeps until one comes.
const IDLE_BEFORE_SLEEP: Duration = Duration::from_micros(500);
/// Longest sleep.
const SLEEP_MAX_MS: i32 = 1000;

/// One port of the cross-connect.
#[derive(Clone, Debug)]
pub struct PortConfig {
    /// Interface name.
    pub interface: String,
    /// Destination MAC written on frames that leave here.
    pub peer: [u8; 6],
}

struct Port {
    tx: PacketTx,
    rx: PacketRx,
    own: [u8; 6],
    peer: [u8; 6],
}

/// Two ports, joined.
pub struct CrossConnect {
    ports: [Port; 2],
}

impl CrossConnect {
    /// Open both ports, each with a receive ring of `queue_slots` frames of up to `mtu` bytes and their headers.
    ///
    /// # Errors
    /// When an interface does not exist or the kernel refuses raw access.
    pub fn open(ports: [PortConfig; 2], queue_slots: u32, mtu: usize) -> Result<Self, PortError> {
        let [left, right] = ports;
        Ok(Self { ports: [Port::open(&left, queue_slots, mtu)?, Port::open(&right, queue_slots, mtu)?] })
    }

    /// Forward until a port fails.
    ///
    /// # Errors
    /// The failure.
    pub fn run(&mut self) -> Result<(), PortError> {
        let mut last_frame = Instant::now();
        loop {
            let [left, right] = &mut self.ports;
            if forward(left, right)? + forward(right, left)? > 0 {
                last_frame = Instant::now();
            } else if last_frame.elapsed() > IDLE_BEFORE_SLEEP {
                wait_any([&self.ports[0].rx, &self.ports[1].rx], SLEEP_MAX_MS);
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

impl Port {
    fn open(config: &PortConfig, queue_slots: u32, mtu: usize) -> Result<Self, PortError> {
        const HEADER_AND_TAGS_BYTES: usize = 14 + 8;
        let tx = PacketTx::open(&config.interface)?;
        let rx = PacketRx::open_whole(&config.interface, queue_slots, mtu + HEADER_AND_TAGS_BYTES)?;
        Ok(Self { own: tx.hardware_address()?, tx, rx, peer: config.peer })
    }
}

/// Move one batch; gives how many frames came in. What the far port does not take is dropped, as any switch would.
fn forward(from: &mut Port, to: &mut Port) -> Result<usize, PortError> {
    let (peer, own, tx) = (to.peer, to.own, &mut to.tx);
    from.rx.with_batch(BATCH, |frames| {
        let mut count = 0;
        let rewritten = frames
            .inspect(|_| count += 1)
            .filter(|frame| frame.bytes.len() == frame.wire_len && frame.wire_len > 14)
            .map(|frame| {
                frame.bytes[..6].copy_from_slice(&peer);
                frame.bytes[6..12].copy_from_slice(&own);
                frame.bytes
            });
        tx.send_in_place(rewritten)?;
        Ok(count)
    })
}
