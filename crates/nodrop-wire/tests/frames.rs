//! Streams: ranges and sizes appear in the frames as specified, exactly counted; invalid ones are rejected.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod reader;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use nodrop_model::{Field, FieldRange, FieldValue, FieldValues, Layer, SizeOrder, SizeShare, StreamSpec, Vlan};
use nodrop_wire::{Frames, Template};
use reader::{read, word};

fn spec(ranges: Vec<FieldRange>) -> StreamSpec {
    StreamSpec { ranges, ..StreamSpec::udp(7, 0, 1, 64, 1) }
}

fn range(layer: usize, field: Field, values: FieldValues, every: u32) -> FieldRange {
    FieldRange { layer, field, values, every, period: None }
}

/// Return the first `count` frames of a stream.
fn frames(spec: &StreamSpec, count: u64) -> Vec<Vec<u8>> {
    let frames = Frames::new(spec).unwrap();
    let mut states: Vec<_> = frames.templates().iter().map(Template::slot_state).collect();
    let complete = |sequence| {
        let (size, template) = frames.template(sequence);
        let mut frame = template.bytes().to_vec();
        template.complete(&mut states[size], &mut frame, sequence, 0, 0);
        frame
    };
    (0..count).map(complete).collect()
}

#[test]
fn an_increment_takes_exactly_its_values_in_turn() {
    let stream = spec(vec![range(2, Field::SrcPort, FieldValues::Increment { count: 300, step: 7 }, 1)]);
    let seen: Vec<usize> = frames(&stream, 900).iter().map(|frame| word(frame, 34)).collect();
    let expected: Vec<usize> = (0..900).map(|sequence| 0xc000 + sequence % 300 * 7).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_million_flows_are_a_million_different_headers_each_sent_as_often() {
    let ports = range(2, Field::SrcPort, FieldValues::Increment { count: 15_625, step: 1 }, 1);
    let addresses = range(1, Field::Src, FieldValues::Increment { count: 64, step: 1 }, 15_625);
    let template = Template::new(&spec(vec![ports, addresses]), 64).unwrap();
    let mut frame = template.bytes().to_vec();
    let (mut state, mut seen) = (template.slot_state(), vec![0u8; 64 * 15_625]);
    for sequence in 0..2_000_000 {
        template.complete(&mut state, &mut frame, sequence, 0, 0);
        seen[(usize::from(frame[29]) - 1) * 15_625 + word(&frame, 34) - 0xc000] += 1;
    }
    assert!(seen.iter().all(|count| *count == 2));
}

/// Return the headers with addresses and ports that leave room for masks.
fn with_zero_fields(mut layers: Vec<Layer>) -> Vec<Layer> {
    for layer in &mut layers {
        match layer {
            Layer::Ipv4(ip) => ip.src = Ipv4Addr::new(10, 0, 0, 0),
            Layer::Udp(udp) => udp.dst_port = 0,
            _ => {}
        }
    }
    layers
}

#[test]
fn fields_that_begin_again_early_make_exactly_as_many_flows_as_their_period() {
    let short = |range: FieldRange| FieldRange { period: Some(11), ..range };
    let increment = |count| FieldValues::Increment { count, step: 1 };
    let stream = spec(vec![
        short(range(2, Field::SrcPort, increment(4), 1)),
        short(range(1, Field::Src, FieldValues::Random { count: 3, span: 90, seed: 1 }, 4)),
        range(1, Field::Dst, increment(2), 11),
    ]);
    let all: Vec<_> = frames(&stream, 44).iter().map(|frame| frame[26..36].to_vec()).collect();
    assert_eq!(all[..22], all[22..]);
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 22);
    let flows = |of: &[Vec<u8>]| of.iter().map(|flow| [&flow[..4], &flow[8..]].concat()).collect::<BTreeSet<_>>();
    assert_eq!((flows(&all[..11]).len(), flows(&all[..11])), (11, flows(&all[11..22])));
    frames(&stream, 44).iter().for_each(|frame| assert_eq!(read(frame), 42));
}

#[test]
fn random_values_are_as_many_as_requested_within_their_span() {
    let values = FieldValues::Random { count: 500, span: 4096, seed: 9 };
    let stream = spec(vec![range(1, Field::Dst, values, 1)]);
    let address = |frame: &Vec<u8>| u32::from_be_bytes(frame[30..34].try_into().unwrap());
    let seen: Vec<u32> = frames(&stream, 5000).iter().map(address).collect();
    let different: BTreeSet<u32> = seen.iter().copied().collect();
    let first = u32::from(Ipv4Addr::new(198, 19, 0, 1));
    assert_eq!(different.len(), 500);
    assert!(different.iter().all(|address| (first..first + 4096).contains(address)));
    assert_eq!(seen[..500].iter().copied().collect::<BTreeSet<_>>(), different);
}

