//! Random stacks of headers with random ranges: an independent parser recomputes every length and checksum from the
//! standards; signatures are at the expected offsets.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod reader;

use nodrop_model::{
    Ethernet, Field, FieldProgram, FieldRange, FieldValue, FieldValues, Gre, IcmpEcho, Ipv4, Ipv6, Layer, Mpls, Nd,
    SignatureForm, StreamSpec, Tcp, Udp, Vlan, Vxlan,
};
use nodrop_wire::{
    FCS_BYTES, SIGNATURE_BYTES, Signature, SourceFrame, Template, WireError, checksum, is_intact, replay,
};
use proptest::prelude::*;

fn ethernet() -> impl Strategy<Value = Layer> {
    (any::<u8>(), any::<u8>()).prop_map(|(src, dst)| {
        Layer::Ethernet(Ethernet { src: format!("02:00:00:00:00:{src:02x}"), dst: format!("02:00:00:00:01:{dst:02x}") })
    })
}

fn ip() -> impl Strategy<Value = Layer> {
    prop_oneof![
        (any::<u32>(), any::<u32>(), 0u8..64, any::<u8>()).prop_map(|(src, dst, dscp, ttl)| Layer::Ipv4(Ipv4 {
            src: src.into(),
            dst: dst.into(),
            dscp,
            ttl
        })),
        (any::<u128>(), any::<u128>(), 0u8..64, 0u32..1 << 20).prop_map(|(src, dst, dscp, flow_label)| {
            Layer::Ipv6(Ipv6 { src: src.into(), dst: dst.into(), dscp, flow_label, hop_limit: 64 })
        }),
    ]
}

fn transport() -> impl Strategy<Value = Layer> {
    prop_oneof![
        (any::<u16>(), 0u16..4000).prop_map(|(src_port, dst_port)| Layer::Udp(Udp { src_port, dst_port })),
        (any::<u16>(), any::<u16>(), any::<u8>(), any::<u32>())
            .prop_map(|(src_port, dst_port, flags, sequence)| Layer::Tcp(Tcp { src_port, dst_port, flags, sequence })),
        (any::<u16>(), any::<u16>())
            .prop_map(|(identifier, sequence)| Layer::IcmpEcho(IcmpEcho { identifier, sequence })),
    ]
}

/// Tags and labels in front of an IP header.
fn tags() -> impl Strategy<Value = Vec<Layer>> {
    let vlan = (0u16..4096, 0u8..8, any::<bool>()).prop_map(|(id, pcp, dei)| Vlan { id, pcp, dei });
    let mpls = (0u32..1 << 20, 0u8..8, any::<u8>()).prop_map(|(label, tc, ttl)| Layer::Mpls(Mpls { label, tc, ttl }));
    let (outer, inner) = (vlan.clone().prop_map(Layer::Qinq), vlan.prop_map(Layer::Vlan));
    let each = (prop::option::of(outer), prop::option::of(inner), prop::collection::vec(mpls, 0..4));
    each.prop_map(|(outer, inner, labels)| outer.into_iter().chain(inner).chain(labels).collect())
}

fn tunnel() -> impl Strategy<Value = Vec<Layer>> {
    let udp = |src_port| Layer::Udp(Udp { src_port, dst_port: 4789 });
    prop_oneof![
        Just(vec![]),
        (ip(), any::<u16>(), 0u32..1 << 24, ethernet()).prop_map(move |(ip, port, vni, inner)| vec![
            ip,
            udp(port),
            Layer::Vxlan(Vxlan { vni }),
            inner
        ]),
        (ip(), any::<Option<u32>>()).prop_map(|(ip, key)| vec![ip, Layer::Gre(Gre { key })]),
        (ip(), ethernet()).prop_map(|(ip, inner)| vec![ip, Layer::Gre(Gre { key: None }), inner]),
    ]
}

