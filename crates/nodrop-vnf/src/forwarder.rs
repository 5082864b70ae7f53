//! Ports, a network function between them, and one thread that moves the frames.
//!
//! When it cannot keep up its receive rings fill and the kernel drops there, so its limit shows as loss.

use std::time::{Duration, Instant};

use nodrop_port::observe::board::Board;
use nodrop_port::wait::Waiter;
use nodrop_port::{PortError, Receive, Slot, Transmit};

use crate::{Cause, Counters, FrameBuffer, Network, Verdict};

/// Longest sleep, once they are.
const SLEEP_MAX_MS: i32 = 1000;
/// What a forwarder that takes its time may make up for at once, where it was kept off its CPU.
const CATCH_UP: Duration = Duration::from_millis(50);
/// The end of a wait is spent busy, as sleeping takes longer than it was asked to.
const SPIN: Duration = Duration::from_micros(60);

/// How a forwarder's thread goes about its ports.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Frames taken from one port before the next has its turn.
    pub batch: usize,
    /// After this long without a frame the thread sleeps until one comes; at once where others want its CPU.
    pub idle_before_sleep: Duration,
    /// After this long without a frame the counters are shown. That takes time: hundreds of forwarders on one CPU that each did
    /// it after every few frames would have no time for frames.
    pub quiet_before_show: Duration,
    /// What every frame takes at least: a forwarder of a known capacity. Zero for one that is as fast as it can be.
    pub frame_time: Duration,
}

impl Pace {
    /// Of a VNF. Small batches on purpose: tester and VNF pay the kernel the same price for a frame, and a VNF as fast as the
    /// tester would never show its limit as loss.
    pub const VNF: Self = Self {
        batch: 4,
        idle_before_sleep: Duration::from_micros(500),
        quiet_before_show: Duration::from_millis(1),
        frame_time: Duration::ZERO,
    };
    /// Of an edge switch, which is not what is measured.
    pub const EDGE: Self = Self { batch: 32, ..Self::VNF };

    /// The same where others want the CPU.
    #[must_use]
    pub fn yielding(self) -> Self {
        Self { idle_before_sleep: Duration::ZERO, quiet_before_show: Duration::from_millis(100), ..self }
    }
}

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

/// A frame about to leave.
#[derive(Clone, Copy, Debug)]
struct Departure {
    port: usize,
    /// Position of the frame among those held.
    position: usize,
    /// Whether it is the forwarder's own, or a copy.
    own: bool,
}

/// Ports joined by a network function.
#[derive(Debug)]
pub struct Forwarder<T, R, N> {
    ports: Vec<Port<T, R>>,
    network: N,
    pace: Pace,
    frames: Vec<FrameBuffer>,
    verdicts: Vec<Verdict>,
    departures: Vec<Departure>,
    started: Instant,
    /// When the frames taken so far have had their time.
    free_at: Instant,
    board: Board,
}

impl<T: Transmit, R: Receive, N: Network> Forwarder<T, R, N> {
    /// Join `ports`; frames of more than `frame_bytes`, without FCS, are dropped.
    ///
    /// # Errors
    /// When there is no memory for counters.
    pub fn new(ports: Vec<Port<T, R>>, network: N, frame_bytes: usize, pace: Pace) -> Result<Self, PortError> {
        let frames = vec![FrameBuffer::new(frame_bytes); pace.batch];
        let (verdicts, departures) = (Vec::new(), Vec::new());
        let (board, now) = (Board::create()?, Instant::now());
        Ok(Self { ports, network, pace, frames, verdicts, departures, started: now, free_at: now, board })
    }

