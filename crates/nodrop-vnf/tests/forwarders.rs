//! The forwarders as seen by their neighbors: frames in, frames out, over in-memory ports.
#![allow(clippy::unwrap_used)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use nodrop_port::loopback::{self, LoopbackRx, LoopbackTx};
use nodrop_port::{Receive, Slot, Transmit};
use nodrop_vnf::{
    BandwidthProfile, Cause, ColorMode, Counters, CrossConnect, Forwarder, Neighbor, Network, Pace, Port, PortPolicer,
    Router, RouterPort, StaticRoute,
};
use nodrop_wire::{MacAddr, checksum};

const LEFT: MacAddr = MacAddr([2, 0, 0, 0, 1, 0]);
const RIGHT: MacAddr = MacAddr([2, 0, 0, 0, 1, 1]);
const HOST: MacAddr = MacAddr([2, 0, 0, 0, 0, 0]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const BROADCAST: MacAddr = MacAddr([0xff; 6]);
const UNKNOWN_MAC: MacAddr = MacAddr([0; 6]);
const NOTHING: [Vec<Vec<u8>>; 2] = [Vec::new(), Vec::new()];

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A forwarder with a station on each side.
struct Bench<N> {
    forwarder: Forwarder<LoopbackTx, LoopbackRx, N>,
    stations: [(LoopbackTx, LoopbackRx); 2],
}

impl<N: Network> Bench<N> {
    fn new(network: N) -> Self {
        Self::with_pace(network, Pace::VNF)
    }

    fn with_pace(network: N, pace: Pace) -> Self {
        Self::with_policer(network, pace, None)
    }

    fn with_policer(network: N, pace: Pace, policer: Option<&PortPolicer>) -> Self {
        let (mut ports, mut stations) = (Vec::new(), Vec::new());
        for name in ["left", "right"] {
            let [(tx, rx), station] = loopback::pair(64);
            let (name, counters) = (name.to_owned(), Counters::default());
            ports.push(Port { name, tx, rx, counters, policer: policer.cloned() });
            stations.push(station);
        }
        Self { forwarder: Forwarder::new(ports, network, 1522, pace).unwrap(), stations: stations.try_into().unwrap() }
    }

    /// Send a frame to a port; return the frames received at each station.
    fn send(&mut self, port: usize, frame: &[u8]) -> [Vec<Vec<u8>>; 2] {
        let tx = &mut self.stations[port].0;
        tx.transmit(1, frame.len(), |_, slot: Slot<'_>| {
            slot.bytes.copy_from_slice(frame);
            frame.len()
        })
        .unwrap();
        self.forwarder.poll().unwrap();
        self.stations.each_mut().map(|(_, rx)| {
            let mut frames = Vec::new();
            rx.receive(64, |frame| frames.push(frame.bytes.to_vec())).unwrap();
            frames
        })
    }

    fn counters(&mut self, port: usize) -> Counters {
        self.forwarder.read_counters().unwrap()[port].clone()
    }

    /// Sum a counter over both ports.
    fn total(&mut self, count: fn(&Counters) -> u64) -> u64 {
        (0..2).map(|port| count(&self.counters(port))).sum()
    }
}

fn router(neighbors: &[Neighbor]) -> Bench<Router> {
    let ports = vec![
        RouterPort { mac: LEFT, addresses: vec![ip("198.18.255.254"), ip("2001:2::ff")] },
        RouterPort { mac: RIGHT, addresses: vec![ip("198.19.255.254"), ip("2001:2:0:8000::ff")] },
    ];
    let route = |prefix: &str, via, port| StaticRoute { prefix: prefix.parse().unwrap(), via: ip(via), port };
    let routes = [
        route("198.18.0.0/16", "198.18.0.1", 0),
        route("198.19.0.0/16", "198.19.0.1", 1),
        route("2001:2:0:8000::/49", "2001:2:0:8000::1", 1),
    ];
    Bench::new(Router::new(ports, &routes, neighbors))
}

