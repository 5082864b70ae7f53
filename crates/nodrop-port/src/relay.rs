//! A datagram socket to another program that owns the port: one datagram per frame, in both directions.
//!
//! Slow; for uses with few frames: address resolution and path checks through another generator's ports.

use std::io::ErrorKind;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Clock, SystemClock};
use crate::{Fill, PortError, Receive, ReceivedFrame, Slot, Transmit};

/// Longest frame, without FCS.
const FRAME_LEN_MAX: usize = 9216;
/// Send timeout; back-pressure from the other program.
const SEND_TIMEOUT: Duration = Duration::from_millis(500);

/// The socket shared by both halves; its file is removed on drop.
#[derive(Debug)]
struct RelaySocket {
    name: String,
    socket: UnixDatagram,
    file: PathBuf,
}

impl Drop for RelaySocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl RelaySocket {
    /// Receive a datagram without blocking; only sends may block.
    fn receive(&self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let (start, len) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: `buffer` is valid for writes of its length, and the socket stays open during the call.
        let received = unsafe { libc::recv(self.socket.as_raw_fd(), start, len, libc::MSG_DONTWAIT) };
        usize::try_from(received).map_err(|_| std::io::Error::last_os_error())
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> PortError {
        failed(&self.name, action, source)
    }
}

fn failed(name: &str, action: &'static str, source: std::io::Error) -> PortError {
    PortError::System {
        port: name.to_owned(),
        action,
        source,
        remedy: "the program that owns the port must be running",
    }
}

/// The sending half.
#[derive(Debug)]
pub struct RelayTx {
    shared: Arc<RelaySocket>,
    buffer: Vec<u8>,
}

/// The receiving half.
#[derive(Debug)]
pub struct RelayRx {
    shared: Arc<RelaySocket>,
    buffer: Vec<u8>,
    queue_slots: u32,
}

/// Open both halves of a relay to the program whose socket is at `path`.
///
/// # Errors
/// If the socket does not exist, or none can be created next to it.
pub fn open(path: &str, queue_slots: u32) -> Result<(RelayTx, RelayRx), PortError> {
    let file = PathBuf::from(format!("{path}.engine"));
    let error = |action| move |source| failed(path, action, source);
    let socket = UnixDatagram::bind(&file).map_err(error("create a socket next to it"))?;
    let shared = Arc::new(RelaySocket { name: path.to_owned(), socket, file });
    shared.socket.connect(path).map_err(error("connect to it"))?;
    shared.socket.set_write_timeout(Some(SEND_TIMEOUT)).map_err(error("set the send timeout"))?;
    let buffer = || vec![0; FRAME_LEN_MAX];
    Ok((RelayTx { shared: shared.clone(), buffer: buffer() }, RelayRx { shared, buffer: buffer(), queue_slots }))
}

impl Transmit for RelayTx {
    fn transmit(&mut self, count: usize, frame_len_max: usize, mut fill: impl Fill) -> Result<usize, PortError> {
        for position in 0..count {
            let bytes = &mut self.buffer[..frame_len_max];
            let frame_len = fill.fill(position, Slot { bytes, tag: &mut { u32::MAX } });
            match self.shared.socket.send(&self.buffer[..frame_len]) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Ok(position);
                }
                Err(error) => return Err(self.shared.failed("send a frame", error)),
            }
        }
        Ok(count)
    }
}

impl Receive for RelayRx {
    fn receive(&mut self, budget: usize, mut sink: impl FnMut(ReceivedFrame<'_>)) -> Result<usize, PortError> {
        let mut count = 0;
        while count < budget {
            match self.shared.receive(&mut self.buffer) {
                Ok(frame_len) => {
                    sink(ReceivedFrame { bytes: &self.buffer[..frame_len], time_ns: SystemClock.wall_ns() })
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(self.shared.failed("receive a frame", error)),
            }
            count += 1;
        }
        Ok(count)
    }

    /// Return 0: back-pressure prevents drops.
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
        Some(self.shared.socket.as_fd())
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
