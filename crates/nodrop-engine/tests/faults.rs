//! Faults planted in every combination, and what the engine counts of them held against a plain account of what came.
#![allow(clippy::unwrap_used, missing_docs)] // clippy.toml excuses #[test] functions, not what they call

mod patient;

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use nodrop_engine::{Engine, Port, Stream};
use nodrop_model::{LoadPattern, StreamCounts, StreamSpec, TrialReply, TrialRequest};
use nodrop_port::fault::{FaultRx, Faults};
use nodrop_port::loopback::{self, LoopbackRx};
use nodrop_port::{PortError, Receive, Received};
use nodrop_wire::{Frames, Signature};
use patient::Patient;

const SEEDS: u64 = 24;
/// Two streams that share the spoiled port, and one the other way.
const IDS: [u16; 3] = [10, 20, 30];
const LOADS_PPS: [f64; 3] = [15_000.0, 5_000.0, 5_000.0];

type Log = Arc<Mutex<Vec<(u16, u64)>>>;

/// Writes down what arrives, before anything is done to it.
struct Logging {
    inner: LoopbackRx,
    log: Log,
}

impl Receive for Logging {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
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

/// What came, in its order, once the faults had their way.
#[derive(Default)]
struct Delivered {
    frames: Vec<(u16, u64)>,
    corrupted_count: u64,
}

/// As the back end says of itself: dropped, else held back, else corrupted and repeated.
fn spoil(log: &[(u16, u64)], faults: Faults) -> Delivered {
    let hits = |every: u64, number: u64| every != 0 && number.is_multiple_of(every);
    let (mut delivered, mut held) = (Delivered::default(), VecDeque::new());
    for (number, frame) in (1..).zip(log) {
        if hits(faults.drop_every, number) {
        } else if hits(faults.delay_every, number) {
            held.push_back((number + faults.delay_frames.max(1), *frame));
        } else {
            let corrupted = hits(faults.corrupt_every, number);
            delivered.corrupted_count += u64::from(corrupted);
            let copies = usize::from(!corrupted) + usize::from(hits(faults.repeat_every, number));
            delivered.frames.extend(std::iter::repeat_n(*frame, copies));
        }
        while held.front().is_some_and(|(until, _)| *until <= number) {
            delivered.frames.extend(held.pop_front().map(|(_, frame)| frame));
        }
    }
    delivered
}

/// First arrivals of a stream in their order, and the repeats.
fn account(delivered: &Delivered, stream_id: u16) -> (Vec<u64>, u64) {
    let (mut order, mut known, mut repeats) = (Vec::new(), BTreeSet::new(), 0);
    for (_, sequence) in delivered.frames.iter().filter(|(id, _)| *id == stream_id) {
        if known.insert(*sequence) { order.push(*sequence) } else { repeats += 1 }
    }
    (order, repeats)
}

/// RFC 4737 sections 3.3 and 4.2.2: of each frame after a later one, how many arrived since the first such.
fn extents(order: &[u64]) -> Vec<u64> {
    let extent = |(at, sequence): (usize, &u64)| {
        order[..at].iter().position(|before| before > sequence).map(|first| (at - first) as u64)
    };
    order.iter().enumerate().filter_map(extent).collect()
}

/// RFC 3357: runs of frames that never came, and the longest.
fn loss_runs(order: &[u64], offered_count: u64) -> (u64, u64) {
    let came: BTreeSet<u64> = order.iter().copied().collect();
    let (mut runs, mut run, mut longest) = (0, 0, 0);
    for sequence in 0..offered_count {
        run = if came.contains(&sequence) { 0 } else { run + 1 };
        runs += u64::from(run == 1);
        longest = longest.max(run);
    }
    (runs, longest)
}

fn compare(found: &StreamCounts, delivered: &Delivered) {
    let (order, repeats) = account(delivered, found.stream_id);
    assert_eq!((found.received_count, found.duplicate_count), (order.len() as u64, repeats));
    assert_eq!(found.lost_count, found.offered_count - order.len() as u64);
    let runs = found.loss_runs.map_or((0, 0), |runs| (runs.count, runs.longest));
    assert_eq!(runs, loss_runs(&order, found.offered_count));
    let extents = extents(&order);
    assert_eq!(found.out_of_order_count, extents.len() as u64);
    assert_eq!(found.reordering.is_some(), !extents.is_empty());
    let Some(reordering) = &found.reordering else { return };
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

/// A short trial with port 1 spoiled; gives what had arrived there too.
fn measure(faults: Faults) -> (TrialReply, Vec<(u16, u64)>) {
    let [near, far] = loopback::pair(1 << 16);
    let log = Log::default();
    let logging = |inner, log: &Log| Logging { inner, log: log.clone() };
    let ports = vec![
        Port {
            name: "near".to_owned(),
            tx: near.0,
            rx: FaultRx::new(logging(near.1, &Log::default()), Faults::default()),
        },
        Port { name: "far".to_owned(), tx: far.0, rx: FaultRx::new(logging(far.1, &log), faults) },
    ];
    let streams = vec![stream(IDS[0], 0), stream(IDS[1], 0), stream(IDS[2], 1)];
    let mut engine = Engine::new(ports, streams, vec![], Patient::new()).unwrap();
    let request = TrialRequest {
        trial_id: 1,
        loads_pps: LOADS_PPS.to_vec(),
        duration_s: 0.06,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.02,
        look_s: 0.008,
        catch_up_max_s: 60.0,
        latency_every: None,
        histograms: false,
        capture: None,
    };
    let reply = engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap();
    let log = log.lock().unwrap().clone();
    (reply, log)
}

/// Numbers that look random, the same for the same seed (splitmix64).
struct Draws(u64);

impl Draws {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % limit
    }

    /// Zero half of the time, else from 2.
    fn every(&mut self, limit: u64) -> u64 {
        self.below(2) * (2 + self.below(limit))
    }
}

#[test]
fn what_is_planted_is_counted_exactly_on_each_stream_whatever_comes_together() {
    for seed in 0..SEEDS {
        let mut draws = Draws(seed);
        let faults = Faults {
            drop_every: draws.every(40),
            repeat_every: draws.every(30),
            delay_every: draws.every(25),
            delay_frames: draws.below(40),
            corrupt_every: draws.every(50),
        };
        let (reply, log) = measure(faults);
        let delivered = spoil(&log, faults);
        let offered: u64 = reply.streams[..2].iter().map(|found| found.offered_count).sum();
        assert_eq!((log.len() as u64, offered > 0), (offered, true), "{faults:?}");
        assert_eq!(reply.corrupted_count, delivered.corrupted_count, "{faults:?}");
        for found in &reply.streams[..2] {
            compare(found, &delivered);
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
        // Every fourth frame is of the smaller stream: 7 arrivals on, each of the two has overtaken.
        (Faults { delay_every: 49, delay_frames: 7, ..none }, 0, 0, 24, 0),
    ] {
        let (reply, _) = measure(faults);
        let total = |count: fn(&StreamCounts) -> u64| reply.streams[..2].iter().map(count).sum::<u64>();
        assert_eq!(total(|found| found.offered_count), 1200);
        assert_eq!(
            (total(|found| found.lost_count), total(|found| found.duplicate_count), reply.corrupted_count),
            (lost, repeated, corrupted),
        );
        assert_eq!(total(|found| found.out_of_order_count), late);
    }
}
