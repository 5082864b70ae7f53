//! Assembler with one method per instruction; jumps use labels.

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{Helper, Map};
use crate::PortError;

/// A register: r0 is the result, r1 to r5 are arguments and clobbered by calls, r6 to r9 are callee-saved, r10 is the
/// frame pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Reg {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// Width of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Size {
    /// 32 bits.
    Word = 0x00,
    /// 16 bits.
    Half = 0x08,
    /// 8 bits.
    Byte = 0x10,
    /// 64 bits.
    Double = 0x18,
}

/// Arithmetic on 64 bits: `to = to op operand`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Alu {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Div = 0x30,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Mod = 0x90,
    Xor = 0xa0,
    Mov = 0xb0,
}

/// Condition of a jump: `register condition operand`; unsigned, 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    /// `==`
    Equal = 0x10,
    /// `>`
    Above = 0x20,
    /// `>=`
    AtLeast = 0x30,
    /// `& != 0`
    AnyBit = 0x40,
    /// `!=`
    Differs = 0x50,
    /// `<`
    Below = 0xa0,
    /// `<=`
    AtMost = 0xb0,
}

/// The right-hand side of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A sign-extended constant.
    Constant(i32),
    /// The value of a register.
    Register(Reg),
}

impl From<i32> for Operand {
    fn from(constant: i32) -> Self {
        Self::Constant(constant)
    }
}

impl From<Reg> for Operand {
    fn from(register: Reg) -> Self {
        Self::Register(register)
    }
}

/// One encoded instruction (`struct bpf_insn`; RFC 9669 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Insn {
    code: u8,
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// A jump target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(usize);

const CLASS_LDX: u8 = 0x01;
const CLASS_ST: u8 = 0x02;
const CLASS_STX: u8 = 0x03;
const CLASS_ALU32: u8 = 0x04;
const CLASS_JMP: u8 = 0x05;
const CLASS_ALU64: u8 = 0x07;
const MODE_MEM: u8 = 0x60;
const MODE_ATOMIC: u8 = 0xc0;
const FROM_REGISTER: u8 = 0x08;
const END: u8 = 0xd0;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
const LOAD_64: u8 = 0x18;
/// Sources of a 64-bit load: a number, a map, the first value of an array.
const PSEUDO_NUMBER: u8 = 0;
const PSEUDO_MAP: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

