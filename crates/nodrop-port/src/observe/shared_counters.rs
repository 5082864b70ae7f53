//! Counters that a process publishes to other processes: a memory file (memfd), found among its open file descriptors.
//!
//! Publishing costs one write, needs no protocol, and the file lives exactly as long as the process.

use std::fs::{self, File};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crate::PortError;

/// Name of the file among the file descriptors of a process.
const NAME: &std::ffi::CStr = c"nodrop-counters";
const LINK: &str = "/memfd:nodrop-counters";

/// Published counters of this process.
#[derive(Debug)]
pub struct SharedCounters {
    file: File,
}

impl SharedCounters {
    /// Create an empty file.
    ///
    /// # Errors
    /// If the kernel cannot allocate memory.
    pub fn create() -> Result<Self, PortError> {
        // SAFETY: memfd_create reads a NUL-terminated string that outlives the call.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(PortError::last_os(
                "counters",
                "create a memory file",
                "free memory, or raise the limit of open files",
            ));
        }
        // SAFETY: `fd` was just opened and has no other owner.
        Ok(Self { file: File::from(unsafe { OwnedFd::from_raw_fd(fd) }) })
    }

    /// Publish these counters, always the same ones in the same order: numbers are padded, so the file's length is
    /// constant.
    ///
    /// # Errors
    /// If the kernel cannot allocate memory.
    pub fn publish<'a>(&self, counters: impl IntoIterator<Item = (&'a str, u64)>) -> Result<(), PortError> {
        let text: String = counters.into_iter().map(|(label, count)| format!("{label} {count:020}\n")).collect();
        self.file.write_all_at(text.as_bytes(), 0).map_err(|source| PortError::System {
            port: "counters".to_owned(),
            action: "write to a memory file",
            source,
            remedy: "free memory",
        })
    }
}

/// Return the counters that process `pid` publishes; empty if it publishes none or access is denied.
#[must_use]
pub fn read(pid: u32) -> Vec<(String, u64)> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let is_counters =
        |path: &std::path::Path| fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with(LINK));
    let path = files.flatten().map(|file| file.path()).find(|path| is_counters(path));
    parse(&path.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default())
}

pub(super) fn parse(text: &str) -> Vec<(String, u64)> {
    let lines = text.lines().filter_map(|line| line.rsplit_once(' '));
    lines.filter_map(|(label, count)| Some((label.to_owned(), count.parse().ok()?))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_last_showed_can_be_read_from_outside() {
        let counters = SharedCounters::create().unwrap();
        counters.publish([("port0/received", 7), ("port0/dropped", u64::MAX)]).unwrap();
        counters.publish([("port0/received", 8), ("port0/dropped", 9)]).unwrap();
        let published = read(std::process::id());
        assert_eq!(published, [("port0/received".to_owned(), 8), ("port0/dropped".to_owned(), 9)]);
    }

    #[test]
    fn a_process_that_shows_nothing_or_is_gone_has_no_counters() {
        assert_eq!(read(u32::MAX), []);
    }
}
