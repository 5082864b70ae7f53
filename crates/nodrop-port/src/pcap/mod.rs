//! Capture files: written as pcapng, read as pcap or pcapng, frames chosen by a filter in the syntax of pcap-filter(7).

mod filter;
mod read;
mod write;

pub use filter::Filter;
pub use read::{FileFrame, FileFrames, read};
pub use write::{CaptureFile, CaptureFrame};

/// The way a frame went, seen from the tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// It arrived.
    Received,
    /// It left.
    Sent,
}

/// What is wrong with a capture file or a filter.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// libpcap is not there.
    #[error("{filter:?} asked, filters need libpcap, which is not installed ({found}); apt-get install libpcap0.8")]
    NoLibrary {
        /// The filter.
        filter: String,
        /// What the dynamic linker said.
        found: String,
    },
    /// libpcap does not understand the filter.
    #[error(
        "{filter:?} asked, libpcap finds: {found}; write it as for tcpdump, for example udp port 53 (pcap-filter(7))"
    )]
    Filter {
        /// The filter.
        filter: String,
        /// What libpcap said.
        found: String,
    },
    /// The file cannot be read or written.
    #[error("{file} asked, {found}; {remedy}")]
    File {
        /// Its path.
        file: String,
        /// What is wrong.
        found: String,
        /// What to do.
        remedy: &'static str,
    },
}
