//! Programs and maps, tested with the kernel's verifier; without the required capabilities the tests print a note and
//! pass.
#![allow(clippy::unwrap_used)]

use nodrop_port::bpf::{Alu, Assembler, Condition, Helper, Map, MapKind, Program, ProgramKind, Reg, Size, xdp_action};
use nodrop_port::{PortError, clock};
use std::sync::atomic::Ordering::Relaxed;

/// Return whether BPF is permitted; a missing capability is a failure only if the lab is required.
fn allowed() -> bool {
    let denied = matches!(Map::create(MapKind::Array, 4, 8, 1), Err(PortError::System { .. }));
    assert!(!denied || std::env::var_os("NODROP_REQUIRE_LAB").is_none(), "BPF is not permitted");
    if denied {
        eprintln!("bpf: not permitted, tests skipped");
    }
    !denied
}

/// Counts frames longer than 20 bytes by their first byte, and stores the time of the last one.
fn counting(counts: &Map, notes: &Map) -> Program {
    let mut code = Assembler::new();
    let (out, missing) = (code.label(), code.label());
    code.load(Size::Word, Reg::R2, Reg::R1, 0);
    code.load(Size::Word, Reg::R3, Reg::R1, 4);
    code.mov(Reg::R4, Reg::R2);
    code.alu(Alu::Add, Reg::R4, 20);
    code.jump_if(Reg::R4, Condition::Above, Reg::R3, out);
    code.load(Size::Byte, Reg::R6, Reg::R2, 0);
    code.store(Size::Word, Reg::R10, -4, Reg::R6);
    code.mov(Reg::R2, Reg::R10);
    code.alu(Alu::Add, Reg::R2, -4);
    code.load_map(Reg::R1, counts);
    code.call(Helper::MapLookup);
    code.jump_if(Reg::R0, Condition::Equal, 0, missing);
    code.mov(Reg::R1, 1);
    code.atomic_add(Size::Double, Reg::R0, 0, Reg::R1);
    code.bind(missing);
    code.call(Helper::KtimeGetNs);
    code.load_map_value(Reg::R1, notes, 8);
    code.store(Size::Double, Reg::R1, 0, Reg::R0);
    code.exit_with(xdp_action::PASS);
    code.bind(out);
    code.exit_with(xdp_action::DROP);
    Program::load(ProgramKind::Xdp, "counting", &code.finish().unwrap()).unwrap()
}

#[test]
fn a_program_counts_in_a_map_and_writes_shared_values() {
    if !allowed() {
        return;
    }
    let counts = Map::create(MapKind::Hash, 4, 8, 16).unwrap();
    counts.update(&7u32.to_ne_bytes(), &0u64.to_ne_bytes()).unwrap();
    let (notes, values) = Map::create_mapped(2).unwrap();
    let program = counting(&counts, &notes);
    let before_ns = clock::Clock::steady_ns(&clock::SystemClock);
    for first in [7, 7, 9] {
        let mut frame = [0; 60];
        frame[0] = first;
        assert_eq!(program.run_once(&frame).unwrap().0, xdp_action::PASS as u32);
    }
    assert_eq!(program.run_once(&[7; 14]).unwrap().0, xdp_action::DROP as u32);
    assert_eq!(counts.entries().unwrap(), [(7u32.to_ne_bytes().to_vec(), 2u64.to_ne_bytes().to_vec())]);
    assert!((before_ns..=clock::Clock::steady_ns(&clock::SystemClock)).contains(&values[1].load(Relaxed)));
    counts.delete(&7u32.to_ne_bytes()).unwrap();
    assert_eq!(counts.lookup(&7u32.to_ne_bytes()).unwrap(), None);
    assert!(counts.update(&[1], &[2]).unwrap_err().to_string().contains("keys of 4 bytes and values of 8 bytes"));
}

#[test]
fn a_refused_program_comes_with_the_verifier_s_words() {
    if !allowed() {
        return;
    }
    let mut code = Assembler::new();
    code.load(Size::Word, Reg::R0, Reg::R9, 0);
    code.exit();
    let error = Program::load(ProgramKind::Xdp, "wrong", &code.finish().unwrap()).unwrap_err().to_string();
    assert!(error.starts_with("wrong: the kernel rejects the program") && error.contains("R9 !read_ok"), "{error}");
}

#[test]
fn a_tracepoint_program_is_attached_and_gone_when_dropped() {
    if !allowed() {
        return;
    }
    let (counts, values) = Map::create_mapped(1).unwrap();
    let mut code = Assembler::new();
    code.load_map_value(Reg::R1, &counts, 0);
    code.mov(Reg::R2, 1);
    code.atomic_add(Size::Double, Reg::R1, 0, Reg::R2);
    code.exit_with(0);
    let program = Program::load(ProgramKind::RawTracepoint, "passing", &code.finish().unwrap()).unwrap();
    let link = program.attach_raw_tracepoint("sys_enter").unwrap();
    for _ in 0..10 {
        std::fs::metadata("/").unwrap();
    }
    drop(link);
    assert!(values[0].load(Relaxed) >= 10);
    assert!(program.attach_raw_tracepoint("no_such_point").is_err());
}
