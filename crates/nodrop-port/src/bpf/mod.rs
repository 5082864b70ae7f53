//! eBPF without a compiler: an assembler, maps, loading, attaching (Documentation/bpf/, RFC 9669, bpf(2)).
//!
//! Nothing is pinned: maps, programs and attachments end with the values that own them, and at the latest when the
//! process exits.

mod assembler;
mod helper;
mod link;
mod map;
mod program;
mod syscall;

pub use assembler::{Alu, Assembler, Condition, Insn, Label, Operand, Reg, Size};
pub use helper::Helper;
pub use link::{Link, XdpMode};
pub use map::{Entry, Map, MapKind, SharedValues};
pub use program::{LiveRun, Program, ProgramKind};

/// Results of an XDP program (linux/bpf.h, `enum xdp_action`).
pub mod xdp_action {
    /// Drop the frame.
    pub const DROP: i32 = 1;
    /// Pass the frame to the kernel.
    pub const PASS: i32 = 2;
    /// Redirect the frame as the redirect helper specified.
    pub const REDIRECT: i32 = 4;
}
