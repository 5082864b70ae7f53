//! A trial whose frames are captured: taps on its ports while it runs, the file after it, so that nothing but copying frames
//! happens beside the SUT.

use nodrop_model::{CAPTURE_BYTES_RANGE, CAPTURE_FRAMES_MAX, CaptureReply, CaptureRequest, TrialReply};
use nodrop_port::clock::Clock;
use nodrop_port::pcap::{CaptureFile, CaptureFrame, Filter, Way};
use nodrop_port::{Receive, Transmit};

use crate::tap::{Kept, Pool, Tap, TapRx, TapTx, Wanted};
use crate::{EngineError, Port};

/// The least that is worth keeping of a frame: its Ethernet header.
const SNAP_BYTES_MIN: u32 = 14;

/// Ports with taps.
pub(crate) type Tapped<'a, T, R, C> = Port<TapTx<'a, T, C>, TapRx<'a, R>>;

/// Run `trial` on these ports, and keep its frames in a file.
pub(crate) fn run<T: Transmit, R: Receive, C: Clock>(
    ports: &mut [Port<T, R>],
    asked: &CaptureRequest,
    clock: &C,
    trial: impl FnOnce(&mut [Tapped<'_, T, R, C>]) -> Result<TrialReply, EngineError>,
) -> Result<TrialReply, EngineError> {
    refusal(asked, ports).map_or(Ok(()), |message| Err(EngineError::Request(message)))?;
    let named = |key: &'static str| move |error| EngineError::Request(format!("{key}: {error}"));
    let filter = asked.filter.as_deref().map(Filter::new).transpose().map_err(named("capture.filter"))?;
    let names: Vec<String> = ports.iter().map(|port| port.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut file = CaptureFile::create(&asked.file, &names, asked.snap_bytes, asked.filter.as_deref())
        .map_err(named("capture.file"))?;
    let pool = Pool::new(asked.bytes_max);
    let wanted = Wanted {
        pool: &pool,
        filter: filter.as_ref(),
        snap_bytes: asked.snap_bytes as usize,
        count_max: asked.frame_count_max,
    };
    let mut tapped: Vec<_> =
        ports.iter_mut().enumerate().map(|(index, port)| tapped(index, port, asked, clock, wanted)).collect();
    let reply = trial(&mut tapped)?;
    let capture = write(&mut file, &tapped, asked).map_err(named("capture.file"))?;
    file.finish().map_err(named("capture.file"))?;
    Ok(TrialReply { capture: Some(capture), ..reply })
}

fn refusal<T: Transmit, R>(asked: &CaptureRequest, ports: &[Port<T, R>]) -> Option<String> {
    let CaptureRequest { frame_count_max, bytes_max, snap_bytes, .. } = *asked;
    if let Some(port) = asked.ports.iter().find(|port| **port >= ports.len()) {
        return Some(format!("capture.ports: {port} asked, there are {} (counted from 0)", ports.len()));
    }
    if !(1..=CAPTURE_FRAMES_MAX).contains(&frame_count_max) {
        return Some(format!("capture.frame_count_max: {frame_count_max}; must be from 1 to {CAPTURE_FRAMES_MAX}"));
    }
    if !CAPTURE_BYTES_RANGE.contains(&bytes_max) {
        return Some(format!("capture.bytes_max: {bytes_max}; must be from 2^20 to 2^30"));
    }
    if snap_bytes < SNAP_BYTES_MIN {
        return Some(format!("capture.snap_bytes: {snap_bytes}; must be at least {SNAP_BYTES_MIN}"));
    }
    let is_unseen = |index: &usize| asked.way.takes_sent() && ports[*index].tx.paced().is_some();
    let unseen = (0..ports.len()).filter(|index| is_asked(*index, asked)).find(is_unseen)?;
    Some(format!(
        "capture.way: frames sent by {} asked, xdp_live makes them in the kernel where nobody sees them; capture those \
         received, or choose another back end",
        ports[unseen].name
    ))
}

fn is_asked(port: usize, asked: &CaptureRequest) -> bool {
    asked.ports.is_empty() || asked.ports.contains(&port)
}

fn tapped<'a, T, R, C>(
    index: usize,
    port: &'a mut Port<T, R>,
    asked: &CaptureRequest,
    clock: &'a C,
    wanted: Wanted<'a>,
) -> Tapped<'a, T, R, C> {
    let tap = |is_taken: bool, way| (is_taken && is_asked(index, asked)).then(|| Tap::new(wanted, index, way));
    Port {
        name: port.name.clone(),
        tx: TapTx::new(&mut port.tx, clock, tap(asked.way.takes_sent(), Way::Sent)),
        rx: TapRx::new(&mut port.rx, tap(asked.way.takes_received(), Way::Received)),
    }
}

/// All frames in the order of their time stamps.
fn write<T, R, C>(
    file: &mut CaptureFile,
    tapped: &[Tapped<'_, T, R, C>],
    asked: &CaptureRequest,
) -> Result<CaptureReply, nodrop_port::pcap::PcapError> {
    let taps: Vec<&Tap<'_>> = tapped.iter().flat_map(|port| [&port.tx.tap, &port.rx.tap]).flatten().collect();
    let mut frames: Vec<(&Tap<'_>, Kept<'_>)> =
        taps.iter().flat_map(|tap| tap.frames().map(move |frame| (*tap, frame))).collect();
    // A stable sort: what one port sent at once stays in order, and comes before what that led to.
    frames.sort_by_key(|(tap, frame)| (frame.time_ns, tap.way == Way::Received));
    frames.truncate(usize::try_from(asked.frame_count_max).unwrap_or(usize::MAX));
    for (tap, Kept { time_ns, frame_len, bytes }) in &frames {
        let (interface, way, time_ns, frame_len) = (tap.port, tap.way, *time_ns, *frame_len);
        file.write(&CaptureFrame { interface, way, time_ns, frame_len, bytes })?;
    }
    let wanted_count: u64 = taps.iter().map(|tap| tap.wanted_count).sum();
    let frame_count = frames.len() as u64;
    Ok(CaptureReply { file: asked.file.clone(), frame_count, dropped_count: wanted_count - frame_count })
}
