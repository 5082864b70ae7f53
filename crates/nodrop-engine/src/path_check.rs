//! Path check with learning frames before any trial: bridges learn all addresses, and dead paths are named.

use std::collections::HashMap;

use nodrop_model::{CheckArrival, CheckReply, DirectionCheck, SignatureForm};
use nodrop_port::clock::Clock;
use nodrop_port::{Receive, Slot, Transmit, WireInfo, thread};
use nodrop_wire::{MacAddr, Signature};

use crate::{EngineError, Port, Stream};

const ROUND_NS: u64 = 10_000_000;
/// Rounds after the first success, so that the bridges have learned both sides.
const EXTRA_ROUNDS: u32 = 2;
/// Maximum number of distinct arrivals reported per stream.
const ARRIVALS_MAX: usize = 8;
/// EtherTypes of VLAN tags, for ports that leave tags in frames.
const TAGS: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];

/// Send one frame per stream every 10 ms until all have arrived, plus a few extra rounds.
pub(crate) fn check<T: Transmit, R: Receive>(
    ports: &mut [Port<T, R>],
    streams: &[Stream],
    clock: &impl Clock,
    tag: u8,
    timeout_s: f64,
) -> Result<CheckReply, EngineError> {
    let mut check = PathCheck::new(streams, tag);
    let deadline_ns = clock.steady_ns() + (timeout_s * 1e9) as u64;
    let mut rounds_left = EXTRA_ROUNDS;
    while rounds_left > 0 && clock.steady_ns() < deadline_ns {
        for (stream, direction) in streams.iter().zip(&mut check.directions) {
            direction.sent_count += send_one(&mut ports[stream.tx_port].tx, stream, direction.sent_count, clock, tag)?;
        }
        thread::sleep_ns(ROUND_NS);
        check.collect(ports)?;
        if check.directions.iter().all(|direction| direction.received_count > 0) {
            rounds_left -= 1;
        }
    }
    Ok(CheckReply { directions: check.directions })
}

fn send_one<T: Transmit>(
    tx: &mut T,
    stream: &Stream,
    sequence: u64,
    clock: &impl Clock,
    tag: u8,
) -> Result<u64, EngineError> {
    let (_, template) = stream.frames.template(sequence);
    let sent = tx.transmit(1, template.bytes().len(), |_, slot: Slot<'_>| {
        slot.bytes.copy_from_slice(template.bytes());
        *slot.tag = u32::MAX;
        template.complete(&mut template.slot_state(), slot.bytes, sequence, clock.wall_ns(), tag);
        template.bytes().len()
    })?;
    Ok(sent as u64)
}

/// State of a path check.
struct PathCheck {
    directions: Vec<DirectionCheck>,
    rx_ports: Vec<usize>,
    /// Indices by stream id.
    positions: HashMap<u16, usize>,
    /// Offsets at which signatures may begin.
    offsets: Vec<usize>,
    signature: SignatureForm,
    tag: u8,
}

impl PathCheck {
    fn new(streams: &[Stream], tag: u8) -> Self {
        let id = |stream: &Stream| stream.frames.stream_id();
        let blank = |stream: &Stream| DirectionCheck {
            stream_id: id(stream),
            sent_count: 0,
            received_count: 0,
            arrivals: Vec::new(),
        };
        let mut offsets: Vec<usize> = streams.iter().flat_map(|stream| stream.frames.rx_offsets()).copied().collect();
        offsets.sort_unstable();
        offsets.dedup();
        Self {
            directions: streams.iter().map(blank).collect(),
            rx_ports: streams.iter().map(|stream| stream.rx_port).collect(),
            positions: streams.iter().enumerate().map(|(position, stream)| (id(stream), position)).collect(),
            offsets,
            signature: streams.first().map(|stream| stream.frames.signature()).unwrap_or_default(),
            tag,
        }
    }

    fn collect<T, R: Receive>(&mut self, ports: &mut [Port<T, R>]) -> Result<(), EngineError> {
        for (index, port) in ports.iter_mut().enumerate() {
            port.rx.receive_with_wire_info(usize::MAX >> 33, |frame, original| {
                self.record(index, frame.bytes, original)
            })?;
        }
        Ok(())
    }

    fn record(&mut self, port: usize, bytes: &[u8], original: WireInfo) {
        let Some((signature, _)) = Signature::find(bytes, self.signature, &self.offsets) else { return };
        let Some(&position) = self.positions.get(&signature.stream_id) else { return };
        let (Some(dst), Some(src)) = (address(bytes, 0), address(bytes, 6)) else { return };
        if signature.trial_tag != self.tag {
            return;
        }
        let direction = &mut self.directions[position];
        direction.received_count += u64::from(self.rx_ports[position] == port);
        let arrival = CheckArrival { port, vlan: vlan(bytes, original), src, dst, count: 0 };
        let is_same = |other: &CheckArrival| CheckArrival { count: 0, ..other.clone() } == arrival;
        match direction.arrivals.iter().position(is_same) {
            Some(index) => direction.arrivals[index].count += 1,
            None if direction.arrivals.len() < ARRIVALS_MAX => {
                direction.arrivals.push(CheckArrival { count: 1, ..arrival });
            }
            None => {}
        }
    }
}

fn address(bytes: &[u8], at: usize) -> Option<String> {
    let mac: [u8; 6] = bytes.get(at..at + 6)?.try_into().ok()?;
    Some(MacAddr(mac).to_string())
}

/// Return the outermost VLAN, whether the port removed the tag or left it in.
fn vlan(bytes: &[u8], original: WireInfo) -> Option<u16> {
    let in_frame = || bytes.get(12..16).filter(|tag| TAGS.iter().any(|kind| tag.starts_with(kind)));
    let tag = original.vlan_tag.as_ref().map(|tag| &tag[..]).or_else(in_frame)?;
    Some(u16::from_be_bytes([tag[2], tag[3]]) & 0xfff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vlan_is_found_in_the_frame_and_where_the_port_took_it_out() {
        let mut frame = [0; 60];
        let bare = WireInfo { frame_len: 60, vlan_tag: None };
        assert_eq!(vlan(&frame, bare), None);
        frame[12..16].copy_from_slice(&[0x81, 0, 0x60, 5]);
        assert_eq!(vlan(&frame, bare), Some(5));
        assert_eq!(vlan(&frame, WireInfo { vlan_tag: Some([0x88, 0xa8, 0, 7]), ..bare }), Some(7));
    }
}
