//! The VNFs' packet parsers: arbitrary frames through the router and the cross-connect, with checks of the output.
//!
//! Input: consecutive frames, each preceded by three bytes: flags and length.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use nodrop_vnf::{CrossConnect, ForwardingDecision, FrameBuffer, Neighbor, Network, Router, RouterPort, StaticRoute};
use nodrop_wire::{MacAddr, checksum};

const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 1, 0]), MacAddr([2, 0, 0, 0, 1, 1])];
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const FRAME_BYTES_MAX: usize = 1522;
/// Flag bits: ingress port, correct the checksums, advance the time.
const PORT: u8 = 1;
const SEAL: u8 = 2;
const LATER: u8 = 4;

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn router() -> Router {
    let port = |mac, addresses: [&str; 2]| RouterPort { mac, addresses: addresses.map(ip).to_vec() };
    let ports =
        vec![port(MACS[0], ["198.18.255.254", "2001:2::ff"]), port(MACS[1], ["198.19.255.254", "2001:2:0:8000::ff"])];
    let route = |prefix: &str, via, port| StaticRoute { prefix: prefix.parse().expect("a prefix"), via: ip(via), port };
    let routes = [
        route("198.18.0.0/16", "198.18.0.1", 0),
        route("198.19.0.0/16", "198.19.0.1", 1),
        route("2001:2::/49", "2001:2::1", 0),
        route("2001:2:0:8000::/49", "2001:2:0:8000::1", 1),
    ];
    Router::new(ports, &routes, &[Neighbor { address: ip("198.19.0.1"), mac: PEER }])
}

/// Correct the checksums, so that the code behind their checks is reached.
fn seal(frame: &mut [u8]) {
    match frame.get(12..14) {
        Some([8, 0]) => {
            let header_bytes = usize::from(frame.get(14).map_or(0, |first| first & 15)) * 4;
            if let Some(header) = frame.get_mut(14..14 + header_bytes).filter(|header| header.len() >= 12) {
                header[10..12].fill(0);
                let sum = checksum::finish(checksum::sum(header));
                header[10..12].copy_from_slice(&sum.to_be_bytes());
            }
        }
        Some([0x86, 0xdd]) if frame.len() > 58 => {
            let length = usize::from(u16::from_be_bytes([frame[18], frame[19]]));
            if let Some(message) = frame.get(54..54 + length).filter(|message| message.len() >= 4) {
                let stated = u64::from(u16::from_be_bytes([message[2], message[3]]));
                let sum = checksum::sum(&frame[22..54]) + length as u64 + 58 + checksum::sum(message);
                let sum = checksum::finish(sum + 0xffff - stated);
                frame[56..58].copy_from_slice(&sum.to_be_bytes());
            }
        }
        _ => (),
    }
}

/// Check the properties of any frame that leaves.
fn check(before: &[u8], after: &[u8], from: usize, decision: ForwardingDecision) {
    match decision {
        ForwardingDecision::Forward(to) => {
            assert_eq!((before.len(), after[6..12] == MACS[to].0), (after.len(), true));
            assert_eq!(before[12..14], after[12..14]);
            if after[12..14] == [8, 0] {
                let header = &after[14..14 + usize::from(after[14] & 15) * 4];
                assert_eq!(checksum::finish(checksum::sum(header)), 0);
                assert_eq!((before[22] - 1, &before[26..]), (after[22], &after[26..]));
            } else {
                assert_eq!((before[21] - 1, &before[22..]), (after[21], &after[22..]));
            }
        }
        ForwardingDecision::Reply(to) => {
            assert_eq!(to, from);
            assert!(after.len() >= 60 && after[6..12] == MACS[to].0);
        }
        ForwardingDecision::Resolve(_, to) => assert!(after.len() >= 60 && after[6..12] == MACS[to].0),
        ForwardingDecision::Flood(_) => panic!("only an edge switch floods"),
        ForwardingDecision::Consume | ForwardingDecision::Drop(_) => (),
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    let (mut router, mut rest, mut now_ms) = (router(), bytes, 0);
    let mut cross_connect = CrossConnect { addresses: [Some((PEER, MACS[0])), Some((PEER, MACS[1]))] };
    let mut buffer = FrameBuffer::new(FRAME_BYTES_MAX);
    while let [flags, high, low, content @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(content.len());
        let (frame, after) = content.split_at(length);
        rest = after;
        let from = usize::from(flags & PORT);
        now_ms += u64::from(flags & LATER) * 300;
        let mut frame = frame.to_vec();
        if flags & SEAL != 0 {
            seal(&mut frame);
        }
        assert_eq!(buffer.load(&frame), frame.len() <= FRAME_BYTES_MAX);
        if frame.len() > FRAME_BYTES_MAX {
            continue;
        }
        let decision = router.handle(&mut buffer, from, now_ms);
        check(&frame, buffer.bytes(), from, decision);
        buffer.load(&frame);
        if cross_connect.handle(&mut buffer, from, now_ms) == ForwardingDecision::Forward(1 - from) {
            assert_eq!((&buffer.bytes()[..6], &buffer.bytes()[12..]), (&PEER.0[..], &frame[12..]));
        } else {
            assert!(frame.len() <= 14);
        }
    }
});
