//! Frames of a capture file as templates: unchanged except for the signature behind the headers and the fields that
//! depend on it.

mod parse;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nodrop_model::{Layer, SizeShare, StreamSpec};

use crate::signature::{SIGNATURE_BYTES, Signature};
use crate::stack::{LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES, seal};
use crate::{FCS_BYTES, Frames, MacAddr, Template, WireError};
use parse::{LengthField, ParsedFrame};

/// Maximum number of frames of a file.
pub const REPLAY_FRAMES_MAX: usize = 1 << 16;
/// Maximum number of distinct signature offsets, because a receiver has to check each of them.
const OFFSETS_MAX: usize = 32;
/// Maximum offset of a signature.
const OFFSET_MAX: usize = 1024;
const ADDRESS_BYTES: usize = 6;

/// A frame of a capture file.
#[derive(Clone, Copy, Debug)]
pub struct SourceFrame<'a> {
    /// Position in the file, for messages.
    pub number: u64,
    /// Length on the wire in bytes, without FCS.
    pub frame_len: usize,
    /// Captured bytes; the rest is filled with zeros.
    pub bytes: &'a [u8],
}

/// A replay file converted to templates.
#[derive(Clone, Debug)]
pub struct ReplayFrames {
    /// Frames ready to be sent.
    pub frames: Frames,
    /// Frame sizes and their counts.
    pub sizes: Vec<SizeShare>,
    /// Offsets at which signatures begin.
    pub offsets: Vec<usize>,
    /// Frames that were extended to make space for the signature.
    pub grown_count: u64,
}

