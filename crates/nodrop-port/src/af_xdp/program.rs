//! The XDP program that runs for every arriving frame: selects test frames, timestamps them, and redirects them to a
//! socket.

use super::FrameSelection;
use crate::bpf::{
    Alu, Assembler, Condition, Helper, Label, Map, Program, ProgramKind,
    Reg::{R0, R1, R2, R3, R6, R7, R8, R9},
    Size, xdp_action,
};
use crate::{PortError, SNAP_BYTES};

/// Length of the arrival time, which is stored as metadata in front of the frame.
pub(super) const STAMP_BYTES: usize = 8;

/// Offsets in `struct xdp_md` (linux/bpf.h).
const DATA: i16 = 0;
const DATA_END: i16 = 4;
const DATA_META: i16 = 8;
const RX_QUEUE: i16 = 16;

/// Load the receive program; `sockets` has one entry per queue.
pub(super) fn load(sockets: &Map, selection: &FrameSelection) -> Result<Program, PortError> {
    let mut code = Assembler::new();
    let (pass, unstamped) = (code.label(), code.label());
    if matches!(selection, FrameSelection::Marked { offsets, .. } if offsets.is_empty()) {
        code.exit_with(xdp_action::PASS);
        return Program::load(ProgramKind::Xdp, "nodrop_receive", &code.finish()?);
    }
    code.mov(R6, R1);
    if let FrameSelection::Marked { magic, offsets } = selection {
        pass_unmarked(&mut code, *magic, offsets, pass);
        truncate(&mut code);
    }
    stamp(&mut code, unstamped);
    code.bind(unstamped);
    code.load_map(R1, sockets);
    code.load(Size::Word, R2, R6, RX_QUEUE);
    code.mov(R3, xdp_action::PASS);
    code.call(Helper::RedirectMap);
    code.exit();
    if matches!(selection, FrameSelection::Marked { .. }) {
        // The verifier rejects unreachable code.
        code.bind(pass);
        code.exit_with(xdp_action::PASS);
    }
    Program::load(ProgramKind::Xdp, "nodrop_receive", &code.finish()?)
}

/// Pass all frames without the mark to the kernel.
fn pass_unmarked(code: &mut Assembler, magic: u32, offsets: &[usize], pass: Label) {
    let marked = code.label();
    code.load(Size::Word, R7, R6, DATA);
    code.load(Size::Word, R8, R6, DATA_END);
    // The word as this machine loads it from network order.
    code.load_number(R9, u64::from(u32::from_ne_bytes(magic.to_be_bytes())));
    for offset in offsets {
        let next = code.label();
        code.mov(R2, R7);
        code.alu(Alu::Add, R2, *offset as i32 + 4);
        code.jump_if(R2, Condition::Above, R8, next);
        code.load(Size::Word, R3, R7, *offset as i16);
        code.jump_if(R3, Condition::Equal, R9, marked);
        code.bind(next);
    }
    code.jump(pass);
    code.bind(marked);
}

/// Truncate the frame: only its start is read, so the rest need not be copied.
fn truncate(code: &mut Assembler) {
    let short = code.label();
    code.mov(R2, SNAP_BYTES as i32);
    code.alu(Alu::Add, R2, R7);
    code.alu(Alu::Sub, R2, R8);
    code.mov(R3, R7);
    code.alu(Alu::Add, R3, SNAP_BYTES as i32);
    code.jump_if(R3, Condition::AtLeast, R8, short);
    code.mov(R1, R6);
    code.call(Helper::XdpAdjustTail);
    code.bind(short);
}

/// Store the time in front of the frame; if the driver has no headroom for metadata, the reader uses its own time.
fn stamp(code: &mut Assembler, unstamped: Label) {
    code.mov(R1, R6);
    code.mov(R2, -(STAMP_BYTES as i32));
    code.call(Helper::XdpAdjustMeta);
    code.jump_if(R0, Condition::Differs, 0, unstamped);
    code.call(Helper::KtimeGetNs);
    code.load(Size::Word, R2, R6, DATA_META);
    code.load(Size::Word, R3, R6, DATA);
    code.mov(R1, R2);
    code.alu(Alu::Add, R1, STAMP_BYTES as i32);
    code.jump_if(R1, Condition::Above, R3, unstamped);
    code.store(Size::Double, R2, 0, R0);
}
