//! The flow table: assignment of frames to flows, and transparent forwarding.
#![allow(clippy::unwrap_used)]

use nodrop_port::memory::{Memory, Pages};
use nodrop_vnf::{CrossConnect, FLOW_ENTRY_BYTES, FlowTable, ForwardingDecision, FrameBuffer, Network};
use nodrop_wire::MacAddr;

const STATIONS: CrossConnect = CrossConnect { addresses: [Some((MacAddr([2; 6]), MacAddr([4; 6]))); 2] };

fn table(entries: usize) -> FlowTable<CrossConnect> {
    let memory = Memory::new(entries * FLOW_ENTRY_BYTES, Pages::Default).unwrap();
    FlowTable::new(STATIONS, memory)
}

/// Return a UDP frame from this port, optionally with a VLAN tag; `ttl` is not part of the flow.
fn udp(source_port: u16, ttl: u8, vlan: Option<u16>) -> FrameBuffer {
    let mut bytes = vec![0; 12];
    if let Some(id) = vlan {
        bytes.extend([0x81, 0x00]);
        bytes.extend(id.to_be_bytes());
    }
    bytes.extend([0x08, 0x00, 0x45, 0, 0, 46, 0, 0, 0, 0, ttl, 17, 0, 0, 198, 18, 0, 1, 198, 19, 0, 1]);
    bytes.extend(source_port.to_be_bytes());
    bytes.resize(60 + if vlan.is_some() { 4 } else { 0 }, 0);
    FrameBuffer::from_frame(&bytes)
}

#[test]
fn frames_of_one_flow_share_an_account_whatever_their_tag_and_ttl() {
    let mut table = table(1024);
    for (ttl, vlan) in [(64, None), (63, None), (64, Some(100))] {
        assert_eq!(table.handle(&mut udp(1000, ttl, vlan), 0, 0), ForwardingDecision::Forward(1));
    }
    assert_eq!(table.flow_counts(&udp(1000, 1, None)), (3, 60 + 60 + 64));
    assert_eq!(table.flow_counts(&udp(1001, 64, None)), (0, 0));
}

#[test]
fn flows_lie_all_over_the_table() {
    let mut table = table(1 << 16);
    let ports = 0..10_000_u16;
    ports.clone().for_each(|port| {
        table.handle(&mut udp(port, 64, None), 0, 0);
    });
    // With 10,000 keys in 65,536 entries, about 7 % collide with another key (the birthday problem).
    let found = ports.filter(|port| table.flow_counts(&udp(*port, 64, None)).0 == 1).count();
    assert!((9_000..9_600).contains(&found), "{found} of 10000 kept their entry");
}

#[test]
fn a_table_of_one_account_is_whoevers_came_last() {
    let mut table = table(1);
    table.handle(&mut udp(1, 64, None), 0, 0);
    table.handle(&mut udp(2, 64, None), 0, 0);
    assert_eq!([1, 2].map(|port| table.flow_counts(&udp(port, 64, None)).0), [0, 1]);
}

#[test]
fn non_ip_frames_are_distinguished_by_their_stations() {
    let mut table = table(64);
    let mut arp = FrameBuffer::from_frame(&[[1_u8; 12].as_slice(), &[0x08, 0x06], &[0; 46]].concat());
    assert_eq!(table.handle(&mut arp.clone(), 1, 0), ForwardingDecision::Forward(0));
    assert_eq!(table.flow_counts(&arp), (1, 60));
    arp.set_addresses([9; 6], [9; 6]);
    assert_eq!(table.flow_counts(&arp).0, 0);
}
