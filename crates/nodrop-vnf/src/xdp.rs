//! A cross-connect in the drivers: an XDP program on each port rewrites the MAC addresses and sends the frame through
//! the other port (bpf-helpers(7), `bpf_redirect`).
//!
//! No user-space thread forwards, and the kernel counts: drops appear in the drivers' statistics.

use nodrop_port::bpf::{
    Alu, Assembler, Condition, Helper, Insn, Link, Program, ProgramKind, Reg, Size, XdpMode, xdp_action,
};
use nodrop_port::{PortError, interface_index};
use nodrop_wire::MacAddr;

/// Two interfaces, connected until dropped.
#[derive(Debug)]
pub struct Redirect {
    _links: [Link; 2],
}

/// An interface, and the addresses to write to frames that leave it.
#[derive(Clone, Debug)]
pub struct RedirectPort {
    /// Interface name.
    pub interface: String,
    /// Destination address.
    pub peer: MacAddr,
    /// Source address.
    pub own: MacAddr,
}

impl Redirect {
    /// Connect two interfaces.
    ///
    /// # Errors
    /// If an interface does not exist, its driver does not support XDP, or a capability is missing.
    pub fn connect(left: &RedirectPort, right: &RedirectPort) -> Result<Self, PortError> {
        Ok(Self { _links: [attach(left, right)?, attach(right, left)?] })
    }
}

fn attach(from: &RedirectPort, to: &RedirectPort) -> Result<Link, PortError> {
    let code = redirect_to(to, interface_index(&to.interface)?)?;
    Program::load(ProgramKind::Xdp, "nodrop_redirect", &code)?.attach_xdp(&from.interface, XdpMode::Native)
}

fn redirect_to(to: &RedirectPort, index: i32) -> Result<Vec<Insn>, PortError> {
    const DATA: i16 = 0;
    const DATA_END: i16 = 4;
    let addresses = [to.peer.0, to.own.0].concat();
    let mut code = Assembler::new();
    let short = code.label();
    code.load(Size::Word, Reg::R2, Reg::R1, DATA);
    code.load(Size::Word, Reg::R3, Reg::R1, DATA_END);
    code.mov(Reg::R4, Reg::R2);
    code.alu(Alu::Add, Reg::R4, 14);
    code.jump_if(Reg::R4, Condition::Above, Reg::R3, short);
    for (word, at) in addresses.chunks_exact(4).zip((0..).step_by(4)) {
        let bytes = [word[0], word[1], word[2], word[3]];
        code.store(Size::Word, Reg::R2, at, i32::from_ne_bytes(bytes));
    }
    code.mov(Reg::R1, index);
    code.mov(Reg::R2, 0);
    code.call(Helper::Redirect);
    code.exit();
    code.bind(short);
    code.exit_with(xdp_action::DROP);
    code.finish()
}
