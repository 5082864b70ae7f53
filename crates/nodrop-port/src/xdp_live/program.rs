//! The XDP program: checks whether a frame is due, writes it, and redirects it.
//!
//! Registers: r6 the frame's context, r7 the lane, r8 the stream, r9 the frame's bytes; the others are scratch.

use super::NOT_SENT;
use super::tables::{
    CELLS, GAPS_AT, HISTOGRAM_NUMBERS, HISTOGRAMS_AT, LANE_NUMBERS, LANES_AT, LANES_MAX, ORDER_AT, ORDER_LEN_MAX,
    SHIFTS, STREAM_NUMBERS, STREAMS_AT, STREAMS_MAX, lane, prefix_bytes, stream,
};
use crate::PortError;
use crate::bpf::{
    Alu, Assembler, Condition, Helper, Label, Map, Program, ProgramKind,
    Reg::{self, R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10},
    Size::{Byte, Double, Half, Word},
};
use crate::timetable::Frame;
use nodrop_model::{ChecksumUpdate, CountingField};

/// Offsets in `struct xdp_md` (linux/bpf.h).
const DATA: i16 = 0;
const DATA_END: i16 = 4;
/// Offsets on the stack.
const ELAPSED: i16 = -8;
const LATENESS: i16 = -16;
const SUMS: i16 = -64;
/// Offsets in the mark.
const TIME_AT: i16 = 6;
const TRIAL_AT: i16 = 12;
const NUMBER_AT: i16 = 14;

/// Build and load the program for frames like this one, sent from `lanes` lanes round robin.
pub(super) fn load(table: &Map, frame: &Frame<'_>, lanes: usize) -> Result<Program, PortError> {
    let mut code = Assembler::new();
    let (not_sent, done) = (code.label(), code.label());
    code.mov(R6, R1);
    next_lane(&mut code, table, lanes);
    check_due(&mut code, not_sent, done);
    next_stream(&mut code, table);
    write_frame(&mut code, frame, not_sent);
    count_frame(&mut code, table);
    code.load(Double, R1, R7, number(lane::INTERFACE));
    code.mov(R2, 0);
    code.call(Helper::Redirect);
    code.exit();
    code.bind(done);
    code.store(Double, R7, number(lane::DONE), 1);
    code.bind(not_sent);
    code.exit_with(NOT_SENT);
    Program::load(ProgramKind::Xdp, "nodrop_live", &code.finish()?)
}

/// Return the offset of a number in its lane or stream.
const fn number(index: usize) -> i16 {
    (index * 8) as i16
}

/// Emit `to = address of entry `index` of equal parts of the table`; `index` is masked to the valid range.
fn entry(code: &mut Assembler, table: &Map, to: Reg, index: Reg, part: (usize, usize, usize)) {
    let (at, count, numbers) = part;
    code.alu(Alu::And, index, count as i32 - 1);
    code.alu(Alu::ShiftLeft, index, (numbers * 8).trailing_zeros() as i32);
    code.load_map_value(to, table, (at * 8) as i32);
    code.alu(Alu::Add, to, index);
}

/// Emit r7 = the next lane, round robin, whether or not it has a due frame.
fn next_lane(code: &mut Assembler, table: &Map, lanes: usize) {
    let wrapped = code.label();
    code.load_map_value(R1, table, 0);
    code.load(Double, R2, R1, 0);
    code.mov(R3, R2);
    code.alu(Alu::Add, R3, 1);
    code.jump_if(R3, Condition::Below, lanes as i32, wrapped);
    code.mov(R3, 0);
    code.bind(wrapped);
    code.store(Double, R1, 0, R3);
    entry(code, table, R7, R2, (LANES_AT, LANES_MAX, LANE_NUMBERS));
}

