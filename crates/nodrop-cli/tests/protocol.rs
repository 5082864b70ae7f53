//! The engine's protocol with arbitrary lines: every line is either parsed or rejected, without a panic.
//!
//! Bounded and deterministic.
#![allow(clippy::unwrap_used, missing_docs)]

use std::sync::atomic::AtomicBool;

use nodrop_cli::setup;
use nodrop_model::{Backend, Request, TrialRequest};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

const SEED: [u8; 32] = *b"nodrop-engine speaks JSON lines.";
const WORDS: [&str; 8] = ["flat", "burst", "sawtooth", "random", "poisson", "sinusoid", "up_down", "auto"];

fn open() -> Value {
    let station = json!({"mac": "02:00:00:00:00:01", "addresses": ["198.18.0.1", "2001:2::/64"],
        "tags": [{"kind": "vlan", "id": 7}]});
    let port = |name| json!({"backend": "loopback", "interface": name, "queue_slots": 1024, "stations": [station]});
    let stream = |id: u16| {
        json!({"stream_id": id, "tx_port": id, "rx_port": 1 - id,
            "sizes": [{"frame_bytes": 128, "weight": 2}, {"frame_bytes": 1518}], "size_order": "listed",
            "layers": [
                {"kind": "ethernet", "src": "02:00:00:00:00:01", "dst": "02:00:00:00:00:02"},
                {"kind": "vlan", "id": 7, "pcp": 1},
                {"kind": "ipv4", "src": "198.18.0.1", "dst": "198.19.0.1"},
                {"kind": "gre", "key": 5},
                {"kind": "ipv6", "src": "2001:2::1", "dst": "2001:2::2"},
                {"kind": "udp", "src_port": 1024, "dst_port": 9}],
            "ranges": [
                {"layer": 5, "field": "src_port", "values": {"mode": "increment", "count": 4}},
                {"layer": 4, "field": "dst", "values": {"mode": "list", "values": ["2001:2::3", "2001:3::"]}, "every": 4},
                {"layer": 1, "field": "id", "values": {"mode": "random", "count": 3, "span": 9, "seed": 1}}],
            "rx_offsets": [94]})
    };
    json!({"op": "open", "ports": [port("near"), port("far")], "streams": [stream(0), stream(1)], "cores": [],
        "announce_every_s": 0.5})
}

fn trial() -> Value {
    json!({"op": "trial", "trial_id": 1, "loads_pps": [1000, 2000.5], "duration_s": 0.01, "window_s": 0.01,
        "look_s": 0.002, "catch_up_max_s": 0.01, "latency_every": 3, "histograms": true,
        "pattern": {"kind": "stair", "period_s": 0.005, "amplitude_ratio": 0.5, "step_count": 3, "direction": "up"},
        "stop": {"lost_count": 3, "after_loss_s": 0.1, "elapsed_s": 1, "quiet_s": 2, "quiet_lost_count": 1}})
}

fn resolve() -> Value {
    json!({"op": "resolve", "questions": [{"port": 0, "station": 0, "address": "198.18.0.2"}], "timeout_s": 0.001,
        "tries": 1})
}

/// Values of unexpected types and ranges.
fn odd() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!(-1)),
        Just(json!(0)),
        Just(json!(1e308)),
        Just(json!(1e-308)),
        Just(json!(u64::MAX)),
        Just(json!([])),
        Just(json!({})),
        Just(json!(true)),
        any::<f64>().prop_map(|number| json!(number)),
        (-70_000i64..70_000).prop_map(|number| json!(number)),
        ".{0,12}".prop_map(|text| json!(text)),
        select(&WORDS[..]).prop_map(|word| json!(word)),
    ]
}

/// A request with some values replaced, selected by position.
fn mutated(request: Value) -> impl Strategy<Value = Value> {
    prop::collection::vec((any::<Index>(), odd()), 1..4).prop_map(move |changes| {
        let mut request = request.clone();
        for (index, value) in changes {
            let pointers = pointers(&request);
            *request.pointer_mut(&pointers[index.index(pointers.len())]).unwrap() = value;
        }
        request
    })
}

/// Return the JSON pointers of a value and of all values within it.
fn pointers(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| pointers(value).into_iter().map(move |rest| format!("/{key}{rest}"));
    let mut all = vec![String::new()];
    match value {
        Value::Object(fields) => all.extend(fields.iter().flat_map(|(key, value)| below(key.clone(), value))),
        Value::Array(items) => all.extend(items.iter().enumerate().flat_map(|(at, item)| below(at.to_string(), item))),
        _ => (),
    }
    all
}

fn fuzz<S: Strategy>(cases: u32, strategy: S, check: impl Fn(S::Value)) {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &SEED);
    let checked = |value| {
        check(value);
        Ok(())
    };
    TestRunner::new_with_rng(config, rng).run(&strategy, checked).unwrap();
}

fn parse(text: &str) -> Option<Request> {
    serde_json::from_str(text).ok()
}

/// Run a trial that is stopped at once; it ends within a loss check, whatever its duration.
fn run_trial(request: &TrialRequest) {
    let Some(Request::Open(open_request)) = parse(&open().to_string()) else { unreachable!() };
    let (mut engine, ..) = setup::open(&open_request).unwrap();
    let _ = engine.trial(request, &AtomicBool::new(true), |_| ());
}

#[test]
fn no_line_of_text_is_too_strange_to_be_read_or_refused() {
    fuzz(4000, ".{0,200}", |text| drop(parse(&text)));
    fuzz(4000, prop::collection::vec(any::<u8>(), 0..200), |bytes| drop(parse(&String::from_utf8_lossy(&bytes))));
    let lines = [open().to_string(), trial().to_string()];
    fuzz(4000, (0..2usize, any::<Index>(), any::<u8>()), |(line, index, byte)| {
        let mut bytes = lines[line].clone().into_bytes();
        let index = index.index(bytes.len());
        bytes[index] = byte;
        drop(parse(&String::from_utf8_lossy(&bytes)));
        drop(parse(&String::from_utf8_lossy(&bytes[..index])));
    });
    assert!(parse(&"[".repeat(100_000)).is_none());
}

#[test]
fn what_is_read_is_written_back_as_it_was() {
    for value in [open(), resolve(), trial()] {
        let request = parse(&value.to_string()).unwrap();
        let written = serde_json::to_string(&request).unwrap();
        assert_eq!(serde_json::to_string(&parse(&written).unwrap()).unwrap(), written);
    }
}

#[test]
fn ports_and_streams_that_make_no_sense_are_refused() {
    fuzz(1500, mutated(open()), |value| {
        if let Some(Request::Open(request)) = parse(&value.to_string())
            && request.ports.iter().all(|port| port.backend == Backend::Loopback)
            && request.cores.is_empty()
        {
            drop(setup::open(&request));
        }
    });
}

#[test]
fn trials_that_make_no_sense_are_refused_and_others_end() {
    fuzz(250, mutated(trial()), |value| {
        if let Some(Request::Trial(request)) = parse(&value.to_string()) {
            run_trial(&request);
        }
    });
}