fn resolved_router() -> Bench<Router> {
    let neighbor = |address| Neighbor { address: ip(address), mac: PEER };
    router(&[neighbor("198.19.0.1"), neighbor("2001:2:0:8000::1")])
}

fn ethernet(dst: MacAddr, src: MacAddr, kind: u16, payload: &[u8]) -> Vec<u8> {
    [&dst.0[..], &src.0, &kind.to_be_bytes(), payload].concat()
}

fn ipv4(dst: &str, ttl: u8) -> Vec<u8> {
    let mut header = vec![0x45, 0, 0, 46, 0x12, 0x34, 0x40, 0, ttl, 17, 0, 0, 198, 18, 0, 1];
    header.extend_from_slice(&dst.parse::<Ipv4Addr>().unwrap().octets());
    let sum = checksum::finish(checksum::sum(&header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header.resize(46, 0xaa);
    header
}

fn ipv6(dst: &str, hop_limit: u8) -> Vec<u8> {
    let octets = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
    [&[0x60, 0, 0, 0, 0, 8, 17, hop_limit], &octets("2001:2::1")[..], &octets(dst), &[0xaa; 8]].concat()
}

/// Build an ARP packet (RFC 826), padded to the smallest frame.
fn arp(operation: u8, (mac, sender): (MacAddr, &str), (target_mac, target): (MacAddr, &str)) -> Vec<u8> {
    let octets = |text: &str| text.parse::<Ipv4Addr>().unwrap().octets();
    let mut packet = vec![0, 1, 8, 0, 6, 4, 0, operation];
    packet.extend_from_slice(&[&mac.0[..], &octets(sender), &target_mac.0, &octets(target)].concat());
    packet.resize(46, 0);
    packet
}

/// Build a neighbor discovery message (RFC 4861 sections 4.3 and 4.4); its checksum is computed word by word (RFC 8200
/// section 8.1).
fn nd(kind: u8, flags: u8, (source, dst): (&str, &str), target: &str, (option, mac): (u8, MacAddr)) -> Vec<u8> {
    let octets = |text: &str| text.parse::<Ipv6Addr>().unwrap().octets();
    let mut message = [&[kind, 0, 0, 0, flags, 0, 0, 0], &octets(target)[..], &[option, 1], &mac.0].concat();
    let pseudo = [&octets(source)[..], &octets(dst), &[0, 0, 0, 32, 0, 0, 0, 58], &message].concat();
    let mut sum: u32 = pseudo.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum();
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    message[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    [&[0x60, 0, 0, 0, 0, 32, 58, 255], &octets(source)[..], &octets(dst), &message].concat()
}

#[test]
fn an_ipv4_packet_is_forwarded_with_one_less_to_live_and_new_addresses() {
    let [back, out] = resolved_router().send(0, &ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64)));
    assert!(back.is_empty());
    assert_eq!(out, [ethernet(PEER, RIGHT, 0x0800, &ipv4("198.19.7.7", 63))]);
}

#[test]
fn an_ipv6_packet_is_forwarded_with_one_less_hop_and_new_addresses() {
    let [back, out] = resolved_router().send(0, &ethernet(LEFT, HOST, 0x86dd, &ipv6("2001:2:0:8000::7", 64)));
    assert!(back.is_empty());
    assert_eq!(out, [ethernet(PEER, RIGHT, 0x86dd, &ipv6("2001:2:0:8000::7", 63))]);
}

#[test]
fn every_drop_has_its_cause() {
    let damaged = |at: usize, byte: u8| {
        let mut packet = ipv4("198.19.0.1", 64);
        packet[at] = byte;
        ethernet(LEFT, HOST, 0x0800, &packet)
    };
    let cases = [
        (ethernet(PEER, HOST, 0x0800, &ipv4("198.19.0.1", 64)), Cause::NotForUs),
        (ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.0.1", 1)), Cause::TtlExpired),
        (ethernet(LEFT, HOST, 0x86dd, &ipv6("2001:2:0:8000::1", 1)), Cause::TtlExpired),
        (ethernet(LEFT, HOST, 0x0800, &ipv4("10.0.0.1", 64)), Cause::NoRoute),
        (ethernet(LEFT, HOST, 0x86dd, &ipv6("2001:db8::1", 64)), Cause::NoRoute),
        (ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.255.254", 64)), Cause::NotForwardable),
        (ethernet(BROADCAST, HOST, 0x0800, &ipv4("198.19.0.1", 64)), Cause::NotForwardable),
        (ethernet(LEFT, HOST, 0x86dd, &ipv6("fe80::1", 64)), Cause::NotForwardable),
        (ethernet(LEFT, HOST, 0x8847, &[0; 46]), Cause::NotIp),
        (ethernet(LEFT, HOST, 0x0800, &[0x45; 12]), Cause::Malformed),
        (ethernet(LEFT, HOST, 0x86dd, &[0x60; 39]), Cause::Malformed),
        (damaged(3, 200), Cause::Malformed),
        (damaged(11, 0), Cause::BadChecksum),
        (vec![0; 13], Cause::Malformed),
        (vec![0; 1523], Cause::TooLong),
    ];
    for (frame, cause) in cases {
        let mut bench = resolved_router();
        assert_eq!(bench.send(0, &frame), NOTHING, "{cause:?}");
        let counters = bench.counters(0);
        assert_eq!((counters.received, counters.dropped(cause)), (1, 1), "{cause:?}: {counters:?}");
    }
}

#[test]
fn an_arp_request_for_its_address_is_answered_and_others_are_not() {
    let mut bench = resolved_router();
    let request = |target| ethernet(BROADCAST, HOST, 0x0806, &arp(1, (HOST, "198.18.0.1"), (UNKNOWN_MAC, target)));
    let reply = arp(2, (LEFT, "198.18.255.254"), (HOST, "198.18.0.1"));
    assert_eq!(bench.send(0, &request("198.18.255.254"))[0], [ethernet(HOST, LEFT, 0x0806, &reply)]);
    assert_eq!(bench.send(0, &request("198.18.0.9")), NOTHING);
    let counters = bench.counters(0);
    assert_eq!((counters.received, counters.consumed, counters.originated, counters.sent), (2, 2, 1, 1));
}

#[test]
fn a_neighbor_solicitation_for_its_address_is_answered_unless_it_is_damaged() {
    let group = MacAddr([0x33, 0x33, 0xff, 0, 0, 0xff]);
    let solicitation = nd(135, 0, ("2001:2::1", "ff02::1:ff00:ff"), "2001:2::ff", (1, HOST));
    let advertisement = nd(136, 0xe0, ("2001:2::ff", "2001:2::1"), "2001:2::ff", (2, LEFT));
    let mut frame = ethernet(group, HOST, 0x86dd, &solicitation);
    assert_eq!(resolved_router().send(0, &frame)[0], [ethernet(HOST, LEFT, 0x86dd, &advertisement)]);
    frame[60] ^= 1;
    assert_eq!(resolved_router().send(0, &frame), NOTHING);
}

#[test]
fn an_unknown_next_hop_is_resolved_once_and_used_after_its_reply() {
    let mut bench = router(&[]);
    let packet = ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64));
    let request = arp(1, (RIGHT, "198.19.255.254"), (UNKNOWN_MAC, "198.19.0.1"));
    assert_eq!(bench.send(0, &packet)[1], [ethernet(BROADCAST, RIGHT, 0x0806, &request)]);
    assert!(bench.send(0, &packet)[1].is_empty(), "requested again at once");
    assert_eq!(bench.counters(0).dropped(Cause::Unresolved), 2);
    bench.send(1, &ethernet(RIGHT, PEER, 0x0806, &arp(2, (PEER, "198.19.0.1"), (RIGHT, "198.19.255.254"))));
    assert_eq!(bench.send(0, &packet)[1], [ethernet(PEER, RIGHT, 0x0800, &ipv4("198.19.7.7", 63))]);
}

#[test]
fn an_unknown_ipv6_next_hop_is_solicited_and_used_when_it_has_advertised_itself() {
    let mut bench = router(&[]);
    let group = MacAddr([0x33, 0x33, 0xff, 0, 0, 1]);
    let packet = ethernet(LEFT, HOST, 0x86dd, &ipv6("2001:2:0:8000::7", 64));
    let solicitation = nd(135, 0, ("2001:2:0:8000::ff", "ff02::1:ff00:1"), "2001:2:0:8000::1", (1, RIGHT));
    assert_eq!(bench.send(0, &packet)[1], [ethernet(group, RIGHT, 0x86dd, &solicitation)]);
    let advertisement = nd(136, 0x60, ("2001:2:0:8000::1", "2001:2:0:8000::ff"), "2001:2:0:8000::1", (2, PEER));
    bench.send(1, &ethernet(RIGHT, PEER, 0x86dd, &advertisement));
    assert_eq!(bench.send(0, &packet)[1], [ethernet(PEER, RIGHT, 0x86dd, &ipv6("2001:2:0:8000::7", 63))]);
}

#[test]
fn nothing_is_lost_from_the_account() {
    let mut bench = router(&[]);
    for frame in [
        ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64)),
        ethernet(LEFT, HOST, 0x0800, &ipv4("10.0.0.1", 64)),
        ethernet(BROADCAST, HOST, 0x0806, &arp(1, (HOST, "198.18.0.1"), (HOST, "198.18.255.254"))),
        ethernet(LEFT, HOST, 0x0800, &ipv4("198.18.7.7", 64)),
    ] {
        bench.send(0, &frame);
    }
    let dropped = bench.total(|port| Cause::ALL.iter().map(|cause| port.dropped(*cause)).sum());
    assert_eq!(dropped, 2);
    assert_eq!(bench.total(|port| port.received + port.originated), bench.total(|port| port.sent + port.consumed) + 2);
}