/// Emit the check for a due frame; continue with the time since the start and the lateness on the stack.
fn check_due(code: &mut Assembler, not_sent: Label, done: Label) {
    code.call(Helper::KtimeGetNs);
    code.load(Double, R1, R7, number(lane::START_NS));
    code.jump_if(R0, Condition::Below, R1, not_sent);
    code.alu(Alu::Sub, R0, R1);
    code.store(Double, R10, ELAPSED, R0);
    note_stall(code);
    next_due(code, done);
    code.load(Double, R2, R7, number(lane::END_NS));
    code.jump_if(R1, Condition::AtLeast, R2, done);
    code.load(Double, R3, R7, number(lane::GRACE_NS));
    code.alu(Alu::Add, R2, R3);
    code.jump_if(R0, Condition::Above, R2, done);
    code.jump_if(R0, Condition::Below, R1, not_sent);
    code.mov(R2, R0);
    code.alu(Alu::Sub, R2, R1);
    code.store(Double, R10, LATENESS, R2);
    code.load(Double, R3, R7, number(lane::CATCH_UP_NS));
    let in_time = code.label();
    code.jump_if(R2, Condition::AtMost, R3, in_time);
    skip_overdue(code);
    next_due(code, done);
    code.jump_if(R0, Condition::Below, R1, not_sent);
    code.mov(R2, R0);
    code.alu(Alu::Sub, R2, R1);
    code.store(Double, R10, LATENESS, R2);
    code.bind(in_time);
}

/// Emit r1 = due time of the next frame, if there is one.
fn next_due(code: &mut Assembler, done: Label) {
    code.load(Double, R1, R7, number(lane::NEXT));
    code.load(Double, R2, R7, number(lane::FRAME_COUNT));
    code.jump_if(R1, Condition::AtLeast, R2, done);
    code.load(Double, R1, R7, number(lane::NEXT_DUE));
    code.alu(Alu::ShiftRight, R1, 16);
}

/// Emit stall detection; r0 is the time since the start.
fn note_stall(code: &mut Assembler) {
    let noted = code.label();
    code.load(Double, R1, R7, number(lane::LAST_POLL_NS));
    code.store(Double, R7, number(lane::LAST_POLL_NS), R0);
    code.mov(R2, R0);
    code.alu(Alu::Sub, R2, R1);
    code.load(Double, R3, R7, number(lane::CATCH_UP_NS));
    code.jump_if(R2, Condition::AtMost, R3, noted);
    code.load(Double, R3, R7, number(lane::STALLS));
    code.alu(Alu::Add, R3, 1);
    code.store(Double, R7, number(lane::STALLS), R3);
    code.load(Double, R3, R7, number(lane::STALL_LONGEST_NS));
    code.jump_if(R2, Condition::AtMost, R3, noted);
    code.store(Double, R7, number(lane::STALL_LONGEST_NS), R2);
    code.store(Double, R7, number(lane::STALL_AT_NS), R1);
    code.bind(noted);
}

/// Emit skipping of frames that are overdue beyond the catch-up limit. r0 is the time since the start, r3 the limit.
fn skip_overdue(code: &mut Assembler) {
    code.mov(R1, R0);
    code.alu(Alu::Sub, R1, R3);
    code.alu(Alu::ShiftLeft, R1, 16);
    code.load(Double, R4, R7, number(lane::INTERVAL));
    code.alu(Alu::Div, R1, R4);
    code.alu(Alu::Add, R1, 1);
    let (within, some) = (code.label(), code.label());
    code.load(Double, R2, R7, number(lane::FRAME_COUNT));
    code.jump_if(R1, Condition::AtMost, R2, within);
    code.mov(R1, R2);
    code.bind(within);
    code.load(Double, R2, R7, number(lane::NEXT));
    code.jump_if(R1, Condition::AtMost, R2, some);
    code.store(Double, R7, number(lane::NEXT), R1);
    code.mov(R3, R1);
    code.alu(Alu::Sub, R3, R2);
    code.load(Double, R5, R7, number(lane::UNSENT));
    code.alu(Alu::Add, R5, R3);
    code.store(Double, R7, number(lane::UNSENT), R5);
    code.alu(Alu::Mul, R1, R4);
    code.store(Double, R7, number(lane::NEXT_DUE), R1);
    code.bind(some);
}

/// Emit r8 = the next stream in the order.
fn next_stream(code: &mut Assembler, table: &Map) {
    let wrapped = code.label();
    code.load(Double, R1, R7, number(lane::ORDER_NEXT));
    code.mov(R2, R1);
    code.alu(Alu::Add, R2, 1);
    code.load(Double, R3, R7, number(lane::ORDER_LEN));
    code.jump_if(R2, Condition::Below, R3, wrapped);
    code.mov(R2, 0);
    code.bind(wrapped);
    code.store(Double, R7, number(lane::ORDER_NEXT), R2);
    code.load(Double, R3, R7, number(lane::ORDER));
    code.alu(Alu::Add, R1, R3);
    entry(code, table, R2, R1, (ORDER_AT, ORDER_LEN_MAX, 1));
    code.load(Double, R1, R2, 0);
    entry(code, table, R8, R1, (STREAMS_AT, STREAMS_MAX, STREAM_NUMBERS));
}

