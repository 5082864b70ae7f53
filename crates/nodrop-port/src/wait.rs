//! Waiting for whichever of several things comes first.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Sleep until one of `descriptors` can be read or has ended, at most `timeout_ms`.
pub fn until_readable<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, timeout_ms: i32) {
    let mut polls: Vec<libc::pollfd> = descriptors
        .map(|descriptor| libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // SAFETY: `polls` is a slice of valid pollfds of the given length, of descriptors that stay open during the call.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) };
}