#[test]
fn the_cross_connect_changes_the_addresses_and_nothing_else() {
    let mut bench = Bench::new(CrossConnect { addresses: [Some((HOST, LEFT)), Some((PEER, RIGHT))] });
    let payload: Vec<u8> = (0..100).collect();
    let sent = ethernet(BROADCAST, HOST, 0x1234, &payload);
    assert_eq!(bench.send(0, &sent), [vec![], vec![ethernet(PEER, RIGHT, 0x1234, &payload)]]);
    assert_eq!(bench.send(1, &sent), [vec![ethernet(HOST, LEFT, 0x1234, &payload)], vec![]]);
}

#[test]
fn the_cross_connect_leaves_a_frame_as_it_is_where_no_address_is_to_be_written() {
    let mut bench = Bench::new(CrossConnect { addresses: [None, Some((PEER, RIGHT))] });
    let sent = ethernet(BROADCAST, HOST, 0x1234, &[7; 50]);
    assert_eq!(bench.send(1, &sent), [vec![sent.clone()], vec![]]);
    assert_eq!(bench.send(0, &sent), [vec![], vec![ethernet(PEER, RIGHT, 0x1234, &[7; 50])]]);
}

#[test]
fn a_forwarder_of_a_known_capacity_takes_its_time_for_every_frame() {
    let frame = ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64));
    let pace = Pace { frame_time: Duration::from_millis(10), ..Pace::VNF };
    let mut bench = Bench::with_pace(CrossConnect { addresses: [Some((HOST, LEFT)), Some((PEER, RIGHT))] }, pace);
    let start = Instant::now();
    let passed: usize = (0..30).map(|_| bench.send(0, &frame)[1].len()).sum();
    assert_eq!(passed, 30);
    // The first frame is processed at once, and 50 ms may be caught up with.
    assert!(start.elapsed() >= Duration::from_millis(235));
}

