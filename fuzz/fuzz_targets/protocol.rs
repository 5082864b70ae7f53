//! The engine's protocol: lines of anything, read as requests and carried out on ports in memory.
#![no_main]

use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use nodrop_cli::setup::{self, HostEngine};
use nodrop_model::{Backend, Check, Open, Reply, Request, TrialRequest};
use nodrop_wire::{Frames, Signature, is_intact};

/// Frames of each stream looked at.
const FRAMES: u64 = 3;
/// Trials of one input that are carried out; each takes some milliseconds.
const TRIALS_MAX: u32 = 2;
/// Longer ones are told to stop at once.
const TRIAL_MAX_S: f64 = 0.005;
const TRIAL_FRAMES_MAX: f64 = 2e3;
const CHECK_MAX_S: f64 = 0.02;

/// Only what touches nothing: ports in memory, no file, no CPU bound.
fn is_harmless(request: &Open) -> bool {
    request.cores.is_empty()
        && request.streams.iter().all(|stream| stream.replay.is_none())
        && request.ports.iter().all(|port| port.backend == Backend::Loopback)
}

fn open(request: &Open) -> Option<HostEngine> {
    for spec in &request.streams {
        if let Ok(frames) = Frames::new(spec) {
            (0..FRAMES).for_each(|sequence| check_frame(&frames, sequence << (sequence * 16)));
        }
    }
    let (engine, _, opened) = setup::open(request).ok()?;
    write(&Reply::Opened(opened));
    Some(engine)
}

/// What is sent is known again, and its checksum is right.
fn check_frame(frames: &Frames, sequence: u64) {
    let (_, template) = frames.of(sequence);
    let mut frame = template.bytes().to_vec();
    template.complete(&mut template.lasting(), &mut frame, sequence, u64::MAX, u8::MAX);
    let offset = template.signature_offset();
    let signature = Signature::parse(&frame[offset..]).expect("a signature");
    assert_eq!((signature.sequence, signature.stream_id), (sequence, frames.stream_id()));
    assert!(is_intact(&frame, offset));
}

fn trial(engine: &mut HostEngine, request: &TrialRequest) {
    let mut request = request.clone();
    if let Some(capture) = &mut request.capture {
        // Nothing is written anywhere, and libpcap is not what is tried.
        (capture.file, capture.filter) = ("/dev/null".to_owned(), None);
    }
    let load_pps: f64 = request.loads_pps.iter().sum();
    let at_once = request.duration_s > TRIAL_MAX_S || load_pps * request.duration_s > TRIAL_FRAMES_MAX;
    let Ok(reply) = engine.trial(&request, &AtomicBool::new(at_once), |window| write(&Reply::Window(window))) else {
        return;
    };
    for stream in &reply.streams {
        assert!(stream.intended_count >= stream.offered_count);
        assert_eq!(stream.lost_count + stream.received_count, stream.offered_count);
    }
    for columns in [&reply.windows.offered_count, &reply.windows.received_count, &reply.windows.lost_count] {
        assert!(columns.iter().all(|column| column.len() == reply.windows.end_s.len()));
    }
    write(&Reply::Trial(Box::new(reply)));
}

fn check(engine: &mut HostEngine, request: &Check) {
    // Whoever may wait for long is let wait no longer than this; a time that makes no sense is passed on.
    let patient = request.timeout_s > CHECK_MAX_S && request.timeout_s <= 86_400.0;
    let timeout_s = if patient { CHECK_MAX_S } else { request.timeout_s };
    if let Ok(checked) = engine.check(timeout_s) {
        write(&Reply::Checked(checked));
    }
}

fn write(reply: &Reply) {
    serde_json::to_string(reply).expect("a reply that can be written");
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (mut engine, mut trials) = (None, 0);
    for line in text.lines() {
        let Ok(request) = serde_json::from_str::<Request>(line) else { continue };
        let written = serde_json::to_string(&request).expect("a request that can be written");
        // A number of many digits may lose its last one when it is read, so what is written is read once more.
        assert!(serde_json::from_str::<Request>(&written).is_ok(), "{written}");
        match (request, &mut engine) {
            (Request::Open(request), _) if is_harmless(&request) => engine = open(&request),
            (Request::Trial(request), Some(engine)) if trials < TRIALS_MAX => {
                trials += 1;
                trial(engine, &request);
            }
            (Request::Check(request), Some(engine)) if trials < TRIALS_MAX => {
                trials += 1;
                check(engine, &request);
            }
            (Request::Close | Request::Stop, _) => engine = None,
            _ => (),
        }
    }
});
