//! Counters that a process shows to whoever may look into it: a file in memory, found among its open files.
//!
//! It costs the process one write when it has time for it, needs no conversation, and lives exactly as long as the process.

use std::fs::{self, File};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crate::PortError;

/// The file's name among the open files of a process.
const NAME: &std::ffi::CStr = c"nodrop-counters";
const LINK: &str = "/memfd:nodrop-counters";

/// Counters to be shown.
#[derive(Debug)]
pub struct Board {
    file: File,
}

impl Board {
    /// An empty board.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn create() -> Result<Self, PortError> {
        // SAFETY: memfd_create reads a NUL-terminated string that outlives the call.
        let fd = unsafe { libc::memfd_create(NAME.as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(PortError::last_os("counters", "make a file in memory", "free memory or open files"));
        }
        // SAFETY: `fd` was just opened and nobody else owns it.
        Ok(Self { file: File::from(unsafe { OwnedFd::from_raw_fd(fd) }) })
    }

    /// Show these counters, always the same ones in the same order: numbers are padded, so that the file keeps its length.
    ///
    /// # Errors
    /// When the kernel has no memory for it.
    pub fn show<'a>(&self, counters: impl IntoIterator<Item = (&'a str, u64)>) -> Result<(), PortError> {
        let text: String = counters.into_iter().map(|(label, count)| format!("{label} {count:020}\n")).collect();
        self.file.write_all_at(text.as_bytes(), 0).map_err(|source| PortError::System {
            port: "counters".to_owned(),
            asked: "write to a file in memory",
            source,
            remedy: "free memory",
        })
    }
}

/// What process `pid` shows; nothing when it has no board or may not be looked into.
#[must_use]
pub fn read(pid: u32) -> Vec<(String, u64)> {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let is_board =
        |path: &std::path::Path| fs::read_link(path).is_ok_and(|target| target.to_string_lossy().starts_with(LINK));
    let board = files.flatten().map(|file| file.path()).find(|path| is_board(path));
    parse(&board.and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default())
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
        let board = Board::create().unwrap();
        board.show([("port0/received", 7), ("port0/dropped", u64::MAX)]).unwrap();
        board.show([("port0/received", 8), ("port0/dropped", 9)]).unwrap();
        let shown = read(std::process::id());
        assert_eq!(shown, [("port0/received".to_owned(), 8), ("port0/dropped".to_owned(), 9)]);
    }

    #[test]
    fn a_process_that_shows_nothing_or_is_gone_has_no_counters() {
        assert_eq!(read(u32::MAX), []);
    }
}