#[test]
fn an_ideal_queue_forwards_a_frame_when_its_service_ends_and_counts_each_frame_that_finds_it_full() {
    let frame = ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64));
    let pace = Pace { frame_time: Duration::from_secs(1), buffer_frames: Some(1), ..Pace::VNF };
    let mut bench = Bench::with_pace(CrossConnect { addresses: [Some((HOST, LEFT)), Some((PEER, RIGHT))] }, pace);
    let start = Instant::now();
    assert_eq!(bench.send(0, &frame), NOTHING);
    (0..4).for_each(|_| drop(bench.send(0, &frame)));
    while bench.total(|counters| counters.sent) == 0 {
        bench.forwarder.poll().unwrap();
    }
    assert!(start.elapsed() >= Duration::from_millis(999));
    assert_eq!(bench.counters(0).received, 5);
    assert!(bench.counters(0).dropped(Cause::QueueFull) <= 4);
}

/// A cross-connect with a policer at each port whose buckets hold 3 frames and 2 frames, and hardly fill.
fn policed(color_mode: ColorMode, marks: bool, pace: Pace) -> Bench<CrossConnect> {
    let profile = BandwidthProfile { cir_bps: 1, cbs_bytes: 3 * 64, eir_bps: 1, ebs_bytes: 2 * 64, is_coupled: false };
    let policer = PortPolicer::new(&profile, color_mode, marks);
    Bench::with_policer(CrossConnect { addresses: [None, None] }, pace, Some(&policer))
}

