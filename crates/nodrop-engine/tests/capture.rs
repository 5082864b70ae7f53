//! Trials with capture: the file contains exactly the frames that were counted.
#![allow(clippy::unwrap_used, missing_docs)] // clippy.toml excuses #[test] functions, not what they call

use std::sync::atomic::AtomicBool;

use nodrop_engine::{Engine, Port, Stream};
use nodrop_model::{CaptureDirection, CaptureRequest, LoadPattern, StreamSpec, TrialReply, TrialRequest};
use nodrop_port::clock::SystemClock;
use nodrop_port::loopback;
use nodrop_port::pcap::{FileFrames, Filter, PcapError, read};
use nodrop_wire::{Frames, Signature};

const SIGNATURE_OFFSET: usize = 42;

fn capture_request(name: &str) -> CaptureRequest {
    let file = std::env::temp_dir().join(format!("nodrop-capture-{}-{name}.pcapng", std::process::id()));
    CaptureRequest {
        file: file.to_str().unwrap().to_owned(),
        ports: vec![],
        direction: CaptureDirection::Both,
        filter: None,
        frame_count_max: 100_000,
        bytes_max: 1 << 24,
        snap_bytes: 9216,
    }
}

/// Run a trial of 200 frames in each direction between two ports.
fn trial(capture: CaptureRequest) -> Result<(TrialReply, FileFrames), String> {
    let [near, far] = loopback::pair(1 << 12);
    let port = |name: &str, (tx, rx)| Port { name: name.to_owned(), tx, rx };
    let stream = |id, tx_port, rx_port| {
        let frames = Frames::new(&StreamSpec::udp(id, tx_port, rx_port, 200, 4)).unwrap();
        Stream { frames, tx_port, rx_port }
    };
    let ports = vec![port("near", near), port("far", far)];
    let mut engine = Engine::new(ports, vec![stream(10, 0, 1), stream(20, 1, 0)], vec![], SystemClock).unwrap();
    let file = capture.file.clone();
    let request = TrialRequest {
        trial_id: 1,
        loads_pps: vec![2000.0; 2],
        duration_s: 0.1,
        pattern: LoadPattern::Flat,
        stop: None,
        window_s: 0.02,
        loss_check_s: 0.008,
        catch_up_max_s: 60.0,
        latency_every: None,
        loss_run_max: 0,
        load_changes: Vec::new(),
        window_latency: false,
        histograms: false,
        capture: Some(Box::new(capture)),
        sut_pids: Vec::new(),
        disturbances: None,
        progress_s: 0.0,
        burst: false,
    };
    let reply = engine.trial(&request, &AtomicBool::new(false), |_| ()).map_err(|error| error.to_string())?;
    let frames = read(&file, None, usize::MAX).unwrap();
    std::fs::remove_file(file).unwrap();
    Ok((reply, frames))
}

fn counts(reply: &TrialReply) -> (u64, u64) {
    let capture = reply.capture.as_ref().unwrap();
    (capture.frame_count, capture.dropped_count)
}

#[test]
fn every_frame_counted_is_in_the_file_whole_and_in_order() {
    let (reply, file) = trial(capture_request("all")).unwrap();
    let counted: u64 = reply.streams.iter().map(|stream| stream.offered_count + stream.received_count).sum();
    assert_eq!((counts(&reply), file.seen_count), ((counted, 0), counted));
    let sequences = |stream_id| {
        let signatures = file.frames.iter().filter_map(|frame| Signature::parse(&frame.bytes[SIGNATURE_OFFSET..]));
        signatures
            .filter(|signature| signature.stream_id == stream_id)
            .map(|signature| signature.sequence)
            .collect::<Vec<_>>()
    };
    for (stream, id) in reply.streams.iter().zip([10, 20]) {
        let mut numbers = sequences(id);
        numbers.sort_unstable();
        let twice: Vec<u64> = (0..stream.offered_count).flat_map(|number| [number; 2]).collect();
        assert_eq!(numbers, twice, "sent once, received once");
    }
    assert!(file.frames.iter().all(|frame| frame.frame_len == 196 && frame.bytes.len() == 196));
}

#[test]
fn ways_ports_and_a_filter_choose_frames() {
    let capture = |name: &str, change: &dyn Fn(&mut CaptureRequest)| {
        let mut request = capture_request(name);
        change(&mut request);
        let (reply, file) = trial(request).unwrap();
        (counts(&reply).0, file, reply)
    };
    let (count, _, reply) =
        capture("sent", &|request| (request.direction, request.ports) = (CaptureDirection::Sent, vec![1]));
    assert_eq!(count, reply.streams[1].offered_count);
    let (count, _, reply) = capture("received", &|request| request.direction = CaptureDirection::Received);
    assert_eq!(count, reply.streams.iter().map(|stream| stream.received_count).sum::<u64>());
    let (_, file, _) = capture("snap", &|request| request.snap_bytes = 60);
    assert!(file.frames.iter().all(|frame| frame.frame_len == 196 && frame.bytes.len() == 60));
    if matches!(Filter::new("ip"), Err(PcapError::NoLibrary { .. })) {
        return;
    }
    // One of four source ports in rotation; 198.18.0.1 sends on port 0.
    let text = "udp src port 49153 and src host 198.18.0.1";
    let (count, _, reply) = capture("filter", &|request| request.filter = Some(text.to_owned()));
    assert_eq!(count, 2 * reply.streams[0].offered_count.div_ceil(4).min(50));
}

#[test]
fn what_does_not_fit_is_counted() {
    let (reply, file) = trial(CaptureRequest { frame_count_max: 30, ..capture_request("count") }).unwrap();
    let total: u64 = reply.streams.iter().map(|stream| stream.offered_count + stream.received_count).sum();
    assert_eq!((counts(&reply), file.frames.len()), ((30, total - 30), 30));
}

#[test]
fn what_cannot_be_captured_is_refused_by_its_key() {
    let error = |name: &str, change: &dyn Fn(&mut CaptureRequest)| {
        let mut request = capture_request(name);
        change(&mut request);
        trial(request).unwrap_err()
    };
    assert!(error("a", &|request| request.ports = vec![2]).starts_with("capture.ports: no port with index 2"));
    assert!(error("b", &|request| request.bytes_max = 1).starts_with("capture.bytes_max: 1"));
    assert!(error("c", &|request| request.frame_count_max = 0).starts_with("capture.frame_count_max: 0"));
    assert!(error("d", &|request| request.snap_bytes = 1).starts_with("capture.snap_bytes: 1"));
    assert!(error("e", &|request| request.file = "/nowhere/at/all".to_owned()).starts_with("capture.file: /nowhere"));
    assert!(
        error("f", &|request| request.filter = Some("udp prt".to_owned()))
            .starts_with("capture.filter: filter \"udp prt\"")
    );
}