#[test]
fn masked_values_of_two_fields_are_parts_of_the_same_number() {
    let masked = |skip_bits, mask| FieldValues::Masked { count: 65_536, span: 65_536, seed: 3, skip_bits, mask };
    let stream = spec(vec![
        range(1, Field::Src, masked(0, 0x0001_ff00), 1),
        range(2, Field::DstPort, masked(9, 0b101_0110_1010_0000), 1),
    ]);
    let stream = StreamSpec { layers: with_zero_fields(stream.layers), ..stream };
    let numbers: BTreeSet<u32> = frames(&stream, 65_536)
        .iter()
        .map(|frame| {
            let source = u32::from_be_bytes(frame[26..30].try_into().unwrap());
            assert_eq!(source & !0x0001_ff00, 0x0a00_0000);
            let port = u32::from(u16::from_be_bytes(frame[36..38].try_into().unwrap()));
            // The bits of the port's mask, read one by one.
            let high = [5, 7, 9, 10, 12, 14].iter().enumerate().map(|(bit, at)| (port >> at & 1) << bit).sum::<u32>();
            (source >> 8 & 0x1ff) + (high << 9)
        })
        .collect();
    // The mask of the second field has six of the seven upper bits, so numbers that differ in the last are alike.
    assert_eq!((numbers.len(), numbers.last()), (32_768, Some(&32_767)));
    frames(&stream, 44).iter().for_each(|frame| assert_eq!(read(frame), 42));
}

#[test]
fn sizes_come_in_their_shares_and_each_frame_is_whole() {
    let sizes = [(64, 7), (594, 4), (1518, 1)].map(|(frame_bytes, weight)| SizeShare { frame_bytes, weight });
    let mut stream = StreamSpec { sizes: sizes.to_vec(), ..spec(vec![]) };
    let lengths = |stream: &StreamSpec| frames(stream, 120).iter().map(Vec::len).collect::<Vec<_>>();
    let mixed = lengths(&stream);
    let count = |length| mixed.iter().filter(|one| **one == length).count();
    assert_eq!((count(60), count(590), count(1514)), (70, 40, 10));
    stream.size_order = SizeOrder::Listed;
    assert_eq!(lengths(&stream)[..12], [60, 60, 60, 60, 60, 60, 60, 590, 590, 590, 590, 1514]);
    frames(&stream, 12).iter().for_each(|frame| assert_eq!(read(frame), 42));
}

#[test]
fn what_a_packet_socket_sees_of_a_tagged_frame_is_expected_too() {
    let mut stream = spec(vec![]);
    stream.layers.insert(1, Layer::Vlan(Vlan { id: 5, ..Vlan::default() }));
    stream.sizes[0].frame_bytes = 68;
    stream.rx_offsets = vec![96];
    assert_eq!(Frames::new(&stream).unwrap().rx_offsets(), [42, 46, 96]);
    assert_eq!(Frames::new(&spec(vec![])).unwrap().rx_offsets(), [42]);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let increment = |count, step| FieldValues::Increment { count, step };
    let error = |layer, field, values, every| {
        Frames::new(&spec(vec![range(layer, field, values, every)])).unwrap_err().to_string()
    };
    let masked = |mask| FieldValues::Masked { count: 1, span: 1, seed: 0, skip_bits: 0, mask };
    let text = |text: &str| FieldValues::List { values: vec![FieldValue::Address(text.to_owned())] };
    for (message, part) in [
        (error(2, Field::SrcPort, increment(16_385, 1), 1), "does not fit 16 bits"),
        (error(2, Field::Vni, increment(1, 1), 1), "udp has no such variable field"),
        (error(9, Field::Src, increment(1, 1), 1), "no such layer"),
        (error(1, Field::Src, increment(1 << 20, 1), 9), "at most 8388608"),
        (error(1, Field::Src, increment(0, 1), 1), "at least 1"),
        (
            Frames::new(&spec(vec![FieldRange { period: Some(1), ..range(1, Field::Src, increment(2, 1), 1) }]))
                .unwrap_err()
                .to_string(),
            "period of 1 frames is out of range",
        ),
        (error(1, Field::Src, text("here"), 1), "not an address"),
        (error(2, Field::DstPort, text("80"), 1), "use a number"),
        (error(1, Field::Src, FieldValues::Random { count: 9, span: 8, seed: 0 }, 1), "widen the span"),
        (error(2, Field::DstPort, masked(0xfff8), 1), "the last value 0x10001 does not fit 16 bits"),
        (Frames::new(&StreamSpec::udp(1, 0, 1, 63, 1)).unwrap_err().to_string(), "use at least 64 bytes"),
        (Frames::new(&StreamSpec::udp(1, 0, 1, 9217, 1)).unwrap_err().to_string(), "use at most 9216 bytes"),
    ] {
        assert!(message.contains(part), "{message} does not contain {part}");
    }
    let order_error = StreamSpec { layers: vec![spec(vec![]).layers.swap_remove(1)], ..spec(vec![]) };
    assert_eq!(Frames::new(&order_error).unwrap_err().to_string(), "layers: ipv4 cannot follow the wire");
}
