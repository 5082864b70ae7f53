//! Frames made by an XDP program inside the kernel and sent from there (Documentation/bpf/bpf_prog_run.rst, live frames).
//!
//! One system call runs the program again and again, each time on a fresh frame: a frame that is not due yet is dropped, one
//! that is due gets its number, time and checksums and is redirected to its interface. No socket buffer is ever made of it,
//! so that on a path without any (XDP, AF_XDP) it costs a third of what it does otherwise.

mod program;
mod report;
mod run;
mod tables;

use crate::af_packet::PacketTx;
use crate::bpf::{LiveRun, Program, ProgramKind, Reg, xdp_action};
use crate::paced::Exit;
use crate::{Fill, PortError, Transmit, host, interface_index};

pub(crate) use run::send;
pub(crate) use tables::refusal;

/// Longest frame: a page, less what the kernel keeps in it.
const FRAME_BYTES_MAX: usize = 3000;
const PROBE_FRAMES: u32 = 64;
/// IEEE 802 local experimental: a frame that nobody takes for his own.
const PROBE_FRAME: [u8; 60] = {
    let mut frame = [0; 60];
    (frame[0], frame[5], frame[6], frame[11]) = (2, 0xfe, 2, 0xfd);
    (frame[12], frame[13]) = (0x88, 0xb5);
    frame
};

/// The sending half of a port: single frames leave through a packet socket, timetables through a program.
#[derive(Debug)]
pub struct LiveTx {
    learning: PacketTx,
    exit: Exit,
}

impl LiveTx {
    /// Open `interface` after trying whether frames get out of it this way.
    ///
    /// # Errors
    /// When they do not, or a capability is missing.
    pub fn open(interface: &str) -> Result<Self, PortError> {
        let exit = Exit { interface_index: interface_index(interface)? as u32 };
        let learning = PacketTx::open(interface)?;
        probe(interface, exit)?;
        Ok(Self { learning, exit })
    }
}

impl Transmit for LiveTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, fill: impl Fill) -> Result<usize, PortError> {
        self.learning.transmit(count, frame_len_max, fill)
    }

    fn paced(&self) -> Option<Exit> {
        Some(self.exit)
    }
}

/// Send a few frames nobody wants and see whether the interface counts them.
fn probe(interface: &str, exit: Exit) -> Result<(), PortError> {
    let before = host::interface_sent(interface);
    let mut code = crate::bpf::Assembler::new();
    code.mov(Reg::R1, exit.interface_index as i32);
    code.mov(Reg::R2, 0);
    code.call(crate::bpf::Helper::Redirect);
    code.exit();
    let program = Program::load(ProgramKind::Xdp, "nodrop_probe", &code.finish()?)?;
    program.run_live(&LiveRun { frame: &PROBE_FRAME, repeat: PROBE_FRAMES, batch: 1 })?;
    let after = host::interface_sent(interface);
    if after.frames - before.frames >= u64::from(PROBE_FRAMES) {
        return Ok(());
    }
    let message =
        "frames from an XDP program do not get out: of a veth pair, the other end has neither an XDP program nor \
         NAPI (`ethtool -K OTHER_END gro on`); other drivers may lack ndo_xdp_xmit; choose af_xdp or af_packet"
            .to_owned();
    Err(PortError::Request { port: interface.to_owned(), message })
}

/// The program's answer for a frame that is not to be sent.
const NOT_SENT: i32 = xdp_action::DROP;