#[test]
fn each_port_has_a_policer_of_its_own_that_drops_red_frames() {
    let frame = ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64));
    let mut bench = policed(ColorMode::Blind, false, Pace::VNF);
    for port in [0, 1] {
        let passed: Vec<Vec<u8>> = (0..8).flat_map(|_| bench.send(port, &frame)[1 - port].clone()).collect();
        assert_eq!(passed, vec![frame.clone(); 5]);
        let counters = bench.counters(port);
        assert_eq!((counters.received, counters.dropped(Cause::OutOfProfile)), (8, 3));
    }
}

#[test]
fn a_policer_marks_frames_and_reads_marks_in_aware_mode() {
    let frame = |dscp: u8| {
        let mut packet = ipv4("198.19.7.7", 64);
        (packet[1], packet[10], packet[11]) = (dscp << 2, 0, 0);
        let sum = checksum::finish(checksum::sum(&packet[..20]));
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        ethernet(LEFT, HOST, 0x0800, &packet)
    };
    let [best_effort, green, yellow] = [0, 10, 12].map(frame);
    for (color_mode, arriving, expected) in [
        (ColorMode::Blind, &best_effort, vec![&green, &green, &green, &yellow, &yellow]),
        (ColorMode::Blind, &yellow, vec![&green, &green, &green, &yellow, &yellow]),
        (ColorMode::Aware, &green, vec![&green, &green, &green, &yellow, &yellow]),
        (ColorMode::Aware, &yellow, vec![&yellow, &yellow]),
    ] {
        let mut bench = policed(color_mode, true, Pace::VNF);
        let passed: Vec<Vec<u8>> = (0..6).flat_map(|_| bench.send(0, arriving)[1].clone()).collect();
        assert_eq!(passed.iter().collect::<Vec<_>>(), expected, "{color_mode:?}");
    }
}

#[test]
fn frames_that_a_policer_drops_take_no_place_in_the_ideal_queue() {
    let frame = ethernet(LEFT, HOST, 0x0800, &ipv4("198.19.7.7", 64));
    let pace = Pace { frame_time: Duration::from_secs(60), buffer_frames: Some(4), ..Pace::VNF };
    let mut bench = policed(ColorMode::Blind, false, pace);
    (0..8).for_each(|_| drop(bench.send(0, &frame)));
    let counters = bench.counters(0);
    assert_eq!((counters.dropped(Cause::OutOfProfile), counters.dropped(Cause::QueueFull)), (3, 1));
}
