//! The BRAS as seen by its neighbors: frames in, frames out, over in-memory ports.
//!
//! The frames were written down by hand from figures D.3 to D.6 of ETSI GS NFV-PER 001 and the tables of PROX.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use nodrop_port::loopback::{self, LoopbackRx, LoopbackTx};
use nodrop_port::{Receive, Slot, Transmit};
use nodrop_vnf::{
    Bras, BrasPort, BrasProfile, BrasSide, Cause, Counters, Forwarder, ForwardingDecision, FrameBuffer, Network, Pace,
    Port, TtlHandling,
};
use nodrop_wire::{MacAddr, checksum};

const FRAME_BYTES: usize = 1522;
const CPE0: usize = 0;
const CPE1: usize = 1;
const CORE0: usize = 2;
const CORE1: usize = 3;

/// Subscriber 257 to 10.1.16.5, on route and next hop 17.
const UP_IN: &str = "026e64000100 000002000002 88a80001 81000001 0800 \
    4500001c0001000040119f21c0a801010a011005 0035003500080000";
const UP_OUT: &str = "000000000018 026e64000104 8847 01812140 4500003800000000402f3b681516171812010101 \
    2000080000000101 4500001c0001000040119f21c0a801010a011005 0035003500080000";
const DOWN_IN: &str = "026e64000104 000000000018 8847 00010140 4500003800000000402f3b681201010115161718 \
    2000080000000101 4500001c0001000040119f210a011005c0a80101 0035003500080000";
const DOWN_OUT: &str = "000002000002 026e64000100 88a80001 81000001 0800 \
    4500001c000100003f11a0210a011005c0a80101 0035003500080000";
/// 192.168.1.1 asks for 192.168.1.254.
const ARP_REQUEST: &str = "ffffffffffff 000002000002 88a80001 81000001 0806 \
    0001 0800 06 04 0001 000002000002 c0a80101 000000000000 c0a801fe";
const ARP_REPLY: &str = "000002000002 026e64000100 88a80001 81000001 0806 \
    0001 0800 06 04 0002 026e64000100 c0a801fe 000002000002 c0a80101 00000000000000000000";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn ports() -> Vec<BrasPort> {
    let port = |side, last| BrasPort { side, mac: MacAddr([0x02, 0x6e, 0x64, 0, 1, last]) };
    vec![port(BrasSide::Cpe, 0), port(BrasSide::Cpe, 2), port(BrasSide::Core, 3), port(BrasSide::Core, 4)]
}

fn bras() -> Bras {
    bras_with(TtlHandling::Prox)
}

fn bras_with(ttl: TtlHandling) -> Bras {
    Bras::new(ports(), &BrasProfile::default(), ttl, 1500, Duration::from_secs(1500))
}

/// A BRAS that knows the MAC address of subscriber 257.
fn bras_with_subscriber() -> Bras {
    let mut bras = bras();
    assert_eq!(handle(&mut bras, &bytes(ARP_REQUEST), CPE0, 0).0, ForwardingDecision::Reply(CPE0));
    bras
}

fn handle(bras: &mut Bras, frame: &[u8], from: usize, now_ms: u64) -> (ForwardingDecision, Vec<u8>) {
    let mut buffer = FrameBuffer::new(FRAME_BYTES);
    assert!(buffer.load(frame));
    let decision = bras.handle(&mut buffer, from, now_ms);
    (decision, buffer.bytes().to_vec())
}

/// Return the frame with other bytes at `at`.
fn with(hex: &str, at: usize, replacement: &[u8]) -> Vec<u8> {
    let mut frame = bytes(hex);
    frame[at..at + replacement.len()].copy_from_slice(replacement);
    frame
}

/// Recompute the checksum of the IPv4 header at `at`.
fn seal(mut frame: Vec<u8>, at: usize) -> Vec<u8> {
    frame[at + 10..at + 12].fill(0);
    let sum = checksum::finish(checksum::sum(&frame[at..at + 20]));
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
    frame
}

