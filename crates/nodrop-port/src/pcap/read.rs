//! Reading pcap and pcapng files of Ethernet frames.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};

use pcap_file::DataLink;
use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Filter, PcapError};

/// First bytes of a pcapng file: the type of a section header block (section 4.1).
const PCAPNG_MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Bit of a pcap file's link type field: the field contains the length of the FCS (draft-ietf-opsawg-pcap section 4).
const FCS_LEN_PRESENT: u32 = 1 << 26;
const REMEDY: &str = "use a pcap or pcapng file of Ethernet frames";

/// A frame of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFrame {
    /// Position in the file, from 1, as other programs number them.
    pub number: u64,
    /// Length on the wire in bytes, without FCS.
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
    /// Frames of links other than Ethernet, which were skipped.
    pub other_link_count: u64,
    /// Whether the file ends within a frame, which was skipped.
    pub cut_off: bool,
    /// Whether the limit was reached before the end of the file.
    pub truncated: bool,
}

/// Read the first `count_max` Ethernet frames that match `filter`, without FCS.
///
/// Frames of other links and a last frame that is cut off are skipped.
///
/// # Errors
/// If the file cannot be read, is damaged or no capture file, or if it has frames, but no whole one of Ethernet.
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
    let file_frames = collector.file_frames;
    if file_frames.cut_off && file_frames.seen_count == 0 {
        return Err(PcapError::File {
            file: path.to_owned(),
            problem: "cut off within its first frame".to_owned(),
            remedy: "use a file with a whole frame",
        });
    }
    Ok(file_frames)
}

/// Link that frames were captured from.
#[derive(Clone, Copy)]
struct Link {
    kind: DataLink,
    /// Length of the FCS at the end of each frame, in bytes.
    fcs_len: usize,
}

impl Link {
    /// Decode the link type field of a pcap file: the type, and the length of the FCS in units of 16 bits.
    fn from_pcap(field: u32) -> Link {
        let fcs_len = if field & FCS_LEN_PRESENT == 0 { 0 } else { 2 * (field >> 28) as usize };
        Link { kind: DataLink::from(field & 0xffff), fcs_len }
    }

    /// Decode an interface of a pcapng file, which states the length of the FCS in bits.
    fn from_pcapng(interface: &InterfaceDescriptionBlock<'_>) -> Link {
        let fcs_len = interface.options.iter().find_map(|option| match option {
            InterfaceDescriptionOption::IfFcsLen(bits) => Some(usize::from(*bits) / 8),
            _ => None,
        });
        Link { kind: interface.linktype, fcs_len: fcs_len.unwrap_or(0) }
    }
}

/// Return the length of the FCS that a packet block states in bytes, in bits 5 to 8 of its flags; None if it does not.
fn stated_fcs_len(packet: &EnhancedPacketBlock<'_>) -> Option<usize> {
    let flags = packet.options.iter().find_map(|option| match option {
        EnhancedPacketOption::Flags(flags) => Some(*flags),
        _ => None,
    })?;
    Some((flags >> 5) as usize & 0xf).filter(|fcs_len| *fcs_len != 0)
}

/// Collects matching frames up to the limit.
struct FrameCollector<'a> {
    filter: Option<&'a Filter>,
    count_max: usize,
    file_frames: FileFrames,
}

impl FrameCollector<'_> {
    /// Add a frame without its FCS, if it matches; return false once the limit is reached.
    fn add(&mut self, link: Link, bytes: &[u8], frame_len: usize) -> bool {
        if self.file_frames.frames.len() == self.count_max {
            self.file_frames.truncated = true;
            return false;
        }
        self.file_frames.seen_count += 1;
        if link.kind != DataLink::ETHERNET {
            self.file_frames.other_link_count += 1;
            return true;
        }
        let frame_len = frame_len.max(bytes.len()).saturating_sub(link.fcs_len);
        let bytes = &bytes[..bytes.len().min(frame_len)];
        if self.filter.is_none_or(|filter| filter.matches(bytes, frame_len)) {
            self.file_frames.frames.push(FileFrame {
                number: self.file_frames.seen_count,
                frame_len,
                bytes: bytes.to_vec(),
            });
        }
        true
    }

    /// Note that the file ends within a frame. Returns the error if it has another cause.
    fn end_early(&mut self, path: &str, error: &pcap_file::PcapError) -> Result<(), PcapError> {
        match error {
            pcap_file::PcapError::IoError(cause) if cause.kind() == ErrorKind::UnexpectedEof => {
                self.file_frames.cut_off = true;
                Ok(())
            }
            _ => Err(failure(path, &format!("damaged after frame {}: {error}", self.file_frames.seen_count))),
        }
    }
}