fn stack() -> impl Strategy<Value = Vec<Layer>> {
    let packet = prop_oneof![
        8 => (ip(), transport()).prop_map(|(ip, transport)| vec![ip, transport]),
        1 => any::<u128>().prop_map(|target| {
            let ip = Ipv6 { src: 1.into(), dst: 2.into(), dscp: 0, flow_label: 0, hop_limit: 255 };
            let nd = Nd { advertises: target % 2 == 0, solicited: true, target: target.into(), mac: "02:00:00:00:00:01".to_owned() };
            vec![Layer::Ipv6(ip), Layer::Nd(nd)]
        }),
    ];
    let parts = (ethernet(), tags(), prop::collection::vec(tunnel(), 0..3), packet);
    parts.prop_map(|(ethernet, tags, tunnels, packet)| {
        std::iter::once(ethernet).chain(tags).chain(tunnels.into_iter().flatten()).chain(packet).collect()
    })
}

/// Return the variable fields of a layer.
fn fields(layer: &Layer) -> &'static [Field] {
    match layer {
        Layer::Ethernet(_) | Layer::Ipv4(_) => &[Field::Src, Field::Dst],
        Layer::Vlan(_) | Layer::Qinq(_) => &[Field::Id],
        Layer::Mpls(_) => &[Field::Label],
        Layer::Ipv6(_) => &[Field::Src, Field::Dst, Field::FlowLabel],
        Layer::Udp(_) | Layer::Tcp(_) => &[Field::SrcPort],
        Layer::IcmpEcho(_) => &[Field::Identifier],
        Layer::Vxlan(_) => &[Field::Vni],
        Layer::Gre(Gre { key: Some(_) }) => &[Field::Key],
        Layer::Gre(_) | Layer::Arp(_) | Layer::Nd(_) => &[],
    }
}

/// Return a stack with up to four distinct variable fields.
fn with_ranges(layers: Vec<Layer>) -> impl Strategy<Value = StreamSpec> {
    let layer_fields =
        |(at, layer): (usize, &Layer)| fields(layer).iter().map(|field| (at, *field)).collect::<Vec<_>>();
    let all: Vec<(usize, Field)> = layers.iter().enumerate().flat_map(layer_fields).collect();
    let chosen = prop::sample::subsequence(all.clone(), 0..=all.len().min(4));
    (chosen, prop::collection::vec((1u32..40, 1u32..9), 4), any::<u64>()).prop_map(move |(chosen, counts, seed)| {
        let range = |((layer, field), (count, every)): ((usize, Field), (u32, u32))| {
            let values = values(&layers[layer], field, count, seed);
            FieldRange { layer, field, values, every, period: None }
        };
        StreamSpec {
            layers: layers.clone(),
            ranges: chosen.into_iter().zip(counts).map(range).collect(),
            ..StreamSpec::udp(7, 0, 1, 64, 1)
        }
    })
}

/// Use lists where the layer's own value may be too high to increment.
fn values(layer: &Layer, field: Field, count: u32, seed: u64) -> FieldValues {
    let numbers = (0..u64::from(count)).map(|turn| turn * 101 % 4096);
    let address = |text: String| FieldValue::Address(text);
    let values = match (layer, field) {
        (Layer::Ethernet(_), Field::Src) => return FieldValues::Increment { count, step: 3 },
        (Layer::Ethernet(_), _) => return FieldValues::Random { count, span: 1000, seed },
        (Layer::Ipv4(_), _) => numbers.map(|n| address(format!("10.0.{}.{}", n >> 8, n & 255))).collect(),
        (Layer::Ipv6(_), Field::Src | Field::Dst) => numbers.map(|n| address(format!("2001:{n:x}::{n:x}"))).collect(),
        _ => numbers.map(FieldValue::Number).collect(),
    };
    FieldValues::List { values }
}

fn smallest(spec: &StreamSpec) -> usize {
    match Template::new(spec, 1).unwrap_err() {
        WireError::TooSmall { smallest, .. } => smallest,
        other => panic!("{other}"),
    }
}

