//! Waiting for the first of several descriptors.

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::PortError;

/// Sleep until one of `descriptors` is readable or closed, at most `timeout_ms`.
pub fn until_readable<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>, timeout_ms: i32) {
    let mut polls: Vec<libc::pollfd> = descriptors
        .map(|descriptor| libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // SAFETY: `polls` is a slice of valid pollfds of the given length; their descriptors stay open during the call.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, timeout_ms) };
}

/// Repeated waiting for a fixed set of descriptors; the cost does not depend on their number.
#[derive(Debug)]
pub struct Waiter {
    epoll: OwnedFd,
}

impl Waiter {
    /// Register the descriptors; a descriptor is removed when it is closed.
    ///
    /// # Errors
    /// If the kernel's limits are exceeded.
    pub fn new<'a>(descriptors: impl Iterator<Item = BorrowedFd<'a>>) -> Result<Self, PortError> {
        const REMEDY: &str = "allow more open files (ulimit -n) or watches (sysctl fs.epoll.max_user_watches)";
        // SAFETY: epoll_create1 takes an integer; the result is checked before it becomes an owned descriptor.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(PortError::last_os("ports", "wait for frames", REMEDY));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        for descriptor in descriptors {
            let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
            // SAFETY: `event` is valid for reads for the length of the call, and both descriptors are open.
            let added = unsafe {
                libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor.as_raw_fd(), &raw mut event)
            };
            if added != 0 {
                return Err(PortError::last_os("ports", "wait for frames", REMEDY));
            }
        }
        Ok(Self { epoll })
    }

    /// Sleep until a descriptor is readable or closed, at most `timeout_ms`.
    ///
    /// # Errors
    /// If the wait fails.
    pub fn wait(&self, timeout_ms: i32) -> Result<(), PortError> {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: `event` is valid for writes of one event.
        let result = unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), &raw mut event, 1, timeout_ms) };
        if result < 0 && std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return Err(PortError::last_os("ports", "wait for frames", "run again"));
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn waiting_ends_with_the_first_thing_to_read_or_with_the_time() {
        let (idle, (reader, mut writer)) = (std::io::pipe().unwrap(), std::io::pipe().unwrap());
        let waiter = Waiter::new([idle.0.as_fd(), reader.as_fd()].into_iter()).unwrap();
        let start = Instant::now();
        waiter.wait(20).unwrap();
        assert!(start.elapsed() >= Duration::from_millis(19));
        writer.write_all(b"x").unwrap();
        let start = Instant::now();
        waiter.wait(60_000).unwrap();
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
