//! Memory use stays constant over trials. A separate test program, because it measures its process.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::atomic::AtomicBool;

use nodrop_engine::{Engine, Port, Stream};
use nodrop_model::{LoadPattern, StreamSpec, TrialRequest};
use nodrop_port::clock::SystemClock;
use nodrop_port::loopback;
use nodrop_wire::Frames;

const STREAMS: u16 = 512;
const TRIALS: u64 = 30;
const ROUNDS: usize = 3;
/// Far less than a single trial allocates (above 4 MB for 512 streams).
const GROWTH_MAX_BYTES: u64 = 2 << 20;

fn stream(stream_id: u16) -> Stream {
    let (tx_port, rx_port) = (usize::from(stream_id % 2), usize::from(1 - stream_id % 2));
    let frames = Frames::new(&StreamSpec::udp(stream_id, tx_port, rx_port, 64, 16));
    Stream { frames: frames.unwrap(), tx_port, rx_port }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn thirty_trials_take_no_more_memory_than_three() {
    let [near, far] = loopback::pair(1 << 16);
    let ports = vec![
        Port { name: "near".to_owned(), tx: near.0, rx: near.1 },
        Port { name: "far".to_owned(), tx: far.0, rx: far.1 },
    ];
    let mut engine = Engine::new(ports, (0..STREAMS).map(stream).collect(), vec![], SystemClock).unwrap();
    let request = TrialRequest {
        trial_id: 1,
        loads_pps: vec![20.0; usize::from(STREAMS)],
        duration_s: 0.05,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.01,
        loss_check_s: 0.005,
        catch_up_max_s: 1.0,
        latency_every: None,
        loss_run_max: 0,
        load_changes: Vec::new(),
        window_latency: false,
        histograms: true,
        capture: None,
        sut_pids: Vec::new(),
        disturbances: None,
        progress_s: 0.0,
        burst: false,
    };
    let mut measure = || engine.trial(&request, &AtomicBool::new(false), |_| ()).unwrap();
    (0..3).for_each(|_| drop(measure()));
    let mut grow = || {
        let before = resident_bytes();
        for _ in 0..TRIALS {
            let reply = measure();
            assert!(reply.streams.iter().all(|stream| stream.received_count == stream.offered_count));
        }
        resident_bytes().saturating_sub(before)
    };
    // A slow trial may grow the heap once; a leak grows it every time.
    let growth = (0..ROUNDS).map(|_| grow()).min().unwrap();
    assert!(growth < GROWTH_MAX_BYTES, "at least {growth} bytes more after each {TRIALS} trials");
}
