//! The edge switch as seen by testers and chains.
#![allow(clippy::unwrap_used)]

use nodrop_port::loopback::{self, LoopbackRx, LoopbackTx};
use nodrop_port::{Receive, Slot, Transmit};
use nodrop_vnf::{Cause, Counters, EdgeError, EdgePort, EdgeSwitch, Forwarder, Pace, Port};
use nodrop_wire::MacAddr;

const TESTER: MacAddr = MacAddr([2, 0, 0, 0, 0, 9]);
const BROADCAST: MacAddr = MacAddr([0xff; 6]);

/// The switch and the stations at its ports.
struct Bench {
    forwarder: Forwarder<LoopbackTx, LoopbackRx, EdgeSwitch>,
    stations: Vec<(LoopbackTx, LoopbackRx)>,
}

impl Bench {
    fn new(roles: Vec<EdgePort>) -> Self {
        let (mut ports, mut stations) = (Vec::new(), Vec::new());
        for number in 0..roles.len() {
            let [(tx, rx), station] = loopback::pair(64);
            ports.push(Port { name: format!("port{number}"), tx, rx, counters: Counters::default(), policer: None });
            stations.push(station);
        }
        let switch = EdgeSwitch::new(roles).unwrap();
        Self { forwarder: Forwarder::new(ports, switch, 1522, Pace::EDGE).unwrap(), stations }
    }

    /// Send frames to a port; return all frames received at the stations, with their port.
    fn send(&mut self, port: usize, frames: &[Vec<u8>]) -> Vec<(usize, Vec<u8>)> {
        let longest = frames.iter().map(Vec::len).max().unwrap();
        let fill = |at: usize, slot: Slot<'_>| {
            slot.bytes[..frames[at].len()].copy_from_slice(&frames[at]);
            frames[at].len()
        };
        assert_eq!(self.stations[port].0.transmit(frames.len(), longest, fill).unwrap(), frames.len());
        self.forwarder.poll().unwrap();
        let mut out = Vec::new();
        for (port, (_, rx)) in self.stations.iter_mut().enumerate() {
            rx.receive(64, |frame| out.push((port, frame.bytes.to_vec()))).unwrap();
        }
        out
    }

    fn dropped(&mut self, port: usize, cause: Cause) -> u64 {
        self.forwarder.read_counters().unwrap()[port].dropped(cause)
    }
}

fn station(number: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 1, number])
}

fn access(trunk: usize, vlan: Option<u16>, mac: Option<MacAddr>) -> EdgePort {
    EdgePort::Access { trunk, vlan, mac }
}

/// Return a frame of unusual length, so that padding or truncation would show.
fn frame(dst: MacAddr, vlan: Option<u16>) -> Vec<u8> {
    let tag = vlan.map_or(Vec::new(), |id| [&[0x81, 0], &id.to_be_bytes()[..]].concat());
    [&dst.0[..], &TESTER.0, &tag, &[0x08, 0x00], &[0xab; 51]].concat()
}

/// Two trunks, each with two chains in VLANs 100 and 101.
fn by_vlan() -> Bench {
    Bench::new(vec![
        EdgePort::Trunk,
        EdgePort::Trunk,
        access(0, Some(100), None),
        access(0, Some(101), None),
        access(1, Some(100), None),
        access(1, Some(101), None),
    ])
}

/// A trunk with three chains that share the untagged frames.
fn by_mac() -> Bench {
    let chains = (0..3).map(|number| access(0, None, Some(station(number))));
    Bench::new(std::iter::once(EdgePort::Trunk).chain(chains).collect())
}

#[test]
fn a_frame_of_a_vlan_reaches_its_chain_without_the_tag_and_no_other() {
    let mut bench = by_vlan();
    for (trunk, vlan, chain) in [(0, 100, 2), (0, 101, 3), (1, 100, 4), (1, 101, 5)] {
        let out = bench.send(trunk, &[frame(station(0), Some(vlan))]);
        assert_eq!(out, [(chain, frame(station(0), None))]);
    }
}

