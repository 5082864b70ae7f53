//! The VNFs' packet parsers: arbitrary frames through the router, the BRAS and the cross-connect, with checks of the
//! output.
//!
//! Input: consecutive frames, each preceded by three bytes: flags and length.
#![no_main]

use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use nodrop_vnf::{
    Bras, BrasPort, BrasProfile, BrasSide, CrossConnect, ForwardingDecision, FrameBuffer, Neighbor, Network, Router,
    RouterPort, StaticRoute, TtlHandling,
};
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

/// A BRAS with a port on each side; its tables take too long to build for each input.
static BRAS: LazyLock<Bras> = LazyLock::new(|| {
    let ports = [(BrasSide::Cpe, MACS[0]), (BrasSide::Core, MACS[1])].map(|(side, mac)| BrasPort { side, mac });
    let profile = BrasProfile { subscriber_count: 4, route_count: 4, next_hop_count: 2, ..BrasProfile::default() };
    Bras::new(ports.to_vec(), &profile, TtlHandling::Router, 1500, Duration::from_secs(1))
});

/// Correct the checksum of the IPv4 header at `at`.
fn seal_ipv4(frame: &mut [u8], at: usize) {
    let header_bytes = usize::from(frame.get(at).map_or(0, |first| first & 15)) * 4;
    if let Some(header) = frame.get_mut(at..at + header_bytes).filter(|header| header.len() >= 12) {
        header[10..12].fill(0);
        let sum = checksum::finish(checksum::sum(header));
        header[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Correct the checksums, so that the code behind their checks is reached.
fn seal(frame: &mut [u8]) {
    match frame.get(12..14) {
        Some([8, 0]) => seal_ipv4(frame, 14),
        Some([0x88, 0xa8]) => seal_ipv4(frame, 22),
        Some([0x88, 0x47]) => {
            seal_ipv4(frame, 18);
            let outer_bytes = usize::from(frame.get(18).map_or(0, |first| first & 15)) * 4;
            seal_ipv4(frame, 18 + outer_bytes + 8);
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

/// Check the properties of any frame that leaves the BRAS: a valid packet that is shorter or longer by its headers.
fn check_bras(before: &[u8], after: &[u8], from: usize, decision: ForwardingDecision) {
    let is_valid = |header: &[u8]| checksum::finish(checksum::sum(header)) == 0;
    match (decision, from) {
        (ForwardingDecision::Forward(1), 0) => {
            let packet_bytes = usize::from(u16::from_be_bytes([before[24], before[25]]));
            assert_eq!((after.len(), &after[6..14]), (46 + packet_bytes, &[2, 0, 0, 0, 1, 1, 0x88, 0x47][..]));
            assert!(is_valid(&after[18..38]) && is_valid(&after[46..46 + usize::from(after[46] & 15) * 4]));
            assert_eq!((before[30] - 1, &before[34..22 + packet_bytes]), (after[54], &after[58..]));
        }
        (ForwardingDecision::Forward(0), 1) => {
            assert_eq!(after[6..14], [2, 0, 0, 0, 1, 0, 0x88, 0xa8]);
            assert_eq!(after.len(), 22 + usize::from(u16::from_be_bytes([after[24], after[25]])));
            assert!(is_valid(&after[22..22 + usize::from(after[22] & 15) * 4]));
            assert!(before.windows(after.len() - 34).any(|window| *window == after[34..]));
        }
        (ForwardingDecision::Reply(0), 0) => assert!(after.len() >= 60 && after[20..22] == [8, 6]),
        (ForwardingDecision::Consume | ForwardingDecision::Drop(_), _) => (),
        _ => panic!("{decision:?} of a frame from port {from}"),
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |bytes: &[u8]| {
    let (mut router, mut rest, mut now_ms) = (router(), bytes, 0);
    let mut cross_connect = CrossConnect { addresses: [Some((PEER, MACS[0])), Some((PEER, MACS[1]))] };
    let mut bras = BRAS.clone();
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
        let decision = bras.handle(&mut buffer, from, now_ms);
        check_bras(&frame, buffer.bytes(), from, decision);
        buffer.load(&frame);
        if cross_connect.handle(&mut buffer, from, now_ms) == ForwardingDecision::Forward(1 - from) {
            assert_eq!((&buffer.bytes()[..6], &buffer.bytes()[12..]), (&PEER.0[..], &frame[12..]));
        } else {
            assert!(frame.len() <= 14);
        }
    }
});
