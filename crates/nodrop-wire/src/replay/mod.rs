//! Frames from a capture file as templates: as they were, but for the signature behind their headers, and what follows from it.

mod anatomy;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use nodrop_model::{Layer, SizeShare, StreamSpec};

use crate::signature::{SIGNATURE_BYTES, Signature};
use crate::stack::{LARGEST_FRAME_BYTES, SMALLEST_FRAME_BYTES, seal};
use crate::{FCS_BYTES, Frames, MacAddr, Template, WireError};
use anatomy::{Anatomy, Length};

/// Frames of a file at most.
pub const REPLAY_FRAMES_MAX: usize = 1 << 16;
/// Places at which signatures may be, since a receiver has to look at each of them.
const PLACES_MAX: usize = 32;
/// Where a signature may begin at most.
const PLACE_MAX: usize = 1024;
const ADDRESS_BYTES: usize = 6;

/// A frame as a file has it.
#[derive(Clone, Copy, Debug)]
pub struct SourceFrame<'a> {
    /// Its position in the file, for messages.
    pub number: u64,
    /// Its length, without FCS.
    pub frame_len: usize,
    /// What there is of it; the rest is zeros.
    pub bytes: &'a [u8],
}

/// Frames made of a file's.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Ready to be sent.
    pub frames: Frames,
    /// Their sizes, with how many there are of each.
    pub sizes: Vec<SizeShare>,
    /// Where signatures begin.
    pub offsets: Vec<usize>,
    /// Frames that had to grow for the signature to fit.
    pub grown_count: u64,
}

/// Make a stream of frames; they come in the order given, again and again, those alike sharing a template.
///
/// The stream's first layer has the addresses they are sent with; without layers they keep their own.
///
/// # Errors
/// When there are none or too many, one is too large, or their headers end in too many places.
pub fn replay(spec: &StreamSpec, source: &[SourceFrame<'_>]) -> Result<Replayed, WireError> {
    if !(1..=REPLAY_FRAMES_MAX).contains(&source.len()) {
        return Err(WireError::ReplayCount { count: source.len(), most: REPLAY_FRAMES_MAX });
    }
    let addresses = addresses(spec)?;
    let mut known: HashMap<Vec<u8>, u16> = HashMap::new();
    let (mut templates, mut order) = (Vec::new(), Vec::with_capacity(source.len()));
    let (mut offsets, mut arriving) = (BTreeSet::new(), BTreeSet::new());
    let (mut sizes, mut grown_count) = (BTreeMap::new(), 0);
    for frame in source {
        let Marked { bytes, template, grown } = mark(frame, addresses, spec.stream_id)?;
        offsets.insert(template.signature_offset());
        arriving.extend(crate::frames::arriving_offsets(template.signature_offset(), is_tagged(&bytes)));
        *sizes.entry((bytes.len() + FCS_BYTES) as u16).or_insert(0) += 1;
        grown_count += u64::from(grown);
        let position = *known.entry(bytes).or_insert_with(|| {
            templates.push(template);
            (templates.len() - 1) as u16
        });
        order.push(position);
    }
    if offsets.len() > PLACES_MAX {
        return Err(WireError::ReplayPlaces { count: offsets.len(), most: PLACES_MAX });
    }
    arriving.extend(spec.rx_offsets.iter().map(|offset| usize::from(*offset)));
    Ok(Replayed {
        frames: Frames::in_order(templates, order, arriving.into_iter().collect()),
        sizes: sizes.into_iter().map(|(frame_bytes, weight)| SizeShare { frame_bytes, weight }).collect(),
        offsets: offsets.into_iter().collect(),
        grown_count,
    })
}

/// Destination and source to be written, if any.
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

struct Marked {
    bytes: Vec<u8>,
    template: Template,
    grown: bool,
}

/// Put the signature in, and make lengths and checksums right.
fn mark(source: &SourceFrame<'_>, addresses: Option<[MacAddr; 2]>, stream_id: u16) -> Result<Marked, WireError> {
    let wrong = |found: String| WireError::ReplayFrame { number: source.number, found };
    if source.bytes.len() < 2 * ADDRESS_BYTES + 2 {
        return Err(wrong(
            "the file has less of it than its Ethernet header; capture with a larger snap length".to_owned(),
        ));
    }
    let frame_len = source.frame_len.max(source.bytes.len());
    let largest = LARGEST_FRAME_BYTES - FCS_BYTES;
    let too_large = |len: usize| {
        wrong(format!(
            "it has {len} bytes without FCS, the most is {largest}; leave such out with a filter: less {largest}"
        ))
    };
    if frame_len > largest {
        return Err(too_large(frame_len));
    }
    let mut bytes = source.bytes.to_vec();
    bytes.resize(frame_len, 0);
    let mut anatomy = Anatomy::of(&bytes);
    if anatomy.payload_at > source.bytes.len() && !anatomy.is_full {
        return Err(wrong(format!(
            "the file has {} bytes of it, its headers need {}; capture with a larger snap length",
            source.bytes.len(),
            anatomy.payload_at
        )));
    }
    let mut grown = false;
    // Where a file had not even all of the headers, there may be more of them now.
    while make_room(&mut bytes, &anatomy) {
        grown = true;
        if bytes.len() > largest {
            return Err(too_large(bytes.len()));
        }
        anatomy = Anatomy::of(&bytes);
    }
    let place = place(&anatomy);
    if place > PLACE_MAX {
        return Err(wrong(format!(
            "its headers end at byte {place}, the signature behind them may begin at {PLACE_MAX}"
        )));
    }
    if let Some([dst, src]) = addresses {
        bytes[..ADDRESS_BYTES].copy_from_slice(&dst.0);
        bytes[ADDRESS_BYTES..2 * ADDRESS_BYTES].copy_from_slice(&src.0);
    }
    anatomy.lengths.iter().for_each(|length| write(&mut bytes, length));
    Signature::emit_static(stream_id, &mut bytes[place..]);
    seal(&mut bytes, &anatomy.checksums);
    let template = Template::of_frame(bytes.clone(), stream_id, place, &anatomy.checksums);
    Ok(Marked { bytes, template, grown })
}

/// Where the signature goes: behind the headers, at an even place.
fn place(anatomy: &Anatomy) -> usize {
    anatomy.payload_at.next_multiple_of(2)
}

/// Let the innermost packet, and those around it, grow until the signature fits, at the cost of padding where there is any; the
/// frame too, also to the smallest there is. Gives whether the frame did beyond that.
fn make_room(bytes: &mut Vec<u8>, anatomy: &Anatomy) -> bool {
    let smallest = SMALLEST_FRAME_BYTES - FCS_BYTES;
    let (before, needed_end) = (bytes.len().max(smallest), place(anatomy) + SIGNATURE_BYTES);
    if anatomy.is_full {
        bytes.resize(before.max(needed_end), 0);
        return bytes.len() > before;
    }
    let missing = needed_end.saturating_sub(anatomy.end);
    let outer_end = anatomy.lengths.first().map_or(anatomy.end, |length| length.end);
    let padding = bytes.len() - outer_end;
    bytes.splice(anatomy.end..anatomy.end, std::iter::repeat_n(0, missing));
    for length in &anatomy.lengths {
        write(bytes, &Length { end: length.end + missing, ..*length });
    }
    bytes.truncate(bytes.len() - missing.min(padding));
    bytes.resize(bytes.len().max(smallest), 0);
    missing > 0
}

fn write(bytes: &mut [u8], length: &Length) {
    let said = (length.end - length.from) as u16;
    bytes[length.at..length.at + 2].copy_from_slice(&said.to_be_bytes());
}