#[test]
fn what_a_chain_sends_leaves_by_its_trunk_in_its_vlan_and_nowhere_else() {
    let mut bench = by_vlan();
    for (chain, trunk, vlan) in [(2, 0, 100), (3, 0, 101), (4, 1, 100), (5, 1, 101)] {
        for dst in [TESTER, BROADCAST, station(0)] {
            assert_eq!(bench.send(chain, &[frame(dst, None)]), [(trunk, frame(dst, Some(vlan)))]);
        }
    }
}

#[test]
fn a_chains_own_tags_pass_inside_of_its_vlan() {
    let mut bench = by_vlan();
    let own = frame(station(0), Some(7));
    let mut outer = own.clone();
    outer.splice(12..12, [0x81, 0x00, 0, 100]);
    assert_eq!(bench.send(0, std::slice::from_ref(&outer)), [(2, own.clone())]);
    assert_eq!(bench.send(2, &[own]), [(0, outer)]);
}

#[test]
fn frames_of_other_vlans_or_of_none_go_nowhere_and_are_counted() {
    let mut bench = by_vlan();
    for vlan in [None, Some(0), Some(102), Some(4095)] {
        assert_eq!(bench.send(0, &[frame(BROADCAST, vlan)]), []);
    }
    assert_eq!(bench.dropped(0, Cause::UnknownVlan), 4);
}

#[test]
fn a_burst_for_many_chains_keeps_each_chains_order() {
    let mut bench = by_vlan();
    let numbered = |vlan, number: u8| {
        let mut frame = frame(station(0), Some(vlan));
        frame.push(number);
        frame
    };
    let burst: Vec<_> = (0..24).map(|number| numbered(100 + u16::from(number % 2), number)).collect();
    let out = bench.send(0, &burst);
    let numbers = |chain| -> Vec<u8> {
        out.iter().filter(|(port, _)| *port == chain).map(|(_, frame)| *frame.last().unwrap()).collect()
    };
    assert_eq!(numbers(2), (0..24).step_by(2).collect::<Vec<u8>>());
    assert_eq!(numbers(3), (1..24).step_by(2).collect::<Vec<u8>>());
}

#[test]
fn chains_that_share_a_network_are_distinguished_by_mac_address() {
    let mut bench = by_mac();
    for number in 0..3 {
        let sent = frame(station(number), None);
        assert_eq!(bench.send(0, std::slice::from_ref(&sent)), [(1 + usize::from(number), sent)]);
    }
    assert_eq!(bench.send(0, &[frame(station(9), None)]), []);
    assert_eq!(bench.dropped(0, Cause::UnknownStation), 1);
}

#[test]
fn a_question_to_all_reaches_every_chain_that_shares_and_their_answers_the_trunk_alone() {
    let mut bench = by_mac();
    let request = frame(BROADCAST, None);
    assert_eq!(
        bench.send(0, std::slice::from_ref(&request)),
        [(1, request.clone()), (2, request.clone()), (3, request)]
    );
    for dst in [TESTER, BROADCAST, station(0)] {
        assert_eq!(bench.send(2, &[frame(dst, None)]), [(0, frame(dst, None))]);
    }
    let counters = bench.forwarder.read_counters().unwrap();
    let sum = |count: fn(&Counters) -> u64| counters.iter().map(|port| count(port)).sum::<u64>();
    assert_eq!(sum(|port| port.received) + sum(|port| port.originated), sum(|port| port.sent));
}

#[test]
fn ports_that_nothing_tells_apart_are_refused() {
    let error = |ports| EdgeSwitch::new(ports).unwrap_err();
    let both_of = |one: EdgePort, two: EdgePort| vec![EdgePort::Trunk, one, two];
    let ambiguous = EdgeError::Ambiguous { first: 1, second: 2 };
    assert_eq!(error(both_of(access(0, Some(5), None), access(0, Some(5), None))), ambiguous);
    assert_eq!(error(both_of(access(0, None, None), access(0, None, Some(station(1))))), ambiguous);
    assert_eq!(error(both_of(access(0, None, Some(station(1))), access(0, None, None))), ambiguous);
    assert_eq!(error(both_of(access(0, None, Some(station(1))), access(0, None, Some(station(1))))), ambiguous);
    assert_eq!(error(vec![EdgePort::Trunk, access(1, None, None)]), EdgeError::NoTrunk { port: 1, trunk: 1 });
}
