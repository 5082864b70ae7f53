//! Capture of a trial's frames: taps on its ports during the trial, the file after it, so that the only overhead during
//! the measurement is copying frames.

use nodrop_model::{CAPTURE_BYTES_RANGE, CAPTURE_FRAMES_MAX, CaptureReply, CaptureRequest, TrialReply};
use nodrop_port::clock::Clock;
use nodrop_port::pcap::{CaptureFile, CaptureFrame, Filter, FrameDirection};
use nodrop_port::{Receive, Transmit};

use crate::tap::{CapturedFrame, Pool, Tap, TapRx, TapSettings, TapTx};
use crate::{EngineError, Port};

/// Minimum snap length: the Ethernet header.
const SNAP_BYTES_MIN: u32 = 14;

/// A port with taps.
pub(crate) type TappedPort<'a, T, R, C> = Port<TapTx<'a, T, C>, TapRx<'a, R>>;

/// Run `trial` on these ports and write its frames to a file.
pub(crate) fn run<T: Transmit, R: Receive, C: Clock>(
    ports: &mut [Port<T, R>],
    request: &CaptureRequest,
    clock: &C,
    trial: impl FnOnce(&mut [TappedPort<'_, T, R, C>]) -> Result<TrialReply, EngineError>,
) -> Result<TrialReply, EngineError> {
    request_error(request, ports).map_or(Ok(()), |message| Err(EngineError::Request(message)))?;
    let error_at = |key: &'static str| move |error| EngineError::Request(format!("{key}: {error}"));
    let filter = request.filter.as_deref().map(Filter::new).transpose().map_err(error_at("capture.filter"))?;
    let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut file = CaptureFile::create(&request.file, &names, request.snap_bytes, request.filter.as_deref())
        .map_err(error_at("capture.file"))?;
    let pool = Pool::new(request.bytes_max);
    let settings = TapSettings {
        pool: &pool,
        filter: filter.as_ref(),
        snap_bytes: request.snap_bytes as usize,
        count_max: request.frame_count_max,
    };
    let mut tapped_ports: Vec<_> =
        ports.iter_mut().enumerate().map(|(index, port)| tap_port(index, port, request, clock, settings)).collect();
    let reply = trial(&mut tapped_ports)?;
    let capture = write(&mut file, &tapped_ports, request).map_err(error_at("capture.file"))?;
    file.finish().map_err(error_at("capture.file"))?;
    Ok(TrialReply { capture: Some(capture), ..reply })
}

fn request_error<T: Transmit, R>(request: &CaptureRequest, ports: &[Port<T, R>]) -> Option<String> {
    let CaptureRequest { frame_count_max, bytes_max, snap_bytes, .. } = *request;
    if let Some(port) = request.ports.iter().find(|port| **port >= ports.len()) {
        return Some(format!("capture.ports: no port with index {port}; use an index below {}", ports.len()));
    }
    if !(1..=CAPTURE_FRAMES_MAX).contains(&frame_count_max) {
        return Some(format!(
            "capture.frame_count_max: {frame_count_max} is out of range; use 1 to {CAPTURE_FRAMES_MAX}"
        ));
    }
    if !CAPTURE_BYTES_RANGE.contains(&bytes_max) {
        return Some(format!("capture.bytes_max: {bytes_max} is out of range; use 2^20 to 2^30"));
    }
    if snap_bytes < SNAP_BYTES_MIN {
        return Some(format!("capture.snap_bytes: {snap_bytes} is too small; use at least {SNAP_BYTES_MIN}"));
    }
    let is_generated_in_kernel =
        |index: &usize| request.direction.includes_sent() && ports[*index].tx.egress_port().is_some();
    let port = (0..ports.len()).filter(|index| is_captured(*index, request)).find(is_generated_in_kernel)?;
    Some(format!(
        "capture.way: frames sent by {} are generated in the kernel and cannot be captured; capture received \
         frames, or use a back end that sends from user space (af_xdp, af_packet)",
        ports[port].name
    ))
}

fn is_captured(port: usize, request: &CaptureRequest) -> bool {
    request.ports.is_empty() || request.ports.contains(&port)
}

fn tap_port<'a, T, R, C>(
    index: usize,
    port: &'a mut Port<T, R>,
    request: &CaptureRequest,
    clock: &'a C,
    settings: TapSettings<'a>,
) -> TappedPort<'a, T, R, C> {
    let tap = |is_included: bool, direction| {
        (is_included && is_captured(index, request)).then(|| Tap::new(settings, index, direction))
    };
    Port {
        name: port.name.clone(),
        tx: TapTx::new(&mut port.tx, clock, tap(request.direction.includes_sent(), FrameDirection::Sent)),
        rx: TapRx::new(&mut port.rx, tap(request.direction.includes_received(), FrameDirection::Received)),
    }
}

/// Write all frames in the order of their timestamps.
fn write<T, R, C>(
    file: &mut CaptureFile,
    tapped_ports: &[TappedPort<'_, T, R, C>],
    request: &CaptureRequest,
) -> Result<CaptureReply, nodrop_port::pcap::PcapError> {
    let taps: Vec<&Tap<'_>> = tapped_ports.iter().flat_map(|port| [&port.tx.tap, &port.rx.tap]).flatten().collect();
    let mut frames: Vec<(&Tap<'_>, CapturedFrame<'_>)> =
        taps.iter().flat_map(|tap| tap.frames().map(move |frame| (*tap, frame))).collect();
    // The sort is stable: frames that a port sent at once keep their order, and precede the frames they caused.
    frames.sort_by_key(|(tap, frame)| (frame.time_ns, tap.direction == FrameDirection::Received));
    frames.truncate(usize::try_from(request.frame_count_max).unwrap_or(usize::MAX));
    for (tap, CapturedFrame { time_ns, frame_len, bytes }) in &frames {
        let (interface, direction, time_ns, frame_len) = (tap.port, tap.direction, *time_ns, *frame_len);
        file.write(&CaptureFrame { interface, direction, time_ns, frame_len, bytes })?;
    }
    let matched_count: u64 = taps.iter().map(|tap| tap.matched_count).sum();
    let frame_count = frames.len() as u64;
    Ok(CaptureReply { file: request.file.clone(), frame_count, dropped_count: matched_count - frame_count })
}