fn read_pcap(file: BufReader<File>, path: &str, collector: &mut FrameCollector<'_>) -> Result<(), PcapError> {
    let mut reader = PcapReader::new(file).map_err(|_| failure(path, "not a capture file"))?;
    let link = Link::from_pcap(reader.header().datalink.into());
    if link.kind != DataLink::ETHERNET {
        return Err(not_ethernet(path, link));
    }
    while let Some(packet) = reader.next_raw_packet() {
        let packet = match packet {
            Ok(packet) => packet,
            Err(error) => return collector.end_early(path, &error),
        };
        if !collector.add(link, &packet.data, packet.orig_len as usize) {
            break;
        }
    }
    Ok(())
}

fn read_pcapng(file: BufReader<File>, path: &str, collector: &mut FrameCollector<'_>) -> Result<(), PcapError> {
    let mut reader = PcapNgReader::new(file).map_err(|_| failure(path, "not a capture file"))?;
    let mut links: Vec<Link> = Vec::new();
    let mut other_link = None;
    while let Some(block) = reader.next_block() {
        let block = match block {
            Ok(block) => block,
            Err(error) => {
                collector.end_early(path, &error)?;
                break;
            }
        };
        let mut fcs_len = None;
        let (interface, bytes, frame_len) = match block {
            Block::SectionHeader(_) => {
                links.clear();
                continue;
            }
            Block::InterfaceDescription(interface) => {
                links.push(Link::from_pcapng(&interface));
                continue;
            }
            Block::EnhancedPacket(packet) => {
                fcs_len = stated_fcs_len(&packet);
                (packet.interface_id as usize, packet.data, packet.original_len)
            }
            Block::SimplePacket(packet) => (0, unpadded(packet.data, packet.original_len), packet.original_len),
            Block::Packet(packet) => (usize::from(packet.interface_id), packet.data, packet.original_len),
            _ => continue,
        };
        let mut link =
            *links.get(interface).ok_or_else(|| failure(path, "frames refer to an interface without description"))?;
        link.fcs_len = fcs_len.unwrap_or(link.fcs_len);
        if link.kind != DataLink::ETHERNET {
            other_link.get_or_insert(link);
        }
        if !collector.add(link, &bytes, frame_len as usize) {
            break;
        }
    }
    match other_link {
        Some(link) if collector.file_frames.other_link_count == collector.file_frames.seen_count => {
            Err(not_ethernet(path, link))
        }
        _ => Ok(()),
    }
}