/// Emit all headers each time, because a SUT may have written to the buffer, then the variable fields.
fn write_frame(code: &mut Assembler, frame: &Frame<'_>, not_sent: Label) {
    let prefix = prefix_bytes(frame);
    code.load(Word, R9, R6, DATA);
    code.load(Word, R1, R6, DATA_END);
    code.mov(R2, R9);
    code.alu(Alu::Add, R2, prefix as i32);
    code.jump_if(R2, Condition::Above, R1, not_sent);
    let mut at = 0;
    for (size, bytes) in [(Double, 8), (Word, 4), (Half, 2), (Byte, 1)] {
        while at + bytes <= prefix {
            code.load(size, R1, R8, number(stream::PREFIX) + at as i16);
            code.store(size, R9, at as i16, R1);
            at += bytes;
        }
    }
    for index in 0..frame.program.checksums.len() {
        code.load(Double, R1, R8, number(stream::SUMS + index));
        code.store(Double, R10, SUMS + number(index), R1);
    }
    write_mark(code, frame);
    for (index, field) in frame.program.fields.iter().enumerate() {
        write_field(code, frame, index, field);
    }
    for (index, checksum) in frame.program.checksums.iter().enumerate() {
        write_checksum(code, SUMS + number(index), checksum.at as i16, checksum.zero_is_none);
    }
}

/// Emit addition of r1 to the selected sums; clobbers r2.
fn add_to_sums(code: &mut Assembler, selected: impl Iterator<Item = usize>) {
    for index in selected {
        code.load(Double, R2, R10, SUMS + number(index));
        code.alu(Alu::Add, R2, R1);
        code.store(Double, R10, SUMS + number(index), R2);
    }
}

/// Emit `to = sum of the lower `words` 16-bit words of from`; clobbers `from` and r0.
fn word_sum(code: &mut Assembler, to: Reg, from: Reg, words: usize) {
    code.mov(to, from);
    code.alu(Alu::And, to, 0xffff);
    for _ in 1..words {
        code.alu(Alu::ShiftRight, from, 16);
        code.mov(R0, from);
        code.alu(Alu::And, R0, 0xffff);
        code.alu(Alu::Add, to, R0);
    }
}

/// Emit the mark's time, trial and number.
fn write_mark(code: &mut Assembler, frame: &Frame<'_>) {
    let at = frame.mark_at as i16;
    code.load(Double, R3, R10, ELAPSED);
    code.load(Double, R1, R7, number(lane::WALL_START_NS));
    code.alu(Alu::Add, R3, R1);
    code.alu(Alu::ShiftLeft, R3, 16);
    code.mov(R1, R3);
    code.network_order(R1, 64);
    // Writes two extra bytes, which trial and number then overwrite.
    code.store(Double, R9, at + TIME_AT, R1);
    code.alu(Alu::ShiftRight, R3, 16);
    word_sum(code, R5, R3, 3);
    code.load(Double, R3, R8, number(stream::SENT));
    code.alu(Alu::ShiftLeft, R3, 24);
    code.alu(Alu::ShiftRight, R3, 24);
    code.load(Double, R1, R7, number(lane::TRIAL));
    code.alu(Alu::Or, R3, R1);
    code.mov(R1, R3);
    code.network_order(R1, 32);
    code.store(Word, R9, at + NUMBER_AT, R1);
    code.mov(R1, R3);
    code.alu(Alu::ShiftRight, R1, 32);
    code.network_order(R1, 16);
    code.store(Half, R9, at + TRIAL_AT, R1);
    word_sum(code, R4, R3, 3);
    code.mov(R1, R5);
    code.alu(Alu::Add, R1, R4);
    add_to_sums(code, checksums_where(frame, |checksum| checksum.covers_signature));
}

fn write_field(code: &mut Assembler, frame: &Frame<'_>, index: usize, field: &CountingField) {
    let parameter = |part: usize| number(stream::COUNTERS + index * stream::COUNTER_NUMBERS + part);
    code.load(Double, R3, R8, number(stream::SENT));
    let [first, step, count, every] = [0, 1, 2, 3].map(parameter);
    code.load(Double, R1, R8, every);
    code.alu(Alu::Div, R3, R1);
    code.load(Double, R1, R8, count);
    code.alu(Alu::Mod, R3, R1);
    code.load(Double, R1, R8, step);
    code.alu(Alu::Mul, R3, R1);
    code.load(Double, R1, R8, first);
    code.alu(Alu::Add, R3, R1);
    code.mov(R1, R3);
    code.network_order(R1, 8 * field.width as i32);
    code.store(if field.width == 2 { Half } else { Word }, R9, field.at as i16, R1);
    word_sum(code, R1, R3, field.width / 2);
    add_to_sums(code, checksums_where(frame, |checksum| checksum.covers.contains(&index)));
}

