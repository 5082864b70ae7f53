//! Benchmark of the engine per frame, without a driver: `cargo run --release -p nodrop-engine --example cost`.
//!
//! The sending port fills a buffer and discards it; the receiving port produces completed frames. One thread each;
//! medians of interleaved rounds. Other load on the machine shows as spread.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::AtomicBool;

use nodrop_engine::{Engine, Port, Stream};
use nodrop_model::{LoadPattern, StreamSpec, TrialRequest};
use nodrop_port::clock::{Clock, SystemClock};
use nodrop_port::{Fill, PortError, Receive, ReceivedFrame, Slot, Transmit};
use nodrop_wire::{Frames, SlotState};

const ROUNDS: usize = 5;
const DURATION_S: f64 = 0.5;
/// More than any CPU can send.
const OUT_OF_REACH_PPS: f64 = 1e9;
const BUFFERS: usize = 1024;
const FRAME_BYTES: u16 = 64;

/// Discards all frames.
struct Sink {
    buffers: Vec<(Vec<u8>, u32)>,
    next: usize,
}

impl Sink {
    fn new() -> Self {
        Self { buffers: vec![(vec![0; 2048], u32::MAX); BUFFERS], next: 0 }
    }
}

impl Transmit for Sink {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        for position in 0..count {
            let (bytes, tag) = &mut self.buffers[self.next];
            self.next = (self.next + 1) % BUFFERS;
            std::hint::black_box(fill.fill(position, Slot { bytes: &mut bytes[..frame_len_max], tag }));
        }
        Ok(count)
    }
}

/// Produces the frames of each stream round robin, every frame complete.
struct Source {
    streams: Vec<Stream>,
    frames: Vec<Vec<u8>>,
    states: Vec<SlotState>,
    next: u64,
    trial_tag: u8,
    silent: bool,
}

impl Receive for Source {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        if self.silent {
            return Ok(0);
        }
        let time_ns = SystemClock.wall_ns();
        let count = self.streams.len() as u64;
        for _ in 0..budget {
            let (stream, sequence) = ((self.next % count) as usize, self.next / count);
            let frame = &mut self.frames[stream];
            let template = &self.streams[stream].frames.templates()[0];
            let sent_ns = time_ns - 5000 - sequence % 977;
            template.complete(&mut self.states[stream], frame, sequence, sent_ns, self.trial_tag);
            sink(ReceivedFrame { bytes: frame, time_ns });
            self.next += 1;
        }
        Ok(budget)
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        // The engine calls this before each trial, after it has read stale frames.
        self.next = 0;
        self.trial_tag = self.trial_tag.wrapping_add(1);
        Ok(0)
    }

    fn queue_slots(&self) -> u32 {
        1 << 20
    }
}

fn stream(stream_id: u16, tx_port: usize, rx_port: usize) -> Stream {
    let frames = Frames::new(&StreamSpec::udp(stream_id, tx_port, rx_port, FRAME_BYTES, 256));
    Stream { frames: frames.unwrap(), tx_port, rx_port }
}

/// Return the nanoseconds of one thread per sent frame.
fn send_cost_ns(stream_count: u16) -> f64 {
    let streams: Vec<Stream> = (0..stream_count).map(|id| stream(id, 0, 0)).collect();
    let rx = Source { streams: vec![], frames: vec![], states: vec![], next: 0, trial_tag: 0, silent: true };
    let ports = vec![Port { name: "sink".to_owned(), tx: Sink::new(), rx }];
    let mut engine = Engine::new(ports, streams, vec![0, 1], SystemClock).unwrap();
    let request = request(vec![OUT_OF_REACH_PPS / f64::from(stream_count); usize::from(stream_count)], None);
    let reply = engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap();
    reply.duration_s * 1e9 / reply.streams.iter().map(|stream| stream.offered_count).sum::<u64>() as f64
}

/// Return the nanoseconds per received frame, including the time to complete the frame.
fn receive_cost_ns(stream_count: u16, latency_every: u64) -> f64 {
    let streams: Vec<Stream> = (0..stream_count).map(|id| stream(id, 0, 1)).collect();
    let frames = streams.iter().map(|stream| stream.frames.templates()[0].bytes().to_vec()).collect();
    let silent = Source { streams: vec![], frames: vec![], states: vec![], next: 0, trial_tag: 0, silent: true };
    let states = streams.iter().map(|stream| stream.frames.templates()[0].slot_state()).collect();
    let source = Source { streams: streams.clone(), frames, states, next: 0, trial_tag: 0, silent: false };
    let ports = vec![
        Port { name: "sink".to_owned(), tx: Sink::new(), rx: silent },
        Port { name: "source".to_owned(), tx: Sink::new(), rx: source },
    ];
    let mut engine = Engine::new(ports, streams, vec![0, 1], SystemClock).unwrap();
    let request = request(vec![1e4 / f64::from(stream_count); usize::from(stream_count)], Some(latency_every));
    let reply = engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap();
    reply.duration_s * 1e9 / reply.streams.iter().map(|stream| stream.received_count).sum::<u64>().max(1) as f64
}

fn request(loads_pps: Vec<f64>, latency_every: Option<u64>) -> TrialRequest {
    TrialRequest {
        trial_id: 1,
        loads_pps,
        duration_s: DURATION_S,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.05,
        loss_check_s: 0.008,
        catch_up_max_s: 0.02,
        latency_every,
        loss_run_max: 0,
        load_changes: Vec::new(),
        window_latency: false,
        histograms: false,
        capture: None,
        sut_pids: Vec::new(),
        disturbances: None,
        progress_s: 0.0,
        burst: false,
    }
}

fn main() {
    println!(
        "{:>8} {:>10} {:>12} {:>14}   ns per {FRAME_BYTES}-byte frame, median (min to max) of {ROUNDS}",
        "streams", "sending", "counting", "and latency"
    );
    for streams in [1, 16, 256, 4096] {
        let mut cells: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            cells[0].push(send_cost_ns(streams));
            cells[1].push(receive_cost_ns(streams, 0));
            cells[2].push(receive_cost_ns(streams, 1));
        }
        let texts = cells.map(|mut cell| {
            cell.sort_by(f64::total_cmp);
            format!("{:.1} ({:.1} to {:.1})", cell[ROUNDS / 2], cell[0], cell[ROUNDS - 1])
        });
        println!("{streams:>8} {}", texts.join("   "));
    }
}