/// Remove padding: a simple packet block does not store the captured length, so bytes beyond the frame's length are
/// padding.
fn unpadded(mut data: Cow<'_, [u8]>, frame_len: u32) -> Cow<'_, [u8]> {
    if data.len() > frame_len as usize {
        data.to_mut().truncate(frame_len as usize);
    }
    data
}

fn not_ethernet(path: &str, link: Link) -> PcapError {
    failure(path, &format!("link type is {:?}, not Ethernet", link.kind))
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
        let expected = FileFrames { frames: vec![frame(1), frame(2)], seen_count: 2, ..FileFrames::default() };
        assert_eq!(frames, expected);
    }

    #[test]
    fn a_pcap_file_is_read_up_to_the_limit() {
        let content = pcap(1, &[(&[1; 60], 60), (&[2; 60], 1514), (&[3; 60], 60)]);
        let result = read_bytes("limit", &content, 2).unwrap();
        assert!(result.truncated);
        assert_eq!(result.frames.iter().map(|frame| frame.frame_len).collect::<Vec<_>>(), [60, 1514]);
        assert!(!read_bytes("all", &content, 3).unwrap().truncated);
    }

    /// Build a little-endian block of a pcapng file.
    fn block(kind: u32, body: &[u8]) -> Vec<u8> {
        let length = (12 + body.len() as u32).to_le_bytes();
        [&kind.to_le_bytes(), &length, body, &length].concat()
    }

    /// Build a pcapng file of the given blocks.
    fn pcapng(blocks: &[Vec<u8>]) -> Vec<u8> {
        let section = [&0x1a2b_3c4du32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xff; 8]].concat();
        [block(0x0a0d_0d0a, &section), blocks.concat()].concat()
    }

    /// Build an interface description block with the given options.
    fn interface(link: u8, options: &[u8]) -> Vec<u8> {
        block(1, &[&[link, 0, 0, 0, 0, 0, 4, 0], options].concat())
    }

    /// Build an enhanced packet block of 64 bytes with the given options.
    fn packet(interface: u32, fill: u8, options: &[u8]) -> Vec<u8> {
        let head = [interface, 0, 0, 64, 64].map(u32::to_le_bytes).concat();
        block(6, &[&head, &[fill; 64][..], options].concat())
    }

    #[test]
    fn a_simple_packet_is_as_long_as_it_says() {
        let packet = [&61u32.to_le_bytes()[..], &[7; 61], &[0; 3]].concat();
        let file = pcapng(&[interface(1, &[]), block(3, &packet)]);
        let result = read_bytes("simple", &file, 9).unwrap();
        assert_eq!(result.frames, [FileFrame { number: 1, frame_len: 61, bytes: vec![7; 61] }]);
    }

    #[test]
    fn the_fcs_of_a_pcap_file_is_cut_from_each_frame() {
        for (link, lengths) in [
            (0x2400_0001, [(60, 60), (58, 1514)]),
            (0x1400_0001, [(62, 62), (58, 1516)]),
            (0x2000_0001, [(64, 64), (58, 1518)]), // the length is not stated
        ] {
            let content = pcap(link, &[(&[1; 64], 64), (&[2; 58], 1518)]);
            let frames = read_bytes(&format!("fcs-{link}"), &content, 9).unwrap().frames;
            let found: Vec<_> = frames.iter().map(|frame| (frame.bytes.len(), frame.frame_len)).collect();
            assert_eq!(found, lengths, "{link:#x}");
        }
        assert!(read_bytes("fcs-raw", &pcap(0x2400_0065, &[]), 9).is_err());
    }

    #[test]
    fn a_frame_cut_within_its_fcs_keeps_its_other_bytes() {
        let content = pcap(0x2400_0001, &[(&[1; 62], 64)]);
        let frames = read_bytes("part-fcs", &content, 9).unwrap().frames;
        assert_eq!(frames, [FileFrame { number: 1, frame_len: 60, bytes: vec![1; 60] }]);
    }

    #[test]
    fn the_fcs_of_a_pcapng_file_is_cut_from_each_frame() {
        let fcs_of_32_bits = [13, 0, 1, 0, 32, 0, 0, 0, 0, 0, 0, 0];
        let flags_with_fcs_of_2_bytes = [2, 0, 4, 0, 2 << 5, 0, 0, 0, 0, 0, 0, 0];
        let file = pcapng(&[
            interface(1, &fcs_of_32_bits),
            interface(1, &[]),
            packet(0, 1, &[]),
            packet(0, 2, &flags_with_fcs_of_2_bytes),
            packet(1, 3, &[]),
        ]);
        let frames = read_bytes("fcs-ng", &file, 9).unwrap().frames;
        assert_eq!(frames.iter().map(|frame| frame.frame_len).collect::<Vec<_>>(), [60, 62, 64]);
    }

    #[test]
    fn the_whole_frames_of_a_file_that_is_cut_off_are_read() {
        let bytes: Vec<[u8; 60]> = (0..10).map(|number| [number; 60]).collect();
        let frames: Vec<(&[u8], u32)> = bytes.iter().map(|bytes| (&bytes[..], 60)).collect();
        let whole = pcap(1, &frames);
        assert!(!read_bytes("whole", &whole, 99).unwrap().cut_off);
        for missing in [1, 59, 60, 75] {
            let result = read_bytes("cut-off", &whole[..whole.len() - missing], 99).unwrap();
            assert_eq!((result.frames.len(), result.seen_count, result.cut_off), (9, 9, true), "{missing}");
        }
        let blocks: Vec<_> = [vec![interface(1, &[])], (0..10).map(|number| packet(0, number, &[])).collect()].concat();
        let whole = pcapng(&blocks);
        let result = read_bytes("cut-off-ng", &whole[..whole.len() - 1], 99).unwrap();
        assert_eq!((result.frames.len(), result.seen_count, result.cut_off), (9, 9, true));
    }

    #[test]
    fn frames_of_other_links_are_counted_and_skipped() {
        let (ethernet, raw) = (interface(1, &[]), interface(101, &[]));
        let packets = [packet(1, 1, &[]), packet(0, 2, &[]), packet(1, 3, &[]), packet(0, 4, &[])];
        let file = pcapng(&[vec![ethernet, raw.clone()], packets.to_vec()].concat());
        let result = read_bytes("mixed", &file, 9).unwrap();
        assert_eq!((result.seen_count, result.other_link_count), (4, 2));
        assert_eq!(result.frames.iter().map(|frame| frame.number).collect::<Vec<_>>(), [2, 4]);
        let error = read_bytes("raw-ng", &pcapng(&[raw, packet(0, 1, &[])]), 9).unwrap_err().to_string();
        assert!(error.contains("link type is RAW, not Ethernet"), "{error}");
    }

    #[test]
    fn files_without_a_whole_ethernet_frame_are_refused_by_name() {
        let whole = pcap(1, &[(&[1; 60], 60)]);
        for (name, content, problem) in [
            ("raw", pcap(101, &[]), "not Ethernet"),
            ("text", b"not a capture file at all".to_vec(), "not a capture file"),
            ("empty", vec![], "not a capture file"),
            ("cut", whole[..whole.len() - 1].to_vec(), "cut off within its first frame; use a file with a whole frame"),
        ] {
            let error = read_bytes(name, &content, 9).unwrap_err().to_string();
            assert!(error.contains(problem) && error.contains(name), "{error}");
        }
    }
}
