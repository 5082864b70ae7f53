//! Capture files: written as pcapng, read as pcap or pcapng, with filters in the syntax of pcap-filter(7).

mod filter;
mod read;
mod write;

pub use filter::Filter;
pub use read::{FileFrame, FileFrames, read};
pub use write::{CaptureFile, CaptureFrame};

/// Direction of a frame, seen from the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameDirection {
    /// Received by the tester.
    Received,
    /// Sent by the tester.
    Sent,
}

/// Errors of capture files and filters.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// libpcap is not installed.
    #[error("filter {filter:?}: filters need libpcap, which is not installed ({detail}); apt-get install libpcap0.8")]
    NoLibrary {
        /// Filter.
        filter: String,
        /// Error of the dynamic linker.
        detail: String,
    },
    /// libpcap rejects the filter.
    #[error("filter {filter:?}: libpcap rejects it: {detail}; use tcpdump syntax, e.g. udp port 53 (pcap-filter(7))")]
    Filter {
        /// Filter.
        filter: String,
        /// Error of libpcap.
        detail: String,
    },
    /// The file cannot be read or written.
    #[error("{file}: {problem}; {remedy}")]
    File {
        /// Path.
        file: String,
        /// Problem.
        problem: String,
        /// Suggested fix.
        remedy: &'static str,
    },
}