/// Create a stream of frames that are sent repeatedly in the given order; identical frames share a template.
///
/// The stream's first layer has the addresses to send with; without layers the frames keep their own.
///
/// # Errors
/// If there are no or too many frames, one is too large, or their headers end at too many offsets.
pub fn replay(spec: &StreamSpec, source: &[SourceFrame<'_>]) -> Result<ReplayFrames, WireError> {
    if !(1..=REPLAY_FRAMES_MAX).contains(&source.len()) {
        return Err(WireError::ReplayCount { count: source.len(), limit: REPLAY_FRAMES_MAX });
    }
    let addresses = addresses(spec)?;
    let mut template_indices: HashMap<Vec<u8>, u16> = HashMap::new();
    let (mut templates, mut order) = (Vec::new(), Vec::with_capacity(source.len()));
    let (mut offsets, mut arriving) = (BTreeSet::new(), BTreeSet::new());
    let (mut sizes, mut grown_count) = (BTreeMap::new(), 0);
    for frame in source {
        let SignedFrame { bytes, template, grown } = sign(frame, addresses, spec.stream_id)?;
        offsets.insert(template.signature_offset());
        arriving.extend(crate::frames::arriving_offsets(template.signature_offset(), is_tagged(&bytes)));
        *sizes.entry((bytes.len() + FCS_BYTES) as u16).or_insert(0) += 1;
        grown_count += u64::from(grown);
        let position = *template_indices.entry(bytes).or_insert_with(|| {
            templates.push(template);
            (templates.len() - 1) as u16
        });
        order.push(position);
    }
    if offsets.len() > OFFSETS_MAX {
        return Err(WireError::ReplayOffsets { count: offsets.len(), limit: OFFSETS_MAX });
    }
    arriving.extend(spec.rx_offsets.iter().map(|offset| usize::from(*offset)));
    Ok(ReplayFrames {
        frames: Frames::with_order(templates, order, arriving.into_iter().collect()),
        sizes: sizes.into_iter().map(|(frame_bytes, weight)| SizeShare { frame_bytes, weight }).collect(),
        offsets: offsets.into_iter().collect(),
        grown_count,
    })
}

/// Return destination and source to write, if configured.
fn addresses(spec: &StreamSpec) -> Result<Option<[MacAddr; 2]>, WireError> {
    match &spec.layers[..] {
        [] => Ok(None),
        [Layer::Ethernet(header)] => Ok(Some([header.dst.parse()?, header.src.parse()?])),
        _ => Err(WireError::ReplayLayers),
    }
}

fn is_tagged(frame: &[u8]) -> bool {
    matches!(frame[2 * ADDRESS_BYTES..], [0x81, 0x00, ..] | [0x88, 0xa8, ..])
}

struct SignedFrame {
    bytes: Vec<u8>,
    template: Template,
    grown: bool,
}

/// Insert the signature and update lengths and checksums.
fn sign(source: &SourceFrame<'_>, addresses: Option<[MacAddr; 2]>, stream_id: u16) -> Result<SignedFrame, WireError> {
    let error = |problem: String| WireError::ReplayFrame { number: source.number, problem };
    if source.bytes.len() < 2 * ADDRESS_BYTES + 2 {
        return Err(error(
            "the file does not contain its entire Ethernet header; capture with a larger snap length".to_owned(),
        ));
    }
    let frame_len = source.frame_len.max(source.bytes.len());
    let largest = LARGEST_FRAME_BYTES - FCS_BYTES;
    let too_large = |len: usize| {
        error(format!(
            "{len} bytes without FCS exceed the maximum of {largest}; exclude such frames with the filter 'less {largest}'"
        ))
    };
    if frame_len > largest {
        return Err(too_large(frame_len));
    }
    let mut bytes = source.bytes.to_vec();
    bytes.resize(frame_len, 0);
    let mut parsed = ParsedFrame::parse(&bytes);
    if parsed.payload_at > source.bytes.len() && !parsed.is_full {
        return Err(error(format!(
            "the file contains {} bytes of it, but its headers take {}; capture with a larger snap length",
            source.bytes.len(),
            parsed.payload_at
        )));
    }
    let mut grown = false;
    // If the file did not contain all headers, the extension may complete further headers.
    while extend_for_signature(&mut bytes, &parsed) {
        grown = true;
        if bytes.len() > largest {
            return Err(too_large(bytes.len()));
        }
        parsed = ParsedFrame::parse(&bytes);
    }
    let offset = signature_offset(&parsed);
    if offset > OFFSET_MAX {
        return Err(error(format!(
            "its headers end at byte {offset}, but the signature must begin at byte {OFFSET_MAX} or earlier; exclude such frames with a filter"
        )));
    }
    if let Some([dst, src]) = addresses {
        bytes[..ADDRESS_BYTES].copy_from_slice(&dst.0);
        bytes[ADDRESS_BYTES..2 * ADDRESS_BYTES].copy_from_slice(&src.0);
    }
    parsed.lengths.iter().for_each(|length| write(&mut bytes, length));
    Signature::emit_static(stream_id, &mut bytes[offset..]);
    seal(&mut bytes, &parsed.checksums);
    let template = Template::from_frame(bytes.clone(), stream_id, offset, &parsed.checksums);
    Ok(SignedFrame { bytes, template, grown })
}

/// Return the offset of the signature: the first even offset after the headers.
fn signature_offset(parsed: &ParsedFrame) -> usize {
    parsed.payload_at.next_multiple_of(2)
}

/// Extend the innermost packet and those around it until the signature fits, using padding first; extend the frame at
/// least to the minimum size. Return whether the frame was extended beyond that.
fn extend_for_signature(bytes: &mut Vec<u8>, parsed: &ParsedFrame) -> bool {
    let smallest = SMALLEST_FRAME_BYTES - FCS_BYTES;
    let (before, needed_end) = (bytes.len().max(smallest), signature_offset(parsed) + SIGNATURE_BYTES);
    if parsed.is_full {
        bytes.resize(before.max(needed_end), 0);
        return bytes.len() > before;
    }
    let missing = needed_end.saturating_sub(parsed.end);
    let outer_end = parsed.lengths.first().map_or(parsed.end, |length| length.end);
    let padding = bytes.len() - outer_end;
    bytes.splice(parsed.end..parsed.end, std::iter::repeat_n(0, missing));
    for length in &parsed.lengths {
        write(bytes, &LengthField { end: length.end + missing, ..*length });
    }
    bytes.truncate(bytes.len() - missing.min(padding));
    bytes.resize(bytes.len().max(smallest), 0);
    missing > 0
}

fn write(bytes: &mut [u8], length: &LengthField) {
    let value = (length.end - length.from) as u16;
    bytes[length.at..length.at + 2].copy_from_slice(&value.to_be_bytes());
}
