//! Waiting for several ports at once.

use super::ring::PacketRx;

/// Sleep until one of the ports has a frame, at most `timeout_ms`.
pub fn wait_any(ports: [&PacketRx; 2], timeout_ms: i32) {
    let mut polls = ports.map(|port| libc::pollfd { fd: port.descriptor(), events: libc::POLLIN, revents: 0 });
    // SAFETY: `polls` is an array of valid pollfds of the given length.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) };
}