#[test]
fn the_frames_of_the_annex_in_both_directions() {
    let mut bras = bras_with_subscriber();
    assert_eq!(handle(&mut bras, &bytes(UP_IN), CPE0, 1), (ForwardingDecision::Forward(CORE1), bytes(UP_OUT)));
    assert_eq!(handle(&mut bras, &bytes(DOWN_IN), CORE1, 2), (ForwardingDecision::Forward(CPE0), bytes(DOWN_OUT)));
}

#[test]
fn padding_does_not_enter_the_tunnel_nor_leave_it() {
    let mut bras = bras_with_subscriber();
    let padded = |hex, length| {
        let mut frame = bytes(hex);
        frame.resize(length, 0xee);
        frame
    };
    assert_eq!(handle(&mut bras, &padded(UP_IN, 60), CPE0, 1).1, bytes(UP_OUT));
    assert_eq!(handle(&mut bras, &padded(DOWN_IN, 90), CORE0, 1), {
        // The frame is addressed to the other core port.
        (ForwardingDecision::Drop(Cause::NotForUs), padded(DOWN_IN, 90))
    });
    assert_eq!(handle(&mut bras, &padded(DOWN_IN, 90), CORE1, 1).1, bytes(DOWN_OUT));
}

#[test]
fn a_subscriber_learns_the_address_of_the_bras_and_the_bras_that_of_the_subscriber() {
    let mut bras = bras();
    assert_eq!(bras.table_sizes(), [("arp_entries", 0)]);
    let (decision, reply) = handle(&mut bras, &bytes(ARP_REQUEST), CPE0, 0);
    assert_eq!((decision, reply), (ForwardingDecision::Reply(CPE0), bytes(ARP_REPLY)));
    assert_eq!(bras.table_sizes(), [("arp_entries", 1)]);
    // A reply, as PROX sends, and the announcement of an address teach as well.
    for (sender, operation, target) in [(2, 2, 0xfe), (3, 1, 3)] {
        let frame = with(ARP_REQUEST, 28, &[0, operation]);
        let frame = [&frame[..39], &[sender], &frame[40..49], &[target]].concat();
        assert_eq!(handle(&mut bras, &frame, CPE0, 0).0, ForwardingDecision::Consume);
    }
    assert_eq!(bras.table_sizes(), [("arp_entries", 3)]);
    // A probe for a free address has no sender.
    let probe = with(ARP_REQUEST, 36, &[0; 4]);
    assert_eq!(handle(&mut bras, &probe, CPE0, 0).0, ForwardingDecision::Consume);
    assert_eq!(bras.table_sizes(), [("arp_entries", 3)]);
}

#[test]
fn a_router_decrements_the_ttl_upstream_as_well() {
    let mut bras = bras_with(TtlHandling::Router);
    let (decision, frame) = handle(&mut bras, &bytes(UP_IN), CPE0, 0);
    assert_eq!(decision, ForwardingDecision::Forward(CORE1));
    let expected = seal(with(UP_OUT, 54, &[63]), 46);
    assert_eq!(frame, expected);
    let last = seal(with(UP_IN, 30, &[1]), 22);
    assert_eq!(handle(&mut bras, &last, CPE0, 0).0, ForwardingDecision::Drop(Cause::TtlExpired));
}

