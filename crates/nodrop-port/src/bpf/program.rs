//! Programs: loaded, then attached or run.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::assembler::Insn;
use super::syscall::{self, bpf, bpf_error};
use crate::PortError;

/// Type of a program (linux/bpf.h, `enum bpf_prog_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProgramKind {
    /// Runs on arriving frames.
    Xdp = 6,
    /// Runs at a tracepoint, with its raw arguments.
    RawTracepoint = 17,
}

/// A verified program; freed with its last attachment.
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
    license: u64,
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

/// Execute the program's results: frames are really sent (Documentation/bpf/bpf_prog_run.rst).
const LIVE_FRAMES: u32 = 1 << 1;
/// Some helpers are available only to programs under a GPL-compatible license.
const LICENSE: &[u8] = b"Dual MIT/GPL\0";
const LOG_BYTES: usize = 1 << 18;

/// Number and content of the frames of a live run.
#[derive(Clone, Copy, Debug)]
pub struct LiveRun<'a> {
    /// Initial content of each frame; the kernel reuses buffers without rewriting them.
    pub frame: &'a [u8],
    /// Number of program runs.
    pub repeat: u32,
    /// Frames per batch, at most 256.
    pub batch: u32,
}

impl Program {
    /// Load and verify a program; `name` appears in `bpftool prog`.
    ///
    /// # Errors
    /// If the kernel rejects the program; the message ends with the verifier's output.
    pub fn load(kind: ProgramKind, name: &str, insns: &[Insn]) -> Result<Self, PortError> {
        match Self::try_load(kind, name, insns, &mut []) {
            Ok(fd) => Ok(Self { fd, name: name.to_owned() }),
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(bpf_error(name, "load a program", error)),
            Err(first) => {
                let mut log = vec![0; LOG_BYTES];
                let error = Self::try_load(kind, name, insns, &mut log).err().unwrap_or(first);
                Err(Self::rejection_error(name, &error, &log))
            }
        }
    }

    fn try_load(kind: ProgramKind, name: &str, insns: &[Insn], log: &mut [u8]) -> io::Result<OwnedFd> {
        let mut attributes = LoadAttributes {
            kind: kind as u32,
            insn_count: insns.len() as u32,
            insns: insns.as_ptr() as u64,
            license: LICENSE.as_ptr() as u64,
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

    fn rejection_error(name: &str, error: &io::Error, log: &[u8]) -> PortError {
        let text = String::from_utf8_lossy(log);
        let lines: Vec<&str> = text.trim_end_matches('\0').lines().filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n  ");
        PortError::Request {
            port: name.to_owned(),
            message: format!("the kernel rejects the program: {error}\n  {last}"),
        }
    }

    /// Return the descriptor for system calls.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Run the program once on a copy of `frame`; return its result and the resulting frame.
    ///
    /// # Errors
    /// If the kernel rejects the request.
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
        bpf(syscall::TEST_RUN, &mut attributes).map_err(|error| bpf_error(&self.name, "run the program", error))?;
        after.truncate(attributes.data_out_bytes as usize);
        Ok((attributes.answer, after))
    }

    /// Run the program on each frame of a [`LiveRun`], which the kernel processes as if it had arrived. Return when all
    /// frames are processed or a signal arrived.
    ///
    /// # Errors
    /// If the kernel rejects the request.
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
            Err(error) => Err(bpf_error(&self.name, "run the program on live frames", error)),
        }
    }
}
