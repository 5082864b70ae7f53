//! Benchmark of completing a frame: `cargo run --release -p nodrop-wire --example cost`.
//!
//! Medians of interleaved rounds, over buffers like those of a port; other load on the machine shows as spread.
#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::net::{Ipv4Addr, Ipv6Addr};

use nodrop_model::{
    Ethernet, Field, FieldRange, FieldValues, Ipv4, Ipv6, Layer, SizeShare, StreamSpec, Udp, Vlan, Vxlan,
};
use nodrop_wire::{Frames, Template};

const ROUNDS: usize = 9;
const FRAMES: u64 = 10_000_000;
const BUFFERS: usize = 256;

fn main() {
    let cases = cases();
    let mut costs = vec![Vec::new(); cases.len()];
    for _ in 0..ROUNDS {
        for ((_, spec), costs) in cases.iter().zip(&mut costs) {
            costs.push(cost_ns(&Frames::new(spec).unwrap()));
        }
    }
    println!("ns per frame, median (min to max) of {ROUNDS}");
    for ((name, _), mut costs) in cases.into_iter().zip(costs) {
        costs.sort_by(f64::total_cmp);
        println!("{:6.1} ({:.1} to {:.1})  {name}", costs[ROUNDS / 2], costs[0], costs[ROUNDS - 1]);
    }
}

fn cases() -> Vec<(&'static str, StreamSpec)> {
    let plain = |flow_count| StreamSpec::udp(1, 0, 1, 64, flow_count);
    let million = StreamSpec { ranges: vec![ports(2, 15_625), addresses(1, 64, 15_625)], ..plain(1) };
    let imix = [(64, 7), (594, 4), (1518, 1)].map(|(frame_bytes, weight)| SizeShare { frame_bytes, weight });
    let random = FieldValues::Random { count: 1 << 20, span: 1 << 20, seed: 1 };
    let random = FieldRange { layer: 1, field: Field::Src, values: random, every: 1, period: None };
    let random = StreamSpec { ranges: vec![random], ..plain(1) };
    let tunnel = StreamSpec { layers: tunnel(), ranges: vec![ports(7, 256)], ..plain(1) };
    vec![
        ("UDP/IPv4, one flow", StreamSpec { ranges: vec![], ..plain(1) }),
        ("UDP/IPv4, 256 flows by source port", plain(256)),
        ("UDP/IPv4, 1 million flows by source port and address", million),
        ("UDP/IPv4, 1 million random source addresses", random),
        ("UDP/IPv4, 256 flows, 64/594/1518 bytes", StreamSpec { sizes: imix.to_vec(), ..plain(256) }),
        ("UDP/IPv4/VXLAN/UDP/IPv6/VLAN, 256 flows", StreamSpec { sizes: size(160), ..tunnel }),
    ]
}

fn size(frame_bytes: u16) -> Vec<SizeShare> {
    vec![SizeShare { frame_bytes, weight: 1 }]
}

fn ports(layer: usize, count: u32) -> FieldRange {
    FieldRange {
        layer,
        field: Field::SrcPort,
        values: FieldValues::Increment { count, step: 1 },
        every: 1,
        period: None,
    }
}

fn addresses(layer: usize, count: u32, every: u32) -> FieldRange {
    FieldRange { layer, field: Field::Src, values: FieldValues::Increment { count, step: 1 }, every, period: None }
}

fn tunnel() -> Vec<Layer> {
    let ethernet = Layer::Ethernet(Ethernet { src: "02:00:00:00:00:01".into(), dst: "02:00:00:00:00:02".into() });
    let outer = Ipv6 { src: Ipv6Addr::LOCALHOST, dst: Ipv6Addr::LOCALHOST, dscp: 0, flow_label: 0, hop_limit: 64 };
    let inner = Ipv4 { src: Ipv4Addr::LOCALHOST, dst: Ipv4Addr::LOCALHOST, dscp: 0, ttl: 64 };
    vec![
        ethernet.clone(),
        Layer::Vlan(Vlan { id: 7, ..Vlan::default() }),
        Layer::Ipv6(outer),
        Layer::Udp(Udp { src_port: 49_152, dst_port: 4789 }),
        Layer::Vxlan(Vxlan { vni: 7 }),
        ethernet,
        Layer::Ipv4(inner),
        Layer::Udp(Udp { src_port: 49_152, dst_port: 9 }),
    ]
}

/// Complete frames as a sender does: copy a template only if the buffer held another one.
fn cost_ns(frames: &Frames) -> f64 {
    let mut buffers: Vec<(Vec<u8>, usize)> = vec![(vec![0; frames.frame_len_max()], usize::MAX); BUFFERS];
    let mut states: Vec<_> = frames.templates().iter().map(Template::slot_state).collect();
    let begin = cpu_ns();
    for sequence in 0..FRAMES {
        let (buffer, template_index) = &mut buffers[sequence as usize % BUFFERS];
        let (size, template) = frames.template(sequence);
        let frame = &mut buffer[..template.bytes().len()];
        if *template_index != size {
            frame.copy_from_slice(template.bytes());
            *template_index = size;
        }
        template.complete(&mut states[size], frame, sequence, sequence * 977, 1);
        black_box(frame);
    }
    (cpu_ns() - begin) as f64 / FRAMES as f64
}

/// CPU time of this thread, which excludes other load on the machine (Documentation/scheduler/sched-stats.rst).
fn cpu_ns() -> u64 {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    times.split(' ').next().unwrap().parse().unwrap()
}