#[test]
fn every_drop_has_its_cause() {
    let inner_dst = |dst: &[u8]| seal(with(UP_IN, 38, dst), 22);
    let long = |total: u16| {
        let mut frame = bytes(UP_IN);
        frame[24..26].copy_from_slice(&total.to_be_bytes());
        frame.resize(22 + usize::from(total), 0);
        seal(frame, 22)
    };
    let cases = [
        (CPE0, with(UP_IN, 5, &[1]), Cause::NotForUs),
        (CPE0, with(UP_IN, 0, &[0xff; 6]), Cause::NotForUs),
        (CPE0, bytes("026e64000100 000002000002 0800 4500"), Cause::UnknownTags),
        (CPE0, with(UP_IN, 12, &[0x81, 0]), Cause::UnknownTags),
        (CPE0, with(UP_IN, 14, &[0xf, 0xff]), Cause::UnknownTags),
        (CPE0, with(UP_IN, 18, &[0, 4]), Cause::UnknownTags),
        (CPE1, with(UP_IN, 5, &[2]), Cause::UnknownTags),
        (CPE0, with(UP_IN, 20, &[0x86, 0xdd]), Cause::NotIp),
        (CPE0, bytes(UP_IN)[..40].to_vec(), Cause::Malformed),
        (CPE0, with(UP_IN, 24, &[0, 0x1d]), Cause::Malformed),
        (CPE0, with(UP_IN, 30, &[63]), Cause::BadChecksum),
        (CPE0, inner_dst(&[12, 1, 16, 5]), Cause::NoRoute),
        (CPE0, inner_dst(&[10, 1, 17, 5]), Cause::NoRoute),
        (CPE0, long(1469), Cause::TooLong),
        (CPE0, with(ARP_REQUEST, 23, &[6]), Cause::Malformed),
        (CORE1, with(DOWN_IN, 12, &[0x08, 0x00]), Cause::Malformed),
        (CORE1, with(DOWN_IN, 16, &[0]), Cause::Malformed),
        (CORE1, seal(with(DOWN_IN, 34, &[1, 1, 1, 1]), 18), Cause::NotForUs),
        (CORE1, seal(with(DOWN_IN, 27, &[17]), 18), Cause::Malformed),
        (CORE1, seal(with(DOWN_IN, 24, &[0x20, 0]), 18), Cause::Malformed),
        (CORE1, with(DOWN_IN, 38, &[0, 0]), Cause::Malformed),
        (CORE1, seal(with(DOWN_IN, 20, &[0, 27]), 18), Cause::Malformed),
        (CORE1, with(DOWN_IN, 42, &[0, 1]), Cause::UnknownKey),
        (CORE1, with(DOWN_IN, 44, &[7, 7]), Cause::ArpMissing),
        (CORE1, seal(with(DOWN_IN, 65, &[9]), 46), Cause::ArpMissing),
        (CORE1, with(DOWN_IN, 65, &[9]), Cause::BadChecksum),
        (CORE1, seal(with(DOWN_IN, 54, &[1]), 46), Cause::TtlExpired),
        (CORE1, bytes(DOWN_IN)[..46].to_vec(), Cause::Malformed),
        (CORE1, bytes("026e"), Cause::Malformed),
    ];
    for (number, (from, frame, cause)) in cases.into_iter().enumerate() {
        let mut bras = bras_with_subscriber();
        let (decision, after) = handle(&mut bras, &frame, from, 1);
        assert_eq!((decision, after == frame), (ForwardingDecision::Drop(cause), true), "case {number}");
    }
    // The longest packet that fits the core.
    assert_eq!(handle(&mut bras(), &long(1468), CPE0, 1).1.len(), 14 + 1500);
}

#[test]
fn a_subscriber_that_was_silent_for_1500_seconds_is_forgotten() {
    let mut bras = bras_with_subscriber();
    let mut decision = |now_ms| handle(&mut bras, &bytes(DOWN_IN), CORE1, now_ms).0;
    assert_eq!(decision(1_499_000), ForwardingDecision::Forward(CPE0));
    assert_eq!(decision(1_501_000), ForwardingDecision::Drop(Cause::ArpExpired));
}

/// The BRAS as a forwarder between four stations.
struct Bench {
    forwarder: Forwarder<LoopbackTx, LoopbackRx, Bras>,
    stations: Vec<(LoopbackTx, LoopbackRx)>,
}

impl Bench {
    fn new() -> Self {
        let (mut ports, mut stations) = (Vec::new(), Vec::new());
        for name in ["cpe0", "cpe1", "core0", "core1"] {
            let [(tx, rx), station] = loopback::pair(64);
            ports.push(Port { name: name.to_owned(), tx, rx, counters: Counters::default(), policer: None });
            stations.push(station);
        }
        Self { forwarder: Forwarder::new(ports, bras(), FRAME_BYTES, Pace::VNF).unwrap(), stations }
    }

