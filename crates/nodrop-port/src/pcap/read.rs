//! Reading pcap and pcapng files of Ethernet frames.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, Read, Seek};

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Filter, PcapError};

/// First bytes of a pcapng file: the type of a section header block (section 4.1).
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const REMEDY: &str = "use a pcap or pcapng file of Ethernet frames";

/// A frame of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFrame {
    /// Position in the file, from 1, as other programs number them.
    pub number: u64,
    /// WireInfo length, without FCS.
    pub frame_len: usize,
    /// Captured bytes.
    pub bytes: Vec<u8>,
}

/// Frames of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFrames {
    /// Frames that matched.
    pub frames: Vec<FileFrame>,
    /// Number of frames read.
    pub seen_count: u64,
    /// Whether the limit was reached before the end of the file.
    pub truncated: bool,
}

/// Read the first `count_max` frames that match `filter`.
///
/// # Errors
/// If the file cannot be read, is damaged or no capture file, or has frames other than Ethernet.
pub fn read(path: &str, filter: Option<&Filter>, count_max: usize) -> Result<FileFrames, PcapError> {
    let failed = |error: std::io::Error| failure(path, &error.to_string());
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic).map_err(|_| failure(path, "not a capture file"))?;
    file.rewind().map_err(failed)?;
    let mut collector = FrameCollector { filter, count_max, file_frames: FileFrames::default() };
    let file = BufReader::new(file);
    if magic == PCAPNG_MAGIC {
        read_pcapng(file, path, &mut collector)?
    } else {
        read_pcap(file, path, &mut collector)?
    }
    Ok(collector.file_frames)
}

/// Collects matching frames up to the limit.
struct FrameCollector<'a> {
    filter: Option<&'a Filter>,
    count_max: usize,
    file_frames: FileFrames,
}

impl FrameCollector<'_> {
    /// Add a frame if it matches; return false once the limit is reached.
    fn add(&mut self, bytes: &[u8], frame_len: usize) -> bool {
        if self.file_frames.frames.len() == self.count_max {
            self.file_frames.truncated = true;
            return false;
        }
        self.file_frames.seen_count += 1;
        let frame_len = frame_len.max(bytes.len());
        if self.filter.is_none_or(|filter| filter.matches(bytes, frame_len)) {
            self.file_frames.frames.push(FileFrame {
                number: self.file_frames.seen_count,
                frame_len,
                bytes: bytes.to_vec(),
            });
        }
        true
    }
}

fn read_pcap(file: BufReader<File>, path: &str, collector: &mut FrameCollector<'_>) -> Result<(), PcapError> {
    let mut reader = PcapReader::new(file).map_err(|_| failure(path, "not a capture file"))?;
    require_ethernet(path, reader.header().datalink)?;
    while let Some(packet) = reader.next_raw_packet() {
        let packet = packet.map_err(|error| damaged(path, collector, &error))?;
        if !collector.add(&packet.data, packet.orig_len as usize) {
            break;
        }
    }
    Ok(())
}

fn read_pcapng(file: BufReader<File>, path: &str, collector: &mut FrameCollector<'_>) -> Result<(), PcapError> {
    let mut reader = PcapNgReader::new(file).map_err(|_| failure(path, "not a capture file"))?;
    let mut links: Vec<DataLink> = Vec::new();
    while let Some(block) = reader.next_block() {
        let (interface, bytes, frame_len) = match block.map_err(|error| damaged(path, collector, &error))? {
            Block::SectionHeader(_) => {
                links.clear();
                continue;
            }
            Block::InterfaceDescription(interface) => {
                links.push(interface.linktype);
                continue;
            }
            Block::EnhancedPacket(packet) => (packet.interface_id as usize, packet.data, packet.original_len),
            Block::SimplePacket(packet) => (0, unpadded(packet.data, packet.original_len), packet.original_len),
            Block::Packet(packet) => (usize::from(packet.interface_id), packet.data, packet.original_len),
            _ => continue,
        };
        let link =
            links.get(interface).ok_or_else(|| failure(path, "frames refer to an interface without description"))?;
        require_ethernet(path, *link)?;
        if !collector.add(&bytes, frame_len as usize) {
            break;
        }
    }
    Ok(())
}

