//! Capture files with arbitrary content, read as pcap or pcapng.
#![no_main]

use std::cell::OnceCell;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;

use libfuzzer_sys::fuzz_target;
use nodrop_port::pcap;

const FRAMES_MAX: usize = 64;

thread_local! {
    static IN_MEMORY: OnceCell<File> = const { OnceCell::new() };
}

fn memory_file() -> File {
    // SAFETY: memfd_create reads a NUL-terminated string; the descriptor has no other owner, and is checked.
    unsafe {
        let fd = libc::memfd_create(c"capture".as_ptr(), libc::MFD_CLOEXEC);
        assert!(fd >= 0, "memfd_create failed");
        File::from_raw_fd(fd)
    }
}

fuzz_target!(init: nodrop_fuzz::keep_overflows(), |content: &[u8]| {
    IN_MEMORY.with(|file| {
        let file = file.get_or_init(memory_file);
        file.set_len(0).expect("an empty file");
        file.write_all_at(content, 0).expect("room in memory");
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let Ok(frames) = pcap::read(&path, None, FRAMES_MAX) else { return };
        assert!(frames.frames.len() <= FRAMES_MAX);
        assert!(frames.frames.iter().all(|frame| frame.bytes.len() <= frame.frame_len));
    });
});
