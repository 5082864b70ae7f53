//! Injected faults in all combinations; the engine's counts are compared with an independent evaluation of the
//! arrivals.
#![allow(clippy::unwrap_used, missing_docs)] // clippy.toml excuses #[test] functions, not what they call

mod worker_clock;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nodrop_engine::{Engine, Port, Stream};
use nodrop_model::{LoadPattern, LossRuns, StreamCounts, StreamSpec, TrialReply, TrialRequest};
use nodrop_port::fault::{FaultRx, Faults};
use nodrop_port::loopback::{self, LoopbackRx};
use nodrop_port::{PortError, Receive, ReceivedFrame};
use nodrop_wire::{Frames, Signature};
use worker_clock::WorkerClock;

const SEEDS: u64 = 24;
/// Two streams that share the faulty port, and one in the other direction.
const IDS: [u16; 3] = [10, 20, 30];
const LOADS_PPS: [f64; 3] = [15_000.0, 5_000.0, 5_000.0];

type Log = Arc<Mutex<Vec<(u16, u64)>>>;

/// Logs arrivals before any fault is applied.
struct LoggingRx {
    inner: LoopbackRx,
    log: Log,
}

impl Receive for LoggingRx {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let Self { inner, log } = self;
        inner.receive(budget, |frame| {
            let signature = Signature::parse(&frame.bytes[42..]).unwrap();
            log.lock().unwrap().push((signature.stream_id, signature.sequence));
            sink(frame);
        })
    }

    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        self.inner.take_drop_count()
    }

    fn queue_slots(&self) -> u32 {
        self.inner.queue_slots()
    }
}

/// Frames delivered after the faults, in order.
#[derive(Default)]
struct Delivered {
    frames: Vec<(u16, u64)>,
    corrupted_count: u64,
}

/// Apply the faults as `FaultRx` documents: drop wins over delay, and delay over corruption and repetition.
fn apply_faults(log: &[(u16, u64)], faults: Faults) -> Delivered {
    let hits = |every: u64, number: u64| every != 0 && number.is_multiple_of(every);
    let (mut delivered, mut delayed) = (Delivered::default(), VecDeque::new());
    for (number, frame) in (1..).zip(log) {
        if hits(faults.drop_every, number) {
        } else if hits(faults.delay_every, number) {
            delayed.push_back((number + faults.delay_frames.max(1), *frame));
        } else {
            let corrupted = hits(faults.corrupt_every, number);
            delivered.corrupted_count += u64::from(corrupted);
            let copies = usize::from(!corrupted) + usize::from(hits(faults.repeat_every, number));
            delivered.frames.extend(std::iter::repeat_n(*frame, copies));
        }
        while delayed.front().is_some_and(|(until, _)| *until <= number) {
            delivered.frames.extend(delayed.pop_front().map(|(_, frame)| frame));
        }
    }
    delivered
}

/// Return the first arrivals of a stream in order, and the number of repeats.
fn first_arrivals(delivered: &Delivered, stream_id: u16) -> (Vec<u64>, u64) {
    let (mut order, mut seen, mut repeats) = (Vec::new(), BTreeSet::new(), 0);
    for (_, sequence) in delivered.frames.iter().filter(|(id, _)| *id == stream_id) {
        if seen.insert(*sequence) { order.push(*sequence) } else { repeats += 1 }
    }
    (order, repeats)
}

/// RFC 4737 sections 3.3 and 4.2.2: for each reordered frame, the frames that arrived since the first later one.
fn extents(order: &[u64]) -> Vec<u64> {
    let extent = |(at, sequence): (usize, &u64)| {
        order[..at].iter().position(|before| before > sequence).map(|first| (at - first) as u64)
    };
    order.iter().enumerate().filter_map(extent).collect()
}

/// RFC 3357: first sequence number and length of each run of lost frames.
fn loss_runs(order: &[u64], offered_count: u64) -> Vec<(u64, u64)> {
    let arrived: BTreeSet<u64> = order.iter().copied().collect();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for sequence in (0..offered_count).filter(|sequence| !arrived.contains(sequence)) {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == sequence => *count += 1,
            _ => runs.push((sequence, 1)),
        }
    }
    runs
}

fn compare(actual: &StreamCounts, delivered: &Delivered) {
    let (order, repeats) = first_arrivals(delivered, actual.stream_id);
    assert_eq!((actual.received_count, actual.duplicate_count), (order.len() as u64, repeats));
    assert_eq!(actual.lost_count, actual.offered_count - order.len() as u64);
    let runs = loss_runs(&order, actual.offered_count);
    let (count, longest) = (runs.len() as u64, runs.iter().map(|(_, count)| *count).max());
    assert_eq!(actual.loss_runs, longest.map(|longest| LossRuns { count, longest }));
    let timeline: Vec<_> = actual.loss_timeline.iter().map(|run| (run.first_sequence, run.count)).collect();
    assert_eq!(timeline, runs);
    for run in &actual.loss_timeline {
        let end = run.first_sequence + run.count;
        assert_eq!((run.before.is_none(), run.after.is_none()), (run.first_sequence == 0, end == actual.offered_count));
        if let (Some(before), Some(after)) = (run.before, run.after) {
            assert!(before.sent_ns <= after.sent_ns && before.sent_ns <= before.received_ns);
        }
    }
    let extents = extents(&order);
    assert_eq!(actual.out_of_order_count, extents.len() as u64);
    assert_eq!(actual.reordering.is_some(), !extents.is_empty());
    let Some(reordering) = &actual.reordering else { return };
    let mean = extents.iter().sum::<u64>() as f64 / extents.len() as f64;
    assert_eq!((reordering.count, reordering.extent_max), (extents.len() as u64, *extents.iter().max().unwrap()));
    assert!((reordering.extent_mean - mean).abs() < 1e-6);
    for (class, count) in reordering.extent_counts.iter().enumerate() {
        assert_eq!(*count, extents.iter().filter(|extent| extent.ilog2() as usize == class).count() as u64);
    }
}