/// Remove padding: a simple packet block does not store the captured length, so bytes beyond the frame's length are
/// padding.
fn unpadded(mut data: Cow<'_, [u8]>, frame_len: u32) -> Cow<'_, [u8]> {
    if data.len() > frame_len as usize {
        data.to_mut().truncate(frame_len as usize);
    }
    data
}

fn require_ethernet(path: &str, link: DataLink) -> Result<(), PcapError> {
    if link == DataLink::ETHERNET {
        Ok(())
    } else {
        Err(failure(path, &format!("link type is {link:?}, not Ethernet")))
    }
}

fn damaged(path: &str, collector: &FrameCollector<'_>, error: &pcap_file::PcapError) -> PcapError {
    failure(path, &format!("damaged or truncated after frame {}: {error}", collector.file_frames.seen_count))
}

fn failure(file: &str, problem: &str) -> PcapError {
    PcapError::File { file: file.to_owned(), problem: problem.to_owned(), remedy: REMEDY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcap::{CaptureFile, CaptureFrame, FrameDirection};

    fn scratch(name: &str) -> String {
        let path = std::env::temp_dir().join(format!("nodrop-pcap-{}-{name}", std::process::id()));
        path.to_str().unwrap().to_owned()
    }

    /// Build a pcap file, big-endian and with microseconds, of the given link type.
    fn pcap(link: u32, frames: &[(&[u8], u32)]) -> Vec<u8> {
        let mut file = [0xa1b2_c3d4u32, 0x0002_0004, 0, 0, 65_535, link].map(u32::to_be_bytes).concat();
        for (bytes, frame_len) in frames {
            file.extend([1, 0, bytes.len() as u32, *frame_len].map(u32::to_be_bytes).concat());
            file.extend(*bytes);
        }
        file
    }

    fn read_bytes(name: &str, content: &[u8], count_max: usize) -> Result<FileFrames, PcapError> {
        let path = scratch(name);
        std::fs::write(&path, content).unwrap();
        let frames = read(&path, None, count_max);
        std::fs::remove_file(&path).unwrap();
        frames
    }

    #[test]
    fn what_was_written_is_read_back() {
        let path = scratch("round-trip");
        let mut file = CaptureFile::create(&path, &["a", "b"], 64, Some("udp")).unwrap();
        for (interface, direction) in [(0, FrameDirection::Sent), (1, FrameDirection::Received)] {
            let frame = CaptureFrame {
                interface,
                direction,
                time_ns: 1_800_000_000_123_456_789,
                frame_len: 1514,
                bytes: &[7; 61],
            };
            file.write(&frame).unwrap();
        }
        file.finish().unwrap();
        let frames = read(&path, None, 10).unwrap();
        std::fs::remove_file(&path).unwrap();
        let frame = |number| FileFrame { number, frame_len: 1514, bytes: vec![7; 61] };
        assert_eq!(frames, FileFrames { frames: vec![frame(1), frame(2)], seen_count: 2, truncated: false });
    }

    #[test]
    fn a_pcap_file_is_read_up_to_the_limit() {
        let content = pcap(1, &[(&[1; 60], 60), (&[2; 60], 1514), (&[3; 60], 60)]);
        let result = read_bytes("limit", &content, 2).unwrap();
        assert!(result.truncated);
        assert_eq!(result.frames.iter().map(|frame| frame.frame_len).collect::<Vec<_>>(), [60, 1514]);
        assert!(!read_bytes("all", &content, 3).unwrap().truncated);
    }

    #[test]
    fn a_simple_packet_is_as_long_as_it_says() {
        let block = |kind: u32, body: &[u8]| {
            let length = (12 + body.len() as u32).to_le_bytes();
            [&kind.to_le_bytes(), &length, body, &length].concat()
        };
        let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        let interface = [1, 0, 0, 0, 0, 0, 4, 0];
        let packet = [&61u32.to_le_bytes()[..], &[7; 61], &[0; 3]].concat();
        let file = [block(0x0a0d_0d0a, &section), block(1, &interface), block(3, &packet)].concat();
        let result = read_bytes("simple", &file, 9).unwrap();
        assert_eq!(result.frames, [FileFrame { number: 1, frame_len: 61, bytes: vec![7; 61] }]);
    }

    #[test]
    fn other_links_other_files_and_cut_off_ones_are_refused_by_name() {
        let whole = pcap(1, &[(&[1; 60], 60)]);
        for (name, content, problem) in [
            ("raw", pcap(101, &[]), "not Ethernet"),
            ("text", b"not a capture file at all".to_vec(), "not a capture file"),
            ("empty", vec![], "not a capture file"),
            ("cut", whole[..whole.len() - 1].to_vec(), "damaged or truncated after frame 0"),
        ] {
            let error = read_bytes(name, &content, 9).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(name), "{error}");
        }
    }
}