    /// Send frames to a port; return the number of frames received at each station.
    fn send(&mut self, port: usize, frames: &[Vec<u8>]) -> Vec<u64> {
        let sent = self.stations[port].0.transmit(frames.len(), FRAME_BYTES, |at: usize, slot: Slot<'_>| {
            slot.bytes[..frames[at].len()].copy_from_slice(&frames[at]);
            frames[at].len()
        });
        assert_eq!(sent.unwrap(), frames.len());
        while self.forwarder.poll().unwrap() > 0 {}
        self.stations
            .iter_mut()
            .map(|(_, rx)| {
                let mut count = 0;
                rx.receive(64, |_| count += 1).unwrap();
                count
            })
            .collect()
    }
}

#[test]
fn a_million_mixed_frames_add_up() {
    let mut bench = Bench::new();
    let subscriber = |key: u32, frame: &mut [u8]| {
        let low = key & 0xff;
        frame[14..16].copy_from_slice(&((key >> 8) as u16).to_be_bytes());
        let c_tag = ((low & 0xf0) << 4) + ((low & 0x0c) << 2) + (low & 3);
        frame[18..20].copy_from_slice(&(c_tag as u16).to_be_bytes());
    };
    let (mut arrived, mut sent) = ([0; 4], [0; 4]);
    let mut send = |port: usize, frames: &[Vec<u8>]| {
        sent[port] += frames.len() as u64;
        bench.send(port, frames).iter().zip(&mut arrived).for_each(|(count, sum)| *sum += count);
    };
    // Every second subscriber of the first port makes itself known.
    for key in (0..32_768).step_by(2) {
        let mut frame = bytes(ARP_REQUEST);
        subscriber(key, &mut frame);
        send(CPE0, &[frame]);
    }
    let (mut state, mut count) = (1_u64, 16_384_u64);
    while count < 1_000_000 {
        let batch = |from: usize, state: &mut u64| -> Vec<Vec<u8>> {
            (0..48)
                .map(|_| {
                    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let random = (*state >> 33) as u32;
                    if from == CPE0 {
                        let mut frame = bytes_of_up();
                        subscriber(random & 0xffff, &mut frame);
                        // One bit more than the routed networks have.
                        frame[39..42].copy_from_slice(&[(random >> 8) as u8 & 1, (random >> 9) as u8 & 0x1f, 5]);
                        seal(frame, 22)
                    } else {
                        let mut frame = bytes_of_down();
                        frame[42..46].copy_from_slice(&(random & 0x1_ffff).to_be_bytes());
                        frame
                    }
                })
                .collect()
        };
        for from in [CPE0, CORE1] {
            let frames = batch(from, &mut state);
            count += frames.len() as u64;
            send(from, &frames);
        }
    }
    let counters: Vec<Counters> = bench.forwarder.read_counters().unwrap().into_iter().cloned().collect();
    for port in 0..4 {
        assert_eq!((counters[port].received, counters[port].sent), (sent[port], arrived[port]), "port {port}");
    }
    let dropped = |port: usize| -> u64 { Cause::ALL.iter().map(|cause| counters[port].dropped(*cause)).sum() };
    let sum = |of: &dyn Fn(usize) -> u64| -> u64 { (0..4).map(of).sum() };
    assert_eq!(
        sum(&|port| counters[port].received + counters[port].originated),
        sum(&|port| counters[port].sent + counters[port].consumed + dropped(port))
    );
    // About half of each: tags of the other port; networks between routes; keys without a subscriber; unknown stations.
    let share = |port: usize, cause| counters[port].dropped(cause) as f64 / (count / 2) as f64;
    for (port, cause, expected) in [
        (CPE0, Cause::UnknownTags, 0.5),
        (CPE0, Cause::NoRoute, 0.5 * 15.0 / 16.0),
        (CORE1, Cause::UnknownKey, 0.5),
        (CORE1, Cause::ArpMissing, 0.375),
    ] {
        assert!((share(port, cause) - expected).abs() < 0.02, "{cause:?}: {}", share(port, cause));
    }
}

/// Parsed once: the test builds a million frames.
fn bytes_of_up() -> Vec<u8> {
    static FRAME: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(UP_IN));
    FRAME.clone()
}

fn bytes_of_down() -> Vec<u8> {
    static FRAME: std::sync::LazyLock<Vec<u8>> = std::sync::LazyLock::new(|| bytes(DOWN_IN));
    FRAME.clone()
}
