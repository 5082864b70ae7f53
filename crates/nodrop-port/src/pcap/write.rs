//! Writing pcapng (draft-ietf-opsawg-pcapng).

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

use super::{PcapError, Way};

/// if_tsresol: time stamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Lowest bits of epb_flags (section 4.3.1).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// First byte of if_filter: a text in libpcap's syntax follows (section 4.2).
const FILTER_TEXT: u8 = 0;
const REMEDY: &str = "name a file that can be written";

/// A frame as it goes into the file.
#[derive(Clone, Copy, Debug)]
pub struct CaptureFrame<'a> {
    /// Which of the file's interfaces it was seen on.
    pub interface: usize,
    /// Which way it went.
    pub way: Way,
    /// Wall-clock time, nanoseconds since the epoch.
    pub time_ns: u64,
    /// Its length, without FCS.
    pub frame_len: usize,
    /// What was kept of it.
    pub bytes: &'a [u8],
}

/// A file being written.
pub struct CaptureFile {
    path: String,
    writer: PcapNgWriter<BufWriter<File>>,
}

impl std::fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl CaptureFile {
    /// Begin a file that knows of these interfaces, whose frames are kept up to `snap_bytes`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn create(path: &str, interfaces: &[&str], snap_bytes: u32, filter: Option<&str>) -> Result<Self, PcapError> {
        let failed = |error: std::io::Error| failure(path, &error.to_string());
        let file = File::create(path).map_err(failed)?;
        let writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failure(path, &error.to_string()))?;
        let mut capture = Self { path: path.to_owned(), writer };
        for name in interfaces {
            capture.describe(name, snap_bytes, filter)?;
        }
        Ok(capture)
    }

    fn describe(&mut self, name: &str, snaplen: u32, filter: Option<&str>) -> Result<(), PcapError> {
        let mut options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        if let Some(filter) = filter {
            let text: Vec<u8> = std::iter::once(FILTER_TEXT).chain(filter.bytes()).collect();
            options.push(InterfaceDescriptionOption::IfFilter(Cow::Owned(text)));
        }
        let block = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen, options };
        self.writer.write_pcapng_block(block).map_err(|error| failure(&self.path, &error.to_string()))?;
        Ok(())
    }

    /// Append a frame.
    ///
    /// # Errors
    /// When the disk is full, or it cannot be written for another reason.
    pub fn write(&mut self, frame: &CaptureFrame<'_>) -> Result<(), PcapError> {
        let direction = if frame.way == Way::Sent { OUTBOUND } else { INBOUND };
        let block = EnhancedPacketBlock {
            interface_id: frame.interface as u32,
            timestamp: Duration::from_nanos(frame.time_ns),
            original_len: frame.frame_len as u32,
            data: Cow::Borrowed(frame.bytes),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        self.writer.write_pcapng_block(block).map_err(|error| failure(&self.path, &error.to_string()))?;
        Ok(())
    }

    /// All of it to the file.
    ///
    /// # Errors
    /// As [`CaptureFile::write`].
    pub fn finish(self) -> Result<(), PcapError> {
        let path = self.path;
        self.writer.into_inner().flush().map_err(|error| failure(&path, &error.to_string()))
    }
}

fn failure(file: &str, found: &str) -> PcapError {
    PcapError::File { file: file.to_owned(), found: format!("it cannot be written: {found}"), remedy: REMEDY }
}
