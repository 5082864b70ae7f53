//! A cross-connect of two ports on one thread: whatever comes in on one leaves on the other, MAC addresses rewritten.
//!
//! When it cannot keep up its receive rings fill and the kernel drops there, so its limit shows as loss.

use std::time::{Duration, Instant};

use nodrop_port::af_packet::{PacketRx, PacketTx, wait_any};
use nodrop_port::observe::board::Board;
use nodrop_port::{PortError, Receive};

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

#[derive(Default)]
struct Counts {
    received: u64,
    receive_dropped: u64,
    malformed: u64,
    sent: u64,
    send_dropped: u64,
}

struct Port {
    name: String,
    counts: Counts,
    tx: PacketTx,
    rx: PacketRx,
    own: [u8; 6],
    peer: [u8; 6],
}

/// Two ports, joined.
pub struct CrossConnect {
    ports: [Port; 2],
    board: Board,
}

impl CrossConnect {
    /// Open both ports, each with a receive ring of `queue_slots` frames of up to `mtu` bytes and their headers.
    ///
    /// # Errors
    /// When an interface does not exist or the kernel refuses raw access.
    pub fn open(ports: [PortConfig; 2], queue_slots: u32, mtu: usize) -> Result<Self, PortError> {
        let [left, right] = ports;
        let ports = [Port::open(&left, queue_slots, mtu)?, Port::open(&right, queue_slots, mtu)?];
        Ok(Self { ports, board: Board::create()? })
    }

    /// Forward until a port fails; counters are shown whenever there is nothing to forward.
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
                self.show_counters()?;
                wait_any([&self.ports[0].rx, &self.ports[1].rx], SLEEP_MAX_MS);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn show_counters(&mut self) -> Result<(), PortError> {
        let mut shown = Vec::new();
        for port in &mut self.ports {
            port.counts.receive_dropped += port.rx.take_drop_count()?;
            shown.extend(port.labelled_counts());
        }
        self.board.show(shown.iter().map(|(label, count)| (label.as_str(), *count)))
    }
}

impl Port {
    fn open(config: &PortConfig, queue_slots: u32, mtu: usize) -> Result<Self, PortError> {
        const HEADER_AND_TAGS_BYTES: usize = 14 + 8;
        let tx = PacketTx::open(&config.interface)?;
        let rx = PacketRx::open_whole(&config.interface, queue_slots, mtu + HEADER_AND_TAGS_BYTES)?;
        let (name, own) = (config.interface.clone(), tx.hardware_address()?);
        Ok(Self { name, counts: Counts::default(), own, tx, rx, peer: config.peer })
    }

    fn labelled_counts(&self) -> [(String, u64); 5] {
        let Counts { received, receive_dropped, malformed, sent, send_dropped } = self.counts;
        [
            ("received", received),
            ("receive_dropped", receive_dropped),
            ("malformed", malformed),
            ("sent", sent),
            ("send_dropped", send_dropped),
        ]
        .map(|(counter, count)| (format!("{}/{counter}", self.name), count))
    }
}

/// Move one batch; gives how many frames came in. What the far port does not take is dropped, as any switch would.
fn forward(from: &mut Port, to: &mut Port) -> Result<usize, PortError> {
    let (peer, own, tx) = (to.peer, to.own, &mut to.tx);
    let (received, whole, sent) = from.rx.with_batch(BATCH, |frames| {
        let (mut received, mut whole) = (0, 0);
        let rewritten = frames
            .inspect(|_| received += 1)
            .filter(|frame| frame.bytes.len() == frame.wire_len && frame.wire_len > 14)
            .map(|frame| {
                whole += 1;
                frame.bytes[..6].copy_from_slice(&peer);
                frame.bytes[6..12].copy_from_slice(&own);
                frame.bytes
            });
        let sent = tx.send_in_place(rewritten)?;
        Ok((received, whole, sent))
    })?;
    from.counts.received += received as u64;
    from.counts.malformed += (received - whole) as u64;
    to.counts.sent += sent as u64;
    to.counts.send_dropped += (whole - sent) as u64;
    Ok(received)
}