fn stream(stream_id: u16, tx_port: usize) -> Stream {
    let rx_port = 1 - tx_port;
    let frames = Frames::new(&StreamSpec::udp(stream_id, tx_port, rx_port, 64, 16)).unwrap();
    Stream { frames, tx_port, rx_port }
}

/// Run a short trial with faults on port 1; also return the log of its arrivals.
fn measure(faults: Faults) -> (TrialReply, Vec<(u16, u64)>) {
    let [near, far] = loopback::pair(1 << 16);
    let log = Log::default();
    let logging = |inner, log: &Log| LoggingRx { inner, log: log.clone() };
    let ports = vec![
        Port {
            name: "near".to_owned(),
            tx: near.0,
            rx: FaultRx::new(logging(near.1, &Log::default()), Faults::default()),
        },
        Port { name: "far".to_owned(), tx: far.0, rx: FaultRx::new(logging(far.1, &log), faults) },
    ];
    let streams = vec![stream(IDS[0], 0), stream(IDS[1], 0), stream(IDS[2], 1)];
    let mut engine = Engine::new(ports, streams, vec![], WorkerClock::new()).unwrap();
    let request = TrialRequest {
        trial_id: 1,
        loads_pps: LOADS_PPS.to_vec(),
        duration_s: 0.06,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.02,
        loss_check_s: 0.008,
        catch_up_max_s: 60.0,
        latency_every: None,
        loss_run_max: 1 << 16,
        load_changes: Vec::new(),
        window_latency: false,
        histograms: false,
        capture: None,
        sut_pids: Vec::new(),
        disturbances: None,
        progress_s: 0.0,
        burst: false,
    };
    let reply = engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap();
    let log = log.lock().unwrap().clone();
    (reply, log)
}

/// SplitMix64 generator.
struct SplitMix64(u64);

impl SplitMix64 {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % limit
    }

    /// Return zero half of the time, otherwise a number from 2.
    fn every(&mut self, limit: u64) -> u64 {
        self.below(2) * (2 + self.below(limit))
    }
}

#[test]
fn what_is_planted_is_counted_exactly_on_each_stream_whatever_comes_together() {
    for seed in 0..SEEDS {
        let mut random = SplitMix64(seed);
        let faults = Faults {
            drop_every: random.every(40),
            repeat_every: random.every(30),
            delay_every: random.every(25),
            delay_frames: random.below(40),
            corrupt_every: random.every(50),
        };
        let (reply, log) = measure(faults);
        let delivered = apply_faults(&log, faults);
        let offered: u64 = reply.streams[..2].iter().map(|stream| stream.offered_count).sum();
        assert_eq!((log.len() as u64, offered > 0), (offered, true), "{faults:?}");
        assert_eq!(reply.corrupted_count, delivered.corrupted_count, "{faults:?}");
        for stream in &reply.streams[..2] {
            compare(stream, &delivered);
        }
        let other = &reply.streams[2];
        assert_eq!((other.received_count, other.lost_count, other.duplicate_count), (other.offered_count, 0, 0));
        assert!(other.reordering.is_none());
    }
}

#[test]
fn each_fault_alone_is_counted_exactly() {
    let none = Faults::default();
    for (faults, lost, repeated, late, corrupted) in [
        (Faults { drop_every: 50, ..none }, 24, 0, 0, 0),
        (Faults { repeat_every: 50, ..none }, 0, 24, 0, 0),
        (Faults { corrupt_every: 50, ..none }, 24, 0, 0, 24),
        // Every fourth frame is of the smaller stream: after 7 arrivals, frames of both streams have overtaken.
        (Faults { delay_every: 49, delay_frames: 7, ..none }, 0, 0, 24, 0),
    ] {
        let (reply, _) = measure(faults);
        let total = |count: fn(&StreamCounts) -> u64| reply.streams[..2].iter().map(count).sum::<u64>();
        assert_eq!(total(|stream| stream.offered_count), 1200);
        assert_eq!(
            (total(|stream| stream.lost_count), total(|stream| stream.duplicate_count), reply.corrupted_count),
            (lost, repeated, corrupted),
        );
        assert_eq!(total(|stream| stream.out_of_order_count), late);
    }
}
