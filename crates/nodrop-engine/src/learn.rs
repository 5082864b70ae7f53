//! Learning frames: before any measuring, so that switches know where everyone is and a dead path is named.

use nodrop_model::{Checked, DirectionCheck};
use nodrop_port::clock::Clock;
use nodrop_port::{Receive, Slot, Transmit, thread};
use nodrop_wire::Signature;

use crate::{EngineError, Port, Stream};

const ROUND_NS: u64 = 10_000_000;
/// Rounds that follow the first success, so that both sides have been learnt from both sides.
const EXTRA_ROUNDS: u32 = 2;

/// Send one frame per stream every 10 ms until each direction has delivered, and a little longer.
pub(crate) fn check<T: Transmit, R: Receive>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    clock: &impl Clock,
    tag: u8,
    timeout_s: f64,
) -> Result<Checked, EngineError> {
    let blank =
        |stream: &Stream| DirectionCheck { stream_id: stream.frames.stream_id(), sent_count: 0, received_count: 0 };
    let mut directions: Vec<DirectionCheck> = streams.iter().map(blank).collect();
    let give_up_ns = clock.steady_ns() + (timeout_s * 1e9) as u64;
    let mut rounds_left = EXTRA_ROUNDS;
    while rounds_left > 0 && clock.steady_ns() < give_up_ns {
        for (stream, direction) in streams.iter().zip(&mut directions) {
            direction.sent_count += send_one(&mut ports[stream.tx_port].tx, stream, direction.sent_count, clock, tag)?;
        }
        thread::sleep_ns(ROUND_NS);
        collect(ports, streams, &mut directions, tag)?;
        if directions.iter().all(|direction| direction.received_count > 0) {
            rounds_left -= 1;
        }
    }
    Ok(Checked { directions })
}

fn send_one<T: Transmit>(
    tx: &mut T,
    stream: &Stream,
    sequence: u64,
    clock: &impl Clock,
    tag: u8,
) -> Result<u64, EngineError> {
    let (_, template) = stream.frames.of(sequence);
    let sent = tx.transmit(1, template.bytes().len(), |_, slot: Slot<'_>| {
        slot.bytes.copy_from_slice(template.bytes());
        *slot.tag = u32::MAX;
        template.complete(&mut template.lasting(), slot.bytes, sequence, clock.wall_ns(), tag);
        template.bytes().len()
    })?;
    Ok(sent as u64)
}

fn collect<T, R: Receive>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    directions: &mut [DirectionCheck],
    tag: u8,
) -> Result<(), EngineError> {
    for (index, port) in ports.iter_mut().enumerate() {
        port.rx.receive(usize::MAX >> 33, |frame| {
            let arrived = |stream: &Stream| {
                let found = Signature::find(frame.bytes, stream.frames.rx_offsets());
                let is_its = |found: Signature| found.stream_id == stream.frames.stream_id() && found.trial_tag == tag;
                stream.rx_port == index && found.is_some_and(|(found, _)| is_its(found))
            };
            if let Some(position) = streams.iter().position(arrived) {
                directions[position].received_count += 1;
            }
        })?;
    }
    Ok(())
}