/// A program under construction.
#[derive(Debug, Default)]
pub struct Assembler {
    insns: Vec<Insn>,
    /// Position of each bound label.
    labels: Vec<Option<usize>>,
    /// Jumps and their labels.
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// Create an empty program.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn emit(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) {
        self.insns.push(Insn { code, registers: to | from << 4, offset, immediate });
    }

    /// Create a label to bind later.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Bind the label to the current position.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.insns.len());
    }

    /// `to = operand`.
    pub fn mov(&mut self, to: Reg, operand: impl Into<Operand>) {
        self.alu(Alu::Mov, to, operand);
    }

    /// `to = to op operand`.
    pub fn alu(&mut self, op: Alu, to: Reg, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Constant(constant) => self.emit(CLASS_ALU64 | op as u8, to as u8, 0, 0, constant),
            Operand::Register(from) => self.emit(CLASS_ALU64 | op as u8 | FROM_REGISTER, to as u8, from as u8, 0, 0),
        }
    }

    /// Convert the lower `bits` (16, 32 or 64) of the register between host and network byte order.
    pub fn network_order(&mut self, to: Reg, bits: i32) {
        self.emit(CLASS_ALU32 | END | FROM_REGISTER, to as u8, 0, 0, bits);
    }

    /// `to = *(from + offset)`.
    pub fn load(&mut self, size: Size, to: Reg, from: Reg, offset: i16) {
        self.emit(CLASS_LDX | MODE_MEM | size as u8, to as u8, from as u8, offset, 0);
    }

    /// `*(to + offset) = operand`.
    pub fn store(&mut self, size: Size, to: Reg, offset: i16, operand: impl Into<Operand>) {
        match operand.into() {
            Operand::Constant(constant) => self.emit(CLASS_ST | MODE_MEM | size as u8, to as u8, 0, offset, constant),
            Operand::Register(from) => self.emit(CLASS_STX | MODE_MEM | size as u8, to as u8, from as u8, offset, 0),
        }
    }

    /// `*(to + offset) += from`, atomically across CPUs; 32 or 64 bits.
    pub fn atomic_add(&mut self, size: Size, to: Reg, offset: i16, from: Reg) {
        self.emit(CLASS_STX | MODE_ATOMIC | size as u8, to as u8, from as u8, offset, i32::from(Alu::Add as u8));
    }

    /// `to = number`, with all 64 bits.
    pub fn load_number(&mut self, to: Reg, number: u64) {
        self.load_64(to, PSEUDO_NUMBER, number as i32, (number >> 32) as i32);
    }

    /// `to = map`, as a helper argument. The map must live until the program is loaded.
    pub fn load_map(&mut self, to: Reg, map: &Map) {
        self.load_64(to, PSEUDO_MAP, raw(map.descriptor()), 0);
    }

    /// `to = address` of the byte at `offset` in the first value of an array map.
    pub fn load_map_value(&mut self, to: Reg, map: &Map, offset: i32) {
        self.load_64(to, PSEUDO_MAP_VALUE, raw(map.descriptor()), offset);
    }

    fn load_64(&mut self, to: Reg, source: u8, low: i32, high: i32) {
        self.emit(LOAD_64, to as u8, source, 0, low);
        self.emit(0, 0, 0, 0, high);
    }

    /// Jump to the label.
    pub fn jump(&mut self, label: Label) {
        self.jumps.push((self.insns.len(), label));
        self.emit(CLASS_JMP, 0, 0, 0, 0);
    }

    /// Jump to the label if `register condition operand`.
    pub fn jump_if(&mut self, register: Reg, condition: Condition, operand: impl Into<Operand>, label: Label) {
        self.jumps.push((self.insns.len(), label));
        let code = CLASS_JMP | condition as u8;
        match operand.into() {
            Operand::Constant(constant) => self.emit(code, register as u8, 0, 0, constant),
            Operand::Register(other) => self.emit(code | FROM_REGISTER, register as u8, other as u8, 0, 0),
        }
    }

    /// Call a kernel helper with r1 to r5; the result is in r0.
    pub fn call(&mut self, helper: Helper) {
        self.emit(CLASS_JMP | CALL, 0, 0, 0, helper as i32);
    }

    /// Return r0.
    pub fn exit(&mut self) {
        self.emit(CLASS_JMP | EXIT, 0, 0, 0, 0);
    }

    /// Return a constant.
    pub fn exit_with(&mut self, result: i32) {
        self.mov(Reg::R0, result);
        self.exit();
    }

    /// Resolve all jumps and return the program.
    ///
    /// # Errors
    /// If a label is used but not bound, or is too far from its jump.
    pub fn finish(mut self) -> Result<Vec<Insn>, PortError> {
        for (at, label) in &self.jumps {
            let offset = self.labels[label.0].map(|target| target as i64 - *at as i64 - 1);
            let offset = offset.and_then(|offset| i16::try_from(offset).ok()).ok_or_else(|| PortError::Request {
                port: "BPF program".to_owned(),
                message: format!(
                    "the jump at instruction {at} has no target; bind its label within 32767 instructions"
                ),
            })?;
            self.insns[*at].offset = offset;
        }
        Ok(self.insns)
    }
}

fn raw(descriptor: BorrowedFd<'_>) -> i32 {
    descriptor.as_raw_fd()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// Format instructions by RFC 9669: opcode, registers (source high), offset and constant; codes from its opcode
    /// table.
    fn bytes(insns: &[Insn]) -> Vec<String> {
        insns
            .iter()
            .map(|insn| format!("{:02x} {:02x} {:x} {:x}", insn.code, insn.registers, insn.offset, insn.immediate))
            .collect()
    }

    #[test]
    fn instructions_are_those_of_the_opcode_table() {
        let mut code = Assembler::new();
        code.mov(Reg::R0, 2);
        code.alu(Alu::Add, Reg::R1, Reg::R2);
        code.load(Size::Word, Reg::R3, Reg::R1, 4);
        code.store(Size::Double, Reg::R10, -8, Reg::R3);
        code.store(Size::Half, Reg::R10, -2, 7);
        code.atomic_add(Size::Double, Reg::R1, 0, Reg::R2);
        code.network_order(Reg::R3, 16);
        code.load_number(Reg::R4, 0x1_0000_0002);
        code.call(Helper::KtimeGetNs);
        code.exit();
        assert_eq!(
            bytes(&code.finish().unwrap()),
            [
                "b7 00 0 2",
                "0f 21 0 0",
                "61 13 4 0",
                "7b 3a fff8 0",
                "6a 0a fffe 7",
                "db 21 0 0",
                "dc 03 0 10",
                "18 04 0 2",
                "00 00 0 1",
                "85 00 0 5",
                "95 00 0 0"
            ]
        );
    }

    #[test]
    fn jumps_count_from_the_instruction_behind_them() {
        let mut code = Assembler::new();
        let (back, out) = (code.label(), code.label());
        code.bind(back);
        code.jump_if(Reg::R1, Condition::Equal, 0, out);
        code.jump(back);
        code.bind(out);
        code.exit();
        assert_eq!(bytes(&code.finish().unwrap()), ["15 01 1 0", "05 00 fffe 0", "95 00 0 0"]);
    }

    #[test]
    fn a_label_without_a_place_is_refused() {
        let mut code = Assembler::new();
        let unbound = code.label();
        code.jump(unbound);
        assert!(code.finish().unwrap_err().to_string().contains("bind its label"));
    }
}
