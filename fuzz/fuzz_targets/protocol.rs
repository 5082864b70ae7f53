//! The engine's protocol: arbitrary lines, parsed as requests and executed on in-memory ports.
#![no_main]

use std::sync::atomic::AtomicBool;

use libfuzzer_sys::fuzz_target;
use nodrop_cli::setup::{self, HostEngine};
use nodrop_model::{Backend, CheckRequest, OpenRequest, Reply, Request, TrialRequest};
use nodrop_wire::{Frames, Signature, is_intact};

/// Number of frames of each stream to check.
const FRAMES: u64 = 3;
/// Maximum number of trials per input; each takes some milliseconds.
const TRIALS_MAX: u32 = 2;
/// Longer trials are stopped at once.
const TRIAL_MAX_S: f64 = 0.005;
const TRIAL_FRAMES_MAX: f64 = 2e3;
const CHECK_MAX_S: f64 = 0.02;

/// Return true if the request has no side effects: in-memory ports, no files, no pinning.
fn is_harmless(request: &OpenRequest) -> bool {
    request.cores.is_empty()
        && request.streams.iter().all(|stream| stream.replay.is_none())
        && request.ports.iter().all(|port| port.backend == Backend::Loopback)
}

fn open(request: &OpenRequest) -> Option<HostEngine> {
    for spec in &request.streams {
        if let Ok(frames) = Frames::new(spec) {
            (0..FRAMES).for_each(|sequence| check_frame(&frames, sequence << (sequence * 16)));
        }
    }
    let (engine, _, opened) = setup::open(request).ok()?;
    write(&Reply::Opened(opened));
    Some(engine)
}

/// Check that a sent frame is recognized and its checksum is correct.
fn check_frame(frames: &Frames, sequence: u64) {
    let (_, template) = frames.template(sequence);
    let mut frame = template.bytes().to_vec();
    template.complete(&mut template.slot_state(), &mut frame, sequence, u64::MAX, u8::MAX);
    let offset = template.signature_offset();
    let signature = Signature::parse(&frame[offset..]).expect("a signature");
    assert_eq!((signature.sequence, signature.stream_id), (sequence, frames.stream_id()));
    assert!(is_intact(&frame, offset));
}

fn trial(engine: &mut HostEngine, request: &TrialRequest) {
    let mut request = request.clone();
    if let Some(capture) = &mut request.capture {
        // Avoid writing files; libpcap is not under test.
        (capture.file, capture.filter) = ("/dev/null".to_owned(), None);
    }
    let loads = request.load_changes.iter().map(|change| &change.loads_pps).chain([&request.loads_pps]);
    let load_pps = loads.map(|loads_pps| loads_pps.iter().sum::<f64>()).fold(0.0, f64::max);
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

fn check(engine: &mut HostEngine, request: &CheckRequest) {
    // Limit long timeouts; pass on invalid ones.
    let is_long = request.timeout_s > CHECK_MAX_S && request.timeout_s <= 86_400.0;
    let timeout_s = if is_long { CHECK_MAX_S } else { request.timeout_s };
    if let Ok(reply) = engine.check(timeout_s) {
        write(&Reply::Checked(reply));
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
        // A number with many digits may lose its last digit when parsed, so only check that the output parses again.
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
