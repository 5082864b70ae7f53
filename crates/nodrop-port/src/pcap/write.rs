//! Writing pcapng (draft-ietf-opsawg-pcapng).

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Duration;

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};

use super::{FrameDirection, PcapError};

/// if_tsresol: timestamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Lowest bits of epb_flags (section 4.3.1).
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;
/// First byte of if_filter: a filter in libpcap syntax follows (section 4.2).
const FILTER_TEXT: u8 = 0;
const REMEDY: &str = "use a writable path";

/// A frame to write.
#[derive(Clone, Copy, Debug)]
pub struct CaptureFrame<'a> {
    /// Index of the file's interface.
    pub interface: usize,
    /// Direction of the frame.
    pub direction: FrameDirection,
    /// Wall-clock time, in nanoseconds since the epoch.
    pub time_ns: u64,
    /// Length on the wire in bytes, without FCS.
    pub frame_len: usize,
    /// Captured bytes.
    pub bytes: &'a [u8],
}

/// A file open for writing.
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
    /// Create a file with these interfaces, whose frames are stored up to `snap_bytes`.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn create(path: &str, interfaces: &[&str], snap_bytes: u32, filter: Option<&str>) -> Result<Self, PcapError> {
        let failed = |error: std::io::Error| failure(path, &error.to_string());
        let file = File::create(path).map_err(failed)?;
        let writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|error| failure(path, &error.to_string()))?;
        let mut capture = Self { path: path.to_owned(), writer };
        for name in interfaces {
            capture.add_interface(name, snap_bytes, filter)?;
        }
        Ok(capture)
    }

    fn add_interface(&mut self, name: &str, snaplen: u32, filter: Option<&str>) -> Result<(), PcapError> {
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
    /// If the disk is full, or the file cannot be written for another reason.
    pub fn write(&mut self, frame: &CaptureFrame<'_>) -> Result<(), PcapError> {
        let direction = if frame.direction == FrameDirection::Sent { OUTBOUND } else { INBOUND };
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

    /// Flush and close the file.
    ///
    /// # Errors
    /// Same as [`CaptureFile::write`].
    pub fn finish(self) -> Result<(), PcapError> {
        let path = self.path;
        self.writer.into_inner().flush().map_err(|error| failure(&path, &error.to_string()))
    }
}

fn failure(file: &str, detail: &str) -> PcapError {
    PcapError::File { file: file.to_owned(), problem: format!("cannot be written: {detail}"), remedy: REMEDY }
}
