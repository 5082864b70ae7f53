//! A datagram socket to another program, which has the real port: each frame a datagram, both ways.
//!
//! Slow, and for what needs few frames: neighbours asked and paths checked through somebody else's ports.

use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::{Fill, PortError, Receive, Received, Slot, Transmit};

/// Longest frame, without FCS.
const FRAME_LEN_MAX: usize = 9216;
/// How long to wait for room: the other program says by this how fast it can go.
const PATIENCE: Duration = Duration::from_millis(500);

/// The sockets of both halves; their file goes with them.
#[derive(Debug)]
struct Line {
    name: String,
    socket: UnixDatagram,
    file: PathBuf,
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Line {
    /// Without waiting, as nothing does that sends.
    fn receive(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (room, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: `buffer` is valid for writes of its length, and the socket stays open during the call.
        let received = unsafe { libc::recv(self.socket.as_raw_fd(), room, len, libc::MSG_DONTWAIT) };
        usize::try_from(received).map_err(|_| std::io::Error::last_os_error())
    }

    fn failed(&self, asked: &'static str, source: std::io::Error) -> PortError {
        failed(&self.name, asked, source)
    }
}

fn failed(name: &str, asked: &'static str, source: std::io::Error) -> PortError {
    PortError::System { port: name.to_owned(), asked, source, remedy: "the program at its other end has to be there" }
}

/// The sending half.
#[derive(Debug)]
pub struct RelayTx {
    line: Arc<Line>,
    buffer: Vec<u8>,
}

/// The receiving half.
#[derive(Debug)]
pub struct RelayRx {
    line: Arc<Line>,
    buffer: Vec<u8>,
    queue_slots: u32,
}

/// Both halves of a line to the program whose socket is at `path`.
///
/// # Errors
/// When there is no such socket, or none can be made beside it.
pub fn open(path: &str, queue_slots: u32) -> Result<(RelayTx, RelayRx), PortError> {
    let file = PathBuf::from(format!("{path}.engine"));
    let wrong = |asked| move |source| failed(path, asked, source);
    let socket = UnixDatagram::bind(&file).map_err(wrong("make a socket beside it"))?;
    let line = Arc::new(Line { name: path.to_owned(), socket, file });
    line.socket.connect(path).map_err(wrong("connect to it"))?;
    line.socket.set_write_timeout(Some(PATIENCE)).map_err(wrong("wait for room no longer than so long"))?;
    let buffer = || vec![0; FRAME_LEN_MAX];
    Ok((RelayTx { line: line.clone(), buffer: buffer() }, RelayRx { line, buffer: buffer(), queue_slots }))
}

impl Transmit for RelayTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        for position in 0..count {
            let bytes = &mut self.buffer[..frame_len_max];
            let frame_len = fill.fill(position, Slot { bytes, tag: &mut { u32::MAX } });
            match self.line.socket.send(&self.buffer[..frame_len]) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(position);
                }
                Err(error) => return Err(self.line.failed("send a frame", error)),
            }
        }
        Ok(count)
    }
}

impl Receive for RelayRx {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(Received<'_>)) -> Result<usize, PortError> {
        let mut count = 0;
        while count < budget {
            match self.line.receive(&mut self.buffer) {
                Ok(frame_len) => sink(Received { bytes: &self.buffer[..frame_len], time_ns: SystemClock.wall_ns() }),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(self.line.failed("receive a frame", error)),
            }
            count += 1;
        }
        Ok(count)
    }

    /// None: the other program waits for room.
    fn take_drop_count(&mut self) -> Result<u64, PortError> {
        Ok(0)
    }

    fn queue_slots(&self) -> u32 {
        self.queue_slots
    }

    fn stamps_on_arrival(&self) -> bool {
        false
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        Some(self.line.socket.as_fd())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn frames_pass_both_ways_and_the_socket_goes_with_the_port() {
        let path = std::env::temp_dir().join(format!("nodrop-relay-{}", std::process::id()));
        let path = path.to_str().unwrap();
        let other = UnixDatagram::bind(path).unwrap();
        let (mut tx, mut rx) = open(path, 16).unwrap();
        let fill = |position: usize, slot: Slot<'_>| {
            slot.bytes[..3].copy_from_slice(&[1, 2, position as u8]);
            3
        };
        assert_eq!(tx.transmit(2, 60, fill).unwrap(), 2);
        let mut buffer = [0; 64];
        for position in 0..2 {
            assert_eq!(other.recv(&mut buffer).unwrap(), 3);
            assert_eq!(buffer[..3], [1, 2, position]);
        }
        other.send_to(&[9; 70], format!("{path}.engine")).unwrap();
        let mut lengths = Vec::new();
        assert_eq!(rx.receive(8, |frame| lengths.push(frame.bytes.len())).unwrap(), 1);
        assert_eq!(lengths, [70]);
        drop((tx, rx));
        assert!(!PathBuf::from(format!("{path}.engine")).exists());
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_port_with_nobody_at_the_other_end_is_not_opened() {
        let error = open("/nowhere/at/all", 16).unwrap_err().to_string();
        assert!(error.contains("/nowhere/at/all"), "{error}");
    }
}