fn checksums_where(frame: &Frame<'_>, covers: impl Fn(&ChecksumUpdate) -> bool) -> impl Iterator<Item = usize> {
    frame.program.checksums.iter().enumerate().filter(move |(_, checksum)| covers(checksum)).map(|(index, _)| index)
}

/// Emit folding, complement and store of a checksum (RFC 1071).
fn write_checksum(code: &mut Assembler, from: i16, at: i16, zero_is_none: bool) {
    code.load(Double, R1, R10, from);
    for _ in 0..3 {
        code.mov(R2, R1);
        code.alu(Alu::ShiftRight, R2, 16);
        code.alu(Alu::And, R1, 0xffff);
        code.alu(Alu::Add, R1, R2);
    }
    code.alu(Alu::Xor, R1, 0xffff);
    if zero_is_none {
        let nonzero = code.label();
        code.jump_if(R1, Condition::Differs, 0, nonzero);
        code.mov(R1, 0xffff);
        code.bind(nonzero);
    }
    code.network_order(R1, 16);
    code.store(Half, R9, at, R1);
}

/// Emit the accounting of a sent frame, and advance to the next one.
fn count_frame(code: &mut Assembler, table: &Map) {
    for (base, index) in [(R8, stream::SENT), (R7, lane::NEXT)] {
        code.load(Double, R1, base, number(index));
        code.alu(Alu::Add, R1, 1);
        code.store(Double, base, number(index), R1);
    }
    code.load(Double, R1, R7, number(lane::NEXT_DUE));
    code.load(Double, R2, R7, number(lane::INTERVAL));
    code.alu(Alu::Add, R1, R2);
    code.store(Double, R7, number(lane::NEXT_DUE), R1);
    code.load(Double, R3, R10, LATENESS);
    let not_latest = code.label();
    code.load(Double, R1, R7, number(lane::LATEST_NS));
    code.jump_if(R3, Condition::AtMost, R1, not_latest);
    code.store(Double, R7, number(lane::LATEST_NS), R3);
    code.bind(not_latest);
    count_in_histogram(code, table, 0);
    code.load(Double, R3, R10, ELAPSED);
    code.load(Double, R1, R7, number(lane::SENT_NS));
    code.store(Double, R7, number(lane::SENT_NS), R3);
    code.alu(Alu::Sub, R3, R1);
    let first = code.label();
    code.jump_if(R1, Condition::Equal, 0, first);
    count_in_histogram(code, table, GAPS_AT);
    code.bind(first);
}

/// Emit the increment of the cell of r3 nanoseconds in the lane's histogram at offset `at`.
fn count_in_histogram(code: &mut Assembler, table: &Map, at: usize) {
    let selected = code.label();
    for (range, shift) in SHIFTS.into_iter().enumerate() {
        let longer = code.label();
        let is_last = range + 1 == SHIFTS.len();
        if !is_last {
            code.jump_if(R3, Condition::AtLeast, (CELLS << shift) as i32, longer);
        }
        code.alu(Alu::ShiftRight, R3, shift as i32);
        if is_last {
            let within = code.label();
            code.jump_if(R3, Condition::Below, CELLS as i32, within);
            code.mov(R3, CELLS as i32 - 1);
            code.bind(within);
        }
        code.alu(Alu::Add, R3, (at + range * CELLS) as i32);
        code.jump(selected);
        code.bind(longer);
    }
    code.bind(selected);
    code.load(Double, R1, R7, number(lane::INDEX));
    entry(code, table, R2, R1, (HISTOGRAMS_AT, LANES_MAX, HISTOGRAM_NUMBERS));
    code.alu(Alu::And, R3, HISTOGRAM_NUMBERS as i32 - 1);
    code.alu(Alu::ShiftLeft, R3, 3);
    code.alu(Alu::Add, R2, R3);
    code.load(Double, R1, R2, 0);
    code.alu(Alu::Add, R1, 1);
    code.store(Double, R2, 0, R1);
}
