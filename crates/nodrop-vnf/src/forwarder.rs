//! Ports, a network function between them, and one thread that moves the frames.
//!
//! When it cannot keep up its receive rings fill and the kernel drops there, so its limit shows as loss.

use std::time::{Duration, Instant};

use nodrop_port::observe::board::Board;
use nodrop_port::{PortError, Receive, Slot, Transmit, wait};

use crate::{Cause, Counters, FrameBuffer, Network, Verdict};

/// Frames taken from one port before the next has its turn.
///
/// Small on purpose: tester and VNF pay the kernel the same price for a frame, and a VNF as fast as the tester would never
/// show its limit as loss.
const BATCH: usize = 4;
/// After this long without a frame the thread sleeps until one comes.
const IDLE_BEFORE_SLEEP: Duration = Duration::from_micros(500);
/// Longest sleep.
const SLEEP_MAX_MS: i32 = 1000;

/// A port of a forwarder.
#[derive(Debug)]
pub struct Port<T, R> {
    /// Its name, for people.
    pub name: String,
    /// Its sending half.
    pub tx: T,
    /// Its receiving half, which gives frames whole.
    pub rx: R,
    /// What it did so far.
    pub counters: Counters,
}

/// Ports joined by a network function.
#[derive(Debug)]
pub struct Forwarder<T, R, N> {
    ports: Vec<Port<T, R>>,
    network: N,
    frames: [FrameBuffer; BATCH],
    started: Instant,
    board: Board,
}

impl<T: Transmit, R: Receive, N: Network> Forwarder<T, R, N> {
    /// Join `ports`; frames of more than `frame_bytes`, without FCS, are dropped.
    ///
    /// # Errors
    /// When there is no memory for counters.
    pub fn new(ports: Vec<Port<T, R>>, network: N, frame_bytes: usize) -> Result<Self, PortError> {
        let frames = std::array::from_fn(|_| FrameBuffer::new(frame_bytes));
        Ok(Self { ports, network, frames, started: Instant::now(), board: Board::create()? })
    }

    /// Forward until a port fails; counters are shown whenever there is nothing to forward.
    ///
    /// # Errors
    /// The failure.
    pub fn run(&mut self) -> Result<(), PortError> {
        let mut last_frame = Instant::now();
        loop {
            if self.turn()? > 0 {
                last_frame = Instant::now();
            } else if last_frame.elapsed() > IDLE_BEFORE_SLEEP {
                self.show_counters()?;
                wait::until_readable(self.ports.iter().filter_map(|port| port.rx.descriptor()), SLEEP_MAX_MS);
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Take a batch from each port and see it through. Gives how many frames came in.
    ///
    /// # Errors
    /// When a port can receive or send no more at all.
    pub fn turn(&mut self) -> Result<usize, PortError> {
        (0..self.ports.len()).try_fold(0, |count, from| Ok(count + self.serve(from)?))
    }

    /// What each port did so far, drops of the kernel's included.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn read_counters(&mut self) -> Result<Vec<&Counters>, PortError> {
        self.ports
            .iter_mut()
            .map(|port| {
                port.counters.drop(Cause::ReceiveDropped, port.rx.take_drop_count()?);
                Ok(&port.counters)
            })
            .collect()
    }

    fn show_counters(&mut self) -> Result<(), PortError> {
        self.read_counters()?;
        let counters = self.ports.iter().flat_map(|port| {
            port.counters.by_name().map(|(counter, count)| (format!("{}/{counter}", port.name), count))
        });
        let shown: Vec<(String, u64)> = counters.collect();
        self.board.show(shown.iter().map(|(label, count)| (label.as_str(), *count)))
    }

    fn serve(&mut self, from: usize) -> Result<usize, PortError> {
        let mut held = 0;
        let Self { ports, frames, .. } = self;
        let Port { rx, counters, .. } = &mut ports[from];
        let received = rx.receive(BATCH, |frame| {
            if frames[held].hold(frame.bytes) {
                held += 1;
            } else {
                counters.drop(Cause::TooLong, 1);
            }
        })?;
        if received > 0 {
            counters.received += received as u64;
            let verdicts = self.judge(from, held);
            self.send(&verdicts[..held])?;
        }
        Ok(received)
    }

    fn judge(&mut self, from: usize, held: usize) -> [Verdict; BATCH] {
        let now_ms = self.started.elapsed().as_millis() as u64;
        let mut verdicts = [Verdict::Consume; BATCH];
        let counters = &mut self.ports[from].counters;
        for (frame, verdict) in self.frames[..held].iter_mut().zip(&mut verdicts) {
            *verdict = self.network.handle(frame, from, now_ms);
            match *verdict {
                Verdict::Forward(_) => {}
                Verdict::Answer(_) | Verdict::Consume => counters.consumed += 1,
                Verdict::Drop(cause) | Verdict::Ask(cause, _) => counters.drop(cause, 1),
            }
        }
        verdicts
    }

    /// What the far port does not take is dropped, as any switch would.
    fn send(&mut self, verdicts: &[Verdict]) -> Result<(), PortError> {
        let Self { ports, frames, .. } = self;
        for (to, Port { tx, counters, .. }) in ports.iter_mut().enumerate() {
            let mut leaving = [0; BATCH];
            let mut count = 0;
            for (position, verdict) in verdicts.iter().enumerate() {
                let (port, own) = match *verdict {
                    Verdict::Forward(port) => (port, false),
                    Verdict::Answer(port) | Verdict::Ask(_, port) => (port, true),
                    Verdict::Consume | Verdict::Drop(_) => continue,
                };
                if port == to {
                    leaving[count] = position;
                    count += 1;
                    counters.originated += u64::from(own);
                }
            }
            if count == 0 {
                continue;
            }
            let longest = leaving[..count].iter().map(|&at| frames[at].bytes().len()).max().unwrap_or(0);
            let sent = tx.transmit(count, longest, |position: usize, slot: Slot<'_>| {
                let frame = frames[leaving[position]].bytes();
                slot.bytes[..frame.len()].copy_from_slice(frame);
                frame.len()
            })?;
            counters.sent += sent as u64;
            counters.drop(Cause::SendDropped, (count - sent) as u64);
        }
        Ok(())
    }
}
