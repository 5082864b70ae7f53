//! The VNFs' packet parsers: any frames into the router and the cross-connect, and what leaves them is as it should be.
//!
//! Input: frames one after the other, each behind three bytes: flags, and its length.
#![no_main]

use std::net::IpAddr;

use libfuzzer_sys::fuzz_target;
use nodrop_vnf::{CrossConnect, FrameBuffer, Neighbor, Network, Router, RouterPort, StaticRoute, Verdict};
use nodrop_wire::{MacAddr, checksum};

const MACS: [MacAddr; 2] = [MacAddr([2, 0, 0, 0, 1, 0]), MacAddr([2, 0, 0, 0, 1, 1])];
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const FRAME_BYTES_MAX: usize = 1522;
/// Flag bits: the port it comes in by, put its checksums right, a second goes by.
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

/// Put checksums right, so that what lies behind them is reached.
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

/// What may be said of any frame that leaves.
fn check(before: &[u8], after: &[u8], from: usize, verdict: Verdict) {
    match verdict {
        Verdict::Forward(to) => {
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
        Verdict::Answer(to) => {
            assert_eq!(to, from);
            assert!(after.len() >= 60 && after[6..12] == MACS[to].0);
        }
        Verdict::Ask(_, to) => assert!(after.len() >= 60 && after[6..12] == MACS[to].0),
        Verdict::Flood(_) => panic!("only an edge switch floods"),
        Verdict::Consume | Verdict::Drop(_) => (),
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    let (mut router, mut rest, mut now_ms) = (router(), bytes, 0);
    let mut cross_connect = CrossConnect { addresses: [Some((PEER, MACS[0])), Some((PEER, MACS[1]))] };
    let mut buffer = FrameBuffer::new(FRAME_BYTES_MAX);
    while let [flags, high, low, behind @ ..] = rest {
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        let (frame, after) = behind.split_at(length);
        rest = after;
        let from = usize::from(flags & PORT);
        now_ms += u64::from(flags & LATER) * 300;
        let mut frame = frame.to_vec();
        if flags & SEAL != 0 {
            seal(&mut frame);
        }
        assert_eq!(buffer.hold(&frame), frame.len() <= FRAME_BYTES_MAX);
        if frame.len() > FRAME_BYTES_MAX {
            continue;
        }
        let verdict = router.handle(&mut buffer, from, now_ms);
        check(&frame, buffer.bytes(), from, verdict);
        buffer.hold(&frame);
        if cross_connect.handle(&mut buffer, from, now_ms) == Verdict::Forward(1 - from) {
            assert_eq!((&buffer.bytes()[..6], &buffer.bytes()[12..]), (&PEER.0[..], &frame[12..]));
        } else {
            assert!(frame.len() <= 14);
        }
    }
});