/// Build the frame with this signature from the field program alone.
fn execute(program: &FieldProgram, template: &Template, signed: &[u8], sequence: u64) -> Vec<u8> {
    let mut frame = template.bytes().to_vec();
    frame[template.signature_offset()..].copy_from_slice(signed);
    let mut sums = Vec::new();
    for field in &program.fields {
        let bytes = (field.first + field.step * (sequence / field.every % field.count)).to_be_bytes();
        frame[field.at..field.at + field.width].copy_from_slice(&bytes[8 - field.width..]);
        sums.push(checksum::sum(&bytes[8 - field.width..]));
    }
    for checksum in &program.checksums {
        let live = if checksum.covers_signature { checksum::sum(&signed[6..SIGNATURE_BYTES]) } else { 0 };
        let covered: u64 = checksum.covers.iter().map(|position| sums[*position]).sum();
        let computed = match checksum::finish(checksum.static_sum + live + covered) {
            0 if checksum.zero_is_none => 0xffff,
            computed => computed,
        };
        frame[checksum.at..checksum.at + 2].copy_from_slice(&computed.to_be_bytes());
    }
    frame
}

/// Replay one frame of a file with its own addresses, and return it as frame 5 of stream 7.
fn replay_one(bytes: &[u8], frame_len: usize) -> Result<(Vec<u8>, u64), WireError> {
    let spec = StreamSpec { layers: vec![], ..StreamSpec::udp(7, 0, 1, 64, 1) };
    let replayed = replay(&spec, &[SourceFrame { number: 1, frame_len, bytes }])?;
    let template = &replayed.frames.templates()[0];
    let mut frame = template.bytes().to_vec();
    template.complete(&mut template.slot_state(), &mut frame, 5, 99, 3);
    Ok((frame, replayed.grown_count))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_length_and_checksum_is_right(
        spec in stack().prop_flat_map(with_ranges),
        more in 0usize..1500,
        sequences in prop::collection::vec(0u64..1 << 40, 1..8),
        time_ns in any::<u64>(),
    ) {
        let smallest = smallest(&spec);
        for frame_bytes in [smallest, smallest + more] {
            let Ok(template) = Template::new(&spec, frame_bytes) else {
                // Lists of IPv6 addresses count twice.
                prop_assert!(spec.ranges.len() > 4);
                return Ok(());
            };
            let mut frame = template.bytes().to_vec();
            prop_assert_eq!(frame.len(), frame_bytes - FCS_BYTES);
            let mut state = template.slot_state();
            for sequence in sequences.iter().copied().chain(0..8) {
                template.complete(&mut state, &mut frame, sequence, time_ns, 3);
                let end = reader::read(&frame);
                prop_assert_eq!(end, template.signature_offset());
                let signature = Signature::parse(&frame[end..]).unwrap();
                prop_assert_eq!((signature.stream_id, signature.sequence, signature.trial_tag), (7, sequence, 3));
                prop_assert!(is_intact(&frame, end));
                if let Some(program) = template.field_program() {
                    prop_assert_eq!(&execute(&program, &template, &frame[end..], sequence), &frame);
                }
            }
        }
    }

    #[test]
    fn a_signature_in_headers_leaves_every_length_and_checksum_right(
        mut spec in stack().prop_flat_map(with_ranges),
        more in 0usize..100,
        sequences in prop::collection::vec(0u64..1 << 32, 1..8),
    ) {
        spec.signature = SignatureForm::Headers;
        let last = spec.layers.len() - 1;
        spec.ranges.retain(|range| range.layer < last);
        if !matches!(spec.layers[..], [.., Layer::Ipv4(_), Layer::Udp(_)]) {
            let error = Template::new(&spec, 1).unwrap_err().to_string();
            prop_assert_eq!(error, "signature: headers must end with ipv4 and udp; change layers");
            return Ok(());
        }
        let frame_bytes = smallest(&spec) + more;
        let template = match Template::new(&spec, frame_bytes) {
            Ok(template) => template,
            Err(WireError::Ranges { .. }) => return Ok(()),
            Err(error) => {
                // VXLAN over IPv6, whose UDP checksum is mandatory.
                prop_assert!(error.to_string().contains("the UDP checksum of an outer header"), "{error}");
                let is_v6 = |pair: &[Layer]| matches!(pair, [Layer::Ipv6(_), Layer::Udp(_)]);
                prop_assert!(spec.layers.windows(2).any(is_v6));
                return Ok(());
            }
        };
        let end = template.signature_offset();
        prop_assert_eq!(frame_bytes, (end + FCS_BYTES).max(64) + more);
        prop_assert_eq!(template.field_program(), None);
        let mut frame = template.bytes().to_vec();
        let mut state = template.slot_state();
        for sequence in sequences.into_iter().chain(0..8) {
            template.complete(&mut state, &mut frame, sequence, 99, 3);
            prop_assert_eq!(reader::read(&frame[..end]), end);
            prop_assert!(frame[end..].iter().all(|byte| *byte == 0));
            let signature = Signature { stream_id: 7, time_ns: 0, trial_tag: 3, sequence };
            prop_assert_eq!(Signature::find(&frame, SignatureForm::Headers, &[end]), Some((signature, end)));
            prop_assert!(is_intact(&frame, end));
        }
    }

    #[test]
    fn a_frame_replayed_is_the_frame_whatever_it_lacked(
        layers in stack(),
        more in 0usize..200,
        overwritten in prop::collection::vec(any::<u8>(), SIGNATURE_BYTES),
    ) {
        let spec = StreamSpec { layers, ranges: vec![], ..StreamSpec::udp(7, 0, 1, 64, 1) };
        let template = Template::new(&spec, smallest(&spec) + more).unwrap();
        let mut frame = template.bytes().to_vec();
        template.complete(&mut template.slot_state(), &mut frame, 5, 99, 3);
        let offset = template.signature_offset();
        // Neither the bytes at the signature's offset nor the original checksums matter.
        let mut other = frame.clone();
        other[offset..offset + SIGNATURE_BYTES].copy_from_slice(&overwritten);
        prop_assert_eq!(replay_one(&other, other.len()).unwrap(), (frame.clone(), 0));
        // A file with only the headers.
        let (headers, _) = replay_one(&frame[..offset], frame.len()).unwrap();
        prop_assert_eq!(&headers[..offset], &frame[..offset]);
        // No space for the signature, and length fields larger than the packet.
        if frame.len() == offset + SIGNATURE_BYTES && offset > 60 {
            prop_assert_eq!(replay_one(&frame[..offset], offset).unwrap(), (frame, 1));
        }
    }

    #[test]
    fn no_file_makes_replay_fail_but_by_an_error(
        layers in stack(),
        damage in prop::collection::vec((0usize..200, any::<u8>()), 0..4),
        len in 0usize..300,
        noise in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let spec = StreamSpec { layers, ranges: vec![], ..StreamSpec::udp(7, 0, 1, 64, 1) };
        let mut frame = Template::new(&spec, smallest(&spec)).unwrap().bytes().to_vec();
        for (at, value) in damage {
            frame.get_mut(at).into_iter().for_each(|byte| *byte = value);
        }
        for bytes in [&frame[..], &frame[..len.min(frame.len())], &noise] {
            if let Ok((replayed, _)) = replay_one(bytes, len) {
                prop_assert!(replayed.len() >= 60 && replayed.len() >= bytes.len());
            }
        }
    }

    #[test]
    fn no_frame_makes_the_receive_parser_fail(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        offsets in prop::collection::vec(0usize..400, 0..4),
        magic_at in 0usize..300,
        form in prop_oneof![Just(SignatureForm::Payload), Just(SignatureForm::Headers)],
    ) {
        let mut frame = bytes;
        if let Some(bytes) = frame.get_mut(magic_at..magic_at + 4) {
            bytes.copy_from_slice(&Signature::mark(form).word.to_be_bytes());
        }
        if let Some((signature, offset)) = Signature::find(&frame, form, &offsets) {
            let end = if form == SignatureForm::Payload { offset + SIGNATURE_BYTES } else { offset };
            prop_assert!(offsets.contains(&offset) && end <= frame.len());
            prop_assert!(signature.sequence < 1 << 40 && signature.time_ns < 1 << 48);
        }
        for offset in offsets {
            std::hint::black_box(is_intact(&frame, offset));
        }
    }
}
