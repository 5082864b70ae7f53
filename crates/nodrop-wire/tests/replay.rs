//! Replayed frames as templates: order, sizes, addresses, limits.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod reader;

use nodrop_model::{Ethernet, Layer, StreamSpec};
use nodrop_wire::{REPLAY_FRAMES_MAX, ReplayFrames, Signature, SourceFrame, WireError, replay};

fn spec(layers: Vec<Layer>) -> StreamSpec {
    StreamSpec { layers, ..StreamSpec::udp(7, 0, 1, 64, 1) }
}

fn replay_all(frames: &[Vec<u8>]) -> Result<ReplayFrames, WireError> {
    let source = |(bytes, number): (&'_ Vec<u8>, u64)| (number, bytes.len(), bytes.clone());
    let owned: Vec<_> = frames.iter().zip(1..).map(source).collect();
    let source: Vec<_> = owned
        .iter()
        .map(|(number, frame_len, bytes)| SourceFrame { number: *number, frame_len: *frame_len, bytes })
        .collect();
    replay(&spec(vec![]), &source)
}

/// Return an Ethernet frame of that type and content.
fn ethernet(kind: u16, content: &[u8]) -> Vec<u8> {
    let addresses = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    [&addresses[..], &kind.to_be_bytes(), content].concat()
}

/// Return an IPv4 packet of that protocol from 10.0.0.1 to 10.0.0.2, with a wrong checksum.
fn ipv4(protocol: u8, fragment: u16, content: &[u8]) -> Vec<u8> {
    let length = (20 + content.len()) as u16;
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend([0, 1]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0xbe, 0xef, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(content);
    packet
}

/// Return a UDP datagram with a checksum to correct, or without one.
fn udp(payload: &[u8], checksum: u16) -> Vec<u8> {
    let mut datagram = [1024u16, 53, 8 + payload.len() as u16, checksum].map(u16::to_be_bytes).concat();
    datagram.extend(payload);
    datagram
}

fn tcp(options: usize, payload: &[u8]) -> Vec<u8> {
    let mut segment =
        vec![4, 0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 2, (4 * (20 + options)) as u8, 0x10, 1, 0, 0xde, 0xad, 0, 0];
    segment.extend(std::iter::repeat_n(1, options));
    segment.extend(payload);
    segment
}

fn complete(replayed: &ReplayFrames, sequence: u64) -> Vec<u8> {
    let (_, template) = replayed.frames.template(sequence);
    let mut frame = template.bytes().to_vec();
    template.complete(&mut template.slot_state(), &mut frame, sequence, 12_345, 3);
    frame
}

#[test]
fn frames_come_in_the_order_of_the_file_and_those_alike_share_a_template() {
    let dns = |fill| ethernet(0x0800, &ipv4(17, 0, &udp(&[fill; 40], 1)));
    let replayed = replay_all(&[dns(1), dns(2), dns(1), dns(1)]).unwrap();
    assert_eq!(replayed.frames.templates().len(), 2);
    let order: Vec<usize> = (0..9).map(|sequence| replayed.frames.template(sequence).0).collect();
    assert_eq!(order, [0, 1, 0, 0, 0, 1, 0, 0, 0]);
    let [size] = replayed.sizes[..] else { panic!("one size expected") };
    assert_eq!((size.frame_bytes, size.weight, replayed.grown_count), (14 + 20 + 8 + 40 + 4, 4, 0));
    for sequence in 0..4 {
        let frame = complete(&replayed, sequence);
        assert_eq!(reader::read(&frame), 42);
        assert_eq!(Signature::parse(&frame[42..]).unwrap().sequence, sequence);
        assert!(frame[60..].iter().all(|byte| *byte == if sequence == 1 { 2 } else { 1 }), "the rest is unchanged");
    }
}

#[test]
fn frames_too_short_for_the_signature_grow_by_what_is_missing_and_padding_gives_way() {
    let mut ack = ethernet(0x0800, &ipv4(6, 0, &tcp(0, &[])));
    ack.resize(60, 0);
    let replayed = replay_all(&[ack]).unwrap();
    let frame = complete(&replayed, 0);
    assert_eq!((frame.len(), reader::read(&frame), replayed.grown_count), (72, 54, 1));
    let stamped = replay_all(&[ethernet(0x0800, &ipv4(6, 0, &tcp(12, &[7; 10])))]).unwrap();
    let frame = complete(&stamped, 0);
    assert_eq!((frame.len(), stamped.offsets), (66 + 18, vec![66]));
    assert_eq!(stamped.sizes[0].frame_bytes, 88);
}

#[test]
fn a_datagram_without_checksum_stays_so_and_fragments_keep_what_is_behind_ip() {
    let replayed = replay_all(&[ethernet(0x0800, &ipv4(17, 0, &udp(&[1; 30], 0)))]).unwrap();
    assert_eq!(complete(&replayed, 9)[40..42], [0, 0]);
    let replayed = replay_all(&[ethernet(0x0800, &ipv4(17, 0x2000, &udp(&[1; 30], 0xabcd)))]).unwrap();
    assert_eq!(replayed.offsets, [34]);
    assert_eq!(complete(&replayed, 9)[52..], [1; 20]);
}

#[test]
fn arp_and_unknown_protocols_are_marked_too() {
    let arp = ethernet(0x0806, &[0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2]);
    let other = ethernet(0x88cc, &[5; 46]);
    let replayed = replay_all(&[arp.clone(), other]).unwrap();
    let frame = complete(&replayed, 0);
    assert_eq!((&frame[..42], frame.len()), (&arp[..], 60));
    assert_eq!((replayed.offsets, replayed.grown_count), (vec![14, 42], 0));
}

#[test]
fn a_tag_that_the_kernel_may_take_out_is_reckoned_with_and_addresses_can_be_others() {
    let tagged = ethernet(0x8100, &[&[0, 100, 8, 0][..], &ipv4(17, 0, &udp(&[1; 30], 1))].concat());
    let addresses = Ethernet { src: "02:6e:64:00:00:00".to_owned(), dst: "02:6e:64:00:01:00".to_owned() };
    let source = SourceFrame { number: 1, frame_len: tagged.len(), bytes: &tagged };
    let replayed = replay(&spec(vec![Layer::Ethernet(addresses)]), &[source]).unwrap();
    assert_eq!((replayed.frames.rx_offsets(), replayed.offsets), (&[42, 46][..], vec![46]));
    assert_eq!(replayed.frames.templates()[0].bytes()[..12], [2, 0x6e, 0x64, 0, 1, 0, 2, 0x6e, 0x64, 0, 0, 0]);
}

#[test]
fn what_cannot_be_replayed_is_refused_by_its_number_in_the_file() {
    let error = |bytes: &[u8], frame_len| {
        replay(&spec(vec![]), &[SourceFrame { number: 41, frame_len, bytes }]).unwrap_err().to_string()
    };
    let whole = ethernet(0x0800, &ipv4(17, 0, &udp(&[1; 30], 1)));
    assert!(error(&whole, 9213).starts_with("frame 41: 9213 bytes without FCS exceed the maximum of 9212"));
    assert!(error(&whole[..40], 72).starts_with("frame 41: the file contains 40 bytes of it, but its headers take 42"));
    assert!(error(&whole[..13], 72).contains("not contain its entire Ethernet header"));
    assert!(replay_all(&[]).unwrap_err().to_string().starts_with("0 frames cannot be replayed; use 1 to 65536"));
    assert!(replay_all(&vec![whole; REPLAY_FRAMES_MAX + 1]).unwrap_err().to_string().starts_with("65537 frames"));
}

#[test]
fn headers_may_end_in_many_places_but_not_in_any() {
    let labels = |count: usize, packet: &[u8]| {
        ethernet(0x8847, &[[0, 0, 0, 9].repeat(count), vec![0, 0, 1, 9], packet.to_vec()].concat())
    };
    let with_options = |words: u8| {
        let mut packet = ipv4(253, 0, &[0; 100]);
        packet[0] = 0x40 | words;
        packet
    };
    let frames = |count| {
        (0..count).flat_map(|n| [labels(n, &[0; 60]), labels(n, &with_options(5)), labels(n, &with_options(15))])
    };
    assert!(replay_all(&frames(8).collect::<Vec<_>>()).is_ok());
    let error = replay_all(&frames(20).collect::<Vec<_>>()).unwrap_err().to_string();
    assert!(error.starts_with("headers end at 35 different offsets, at most 32 are supported"), "{error}");
}
