//! Programs: loaded, then attached or run.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::assembler::Insn;
use super::syscall::{self, bpf, refused};
use crate::PortError;

/// What a program is for (linux/bpf.h, `enum bpf_prog_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    /// Frames as they arrive.
    Xdp = 6,
    /// Passing a tracepoint, with its raw arguments.
    RawTracepoint = 17,
}

/// A verified program, gone with its last attachment.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    name: String,
}

#[repr(C)]
struct LoadAttributes {
    kind: u32,
    insn_count: u32,
    insns: u64,
    licence: u64,
    log_level: u32,
    log_bytes: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; 16],
    interface: u32,
    attach_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct TestRunAttributes {
    program: u32,
    answer: u32,
    data_in_bytes: u32,
    data_out_bytes: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    context_in_bytes: u32,
    context_out_bytes: u32,
    context_in: u64,
    context_out: u64,
    flags: u32,
    cpu: u32,
    batch: u32,
    unused: u32,
}

/// The answers are carried out: frames really leave (Documentation/bpf/bpf_prog_run.rst).
const LIVE_FRAMES: u32 = 1 << 1;
/// Helpers of programs under a GPL-compatible licence: some functions are for them only.
const LICENCE: &[u8] = b"Dual MIT/GPL\0";
const LOG_BYTES: usize = 1 << 18;

/// How many frames a live run makes, and of what.
#[derive(Clone, Copy, Debug)]
pub struct LiveRun<'a> {
    /// What each frame holds before the program first sees it; the kernel uses buffers again without rewriting them.
    pub frame: &'a [u8],
    /// Program runs.
    pub repeat: u32,
    /// Frames handed over together, at most 256.
    pub batch: u32,
}

impl Program {
    /// Have the kernel verify and take a program; `name` is what `bpftool prog` shows of it.
    ///
    /// # Errors
    /// When it is refused; the message ends with what the verifier said.
    pub fn load(kind: ProgramKind, name: &str, insns: &[Insn]) -> Result<Self, PortError> {
        match Self::try_load(kind, name, insns, &mut []) {
            Ok(fd) => Ok(Self { fd, name: name.to_owned() }),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(refused(name, "load a program", error)),
            Err(first) => {
                let mut log = vec![0; LOG_BYTES];
                let error = Self::try_load(kind, name, insns, &mut log).err().unwrap_or(first);
                Err(Self::rejected(name, &error, &log))
            }
        }
    }

    fn try_load(kind: ProgramKind, name: &str, insns: &[Insn], log: &mut [u8]) -> io::Result<OwnedFd> {
        let mut attributes = LoadAttributes {
            kind: kind as u32,
            insn_count: insns.len() as u32,
            insns: insns.as_ptr() as u64,
            licence: LICENCE.as_ptr() as u64,
            log_level: u32::from(!log.is_empty()),
            log_bytes: log.len() as u32,
            log: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
            kernel_version: 0,
            flags: 0,
            name: [0; 16],
            interface: 0,
            attach_type: 0,
        };
        for (to, from) in attributes.name.iter_mut().take(15).zip(name.bytes()) {
            *to = from;
        }
        syscall::open(syscall::PROGRAM_LOAD, &mut attributes)
    }

    fn rejected(name: &str, error: &io::Error, log: &[u8]) -> PortError {
        let text = String::from_utf8_lossy(log);
        let lines: Vec<&str> = text.trim_end_matches('\0').lines().filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n  ");
        PortError::Request {
            port: name.to_owned(),
            message: format!("the kernel refuses the program: {error}\n  {last}"),
        }
    }

    /// For system calls that name the program.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Run once on a frame of its own; gives the program's answer and the frame afterwards.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run_once(&self, frame: &[u8]) -> Result<(u32, Vec<u8>), PortError> {
        let mut after = vec![0; frame.len() + 256];
        let mut attributes = TestRunAttributes {
            program: self.fd.as_raw_fd() as u32,
            data_in_bytes: frame.len() as u32,
            data_in: frame.as_ptr() as u64,
            data_out_bytes: after.len() as u32,
            data_out: after.as_mut_ptr() as u64,
            repeat: 1,
            ..TestRunAttributes::default()
        };
        bpf(syscall::TEST_RUN, &mut attributes).map_err(|error| refused(&self.name, "run the program", error))?;
        after.truncate(attributes.data_out_bytes as usize);
        Ok((attributes.answer, after))
    }

    /// Run for every frame of a [`LiveRun`], which the kernel carries out as if they had arrived. Returns when all are
    /// through, or a signal came.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn run_live(&self, run: &LiveRun<'_>) -> Result<(), PortError> {
        let mut attributes = TestRunAttributes {
            program: self.fd.as_raw_fd() as u32,
            data_in_bytes: run.frame.len() as u32,
            data_in: run.frame.as_ptr() as u64,
            repeat: run.repeat,
            flags: LIVE_FRAMES,
            batch: run.batch,
            ..TestRunAttributes::default()
        };
        match bpf(syscall::TEST_RUN, &mut attributes) {
            Ok(_) => Ok(()),
            Err(error) if error.raw_os_error() == Some(libc::EINTR) => Ok(()),
            Err(error) => Err(refused(&self.name, "run the program on live frames", error)),
        }
    }
}