    /// Forward until a port fails; counters are shown whenever there has been nothing to forward for a while.
    ///
    /// # Errors
    /// The failure.
    pub fn run(&mut self) -> Result<(), PortError> {
        let waiter = Waiter::new(self.ports.iter().filter_map(|port| port.rx.descriptor()))?;
        let mut last_frame = Instant::now();
        let mut shown = false;
        loop {
            if self.turn()? > 0 {
                (last_frame, shown) = (Instant::now(), false);
                continue;
            }
            let idle = last_frame.elapsed();
            if idle < self.pace.idle_before_sleep {
                std::hint::spin_loop();
                continue;
            }
            if !shown && idle >= self.pace.quiet_before_show {
                self.show_counters()?;
                shown = true;
            }
            waiter.wait(if shown { SLEEP_MAX_MS } else { self.pace.quiet_before_show.as_millis() as i32 })?;
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
        self.await_free();
        let mut held = 0;
        let Self { ports, frames, .. } = self;
        let Port { rx, counters, .. } = &mut ports[from];
        let received = rx.receive(frames.len(), |frame| {
            if frames[held].hold(frame.bytes) {
                held += 1;
            } else {
                counters.drop(Cause::TooLong, 1);
            }
        })?;
        if received > 0 {
            counters.received += received as u64;
            self.take_time(received);
            self.judge(from, held);
            self.plan_departures();
            self.send()?;
        }
        Ok(received)
    }

    /// Until the frames before have had their time.
    fn await_free(&self) {
        if self.pace.frame_time.is_zero() {
            return;
        }
        while let left = self.free_at.saturating_duration_since(Instant::now())
            && !left.is_zero()
        {
            if left > SPIN { std::thread::sleep(left - SPIN) } else { std::hint::spin_loop() }
        }
    }

    fn take_time(&mut self, count: usize) {
        if !self.pace.frame_time.is_zero() {
            let earliest = Instant::now().checked_sub(CATCH_UP).unwrap_or(self.started);
            self.free_at = self.free_at.max(earliest) + self.pace.frame_time * count as u32;
        }
    }

    fn judge(&mut self, from: usize, held: usize) {
        let now_ms = self.started.elapsed().as_millis() as u64;
        let Self { ports, network, frames, verdicts, .. } = self;
        let counters = &mut ports[from].counters;
        verdicts.clear();
        for frame in &mut frames[..held] {
            let verdict = network.handle(frame, from, now_ms);
            match verdict {
                Verdict::Forward(_) | Verdict::Flood(_) => {}
                Verdict::Answer(_) | Verdict::Consume => counters.consumed += 1,
                Verdict::Drop(cause) | Verdict::Ask(cause, _) => counters.drop(cause, 1),
            }
            verdicts.push(verdict);
        }
    }

    /// Port by port, and for each port in the order they came.
    fn plan_departures(&mut self) {
        let Self { network, verdicts, departures, .. } = self;
        departures.clear();
        for (position, verdict) in verdicts.iter().enumerate() {
            match *verdict {
                Verdict::Forward(port) => departures.push(Departure { port, position, own: false }),
                Verdict::Answer(port) | Verdict::Ask(_, port) => {
                    departures.push(Departure { port, position, own: true });
                }
                Verdict::Flood(group) => {
                    let copies = network.group(group).iter().enumerate();
                    departures.extend(copies.map(|(copy, &port)| Departure { port, position, own: copy > 0 }));
                }
                Verdict::Consume | Verdict::Drop(_) => {}
            }
        }
        departures.sort_by_key(|departure| departure.port);
    }

    /// What the far port does not take is dropped, as any switch would.
    fn send(&mut self) -> Result<(), PortError> {
        let Self { ports, frames, departures, .. } = self;
        for leaving in departures.chunk_by(|one, next| one.port == next.port) {
            let Port { tx, counters, .. } = &mut ports[leaving[0].port];
            counters.originated += leaving.iter().filter(|departure| departure.own).count() as u64;
            let mut rest = leaving;
            while !rest.is_empty() {
                let longest = rest.iter().map(|departure| frames[departure.position].bytes().len()).max().unwrap_or(0);
                let sent = tx.transmit(rest.len(), longest, |at: usize, slot: Slot<'_>| {
                    let frame = frames[rest[at].position].bytes();
                    slot.bytes[..frame.len()].copy_from_slice(frame);
                    frame.len()
                })?;
                counters.sent += sent as u64;
                // Those behind one that was refused were not tried.
                let refused = usize::from(sent == 0);
                counters.drop(Cause::SendDropped, refused as u64);
                rest = &rest[sent + refused..];
            }
        }
        Ok(())
    }
}
