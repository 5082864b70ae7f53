//! Frame layouts for generators that take bytes and their variations instead of templates.

use nodrop_model::{ChecksumLayout, FieldLayout, LayerLayout, StreamLayout, StreamSpec};

use crate::WireError;
use crate::frames::check_sizes;
use crate::patch::Patch;
use crate::stack::{Stack, seal};
use crate::template::Probe;

/// Return the layout of a stream's frames, without a signature.
///
/// # Errors
/// If headers do not follow each other, a number does not fit its field, or a frame is too small or too large.
pub fn layout(spec: &StreamSpec) -> Result<StreamLayout, WireError> {
    if spec.replay.is_some() {
        return Err(WireError::ReplayLayers);
    }
    check_sizes(&spec.sizes)?;
    let stack = Stack::new(&spec.layers, spec.signature)?;
    let (mut frames, mut parts) = (Vec::new(), None);
    for size in &spec.sizes {
        let mut bytes = stack.emit_unsigned(usize::from(size.frame_bytes))?;
        let (fields, patches) = fields(spec, &stack, &bytes)?;
        patches.iter().for_each(|patch| patch.write(&mut bytes, patch.word(0)));
        let checksums = stack.checksums(&bytes);
        seal(&mut bytes, &checksums);
        frames.push(hex(&bytes));
        parts = Some((fields, patches));
    }
    let (fields, patches) = parts.unwrap_or_default();
    let checksums = follows(spec, &stack, &patches)?;
    let layers = (0..spec.layers.len()).filter_map(|index| stack.layer(index));
    let layers = layers.map(|(at, header)| LayerLayout { at, bytes: header.bytes() });
    Ok(StreamLayout { frames, layers: layers.collect(), fields, checksums })
}

/// Return the bytes as hexadecimal digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn fields(spec: &StreamSpec, stack: &Stack<'_>, frame: &[u8]) -> Result<(Vec<FieldLayout>, Vec<Patch>), WireError> {
    let (mut fields, mut all) = (Vec::new(), Vec::new());
    for (index, range) in spec.ranges.iter().enumerate() {
        let patches = Patch::from_range(range, stack, frame)?;
        fields.extend(patches.iter().map(|patch| patch.layout(index, range.field)));
        all.extend(patches);
    }
    Ok((fields, all))
}

/// Determine which checksum depends on which field, by modifying a frame with a payload.
fn follows(spec: &StreamSpec, stack: &Stack<'_>, patches: &[Patch]) -> Result<Vec<ChecksumLayout>, WireError> {
    let mut frame = stack.emit(stack.smallest_frame_bytes())?;
    patches.iter().for_each(|patch| patch.write(&mut frame, patch.word(0)));
    let checksums = stack.checksums(&frame);
    seal(&mut frame, &checksums);
    let probe = Probe::new(&frame, &checksums);
    let by_payload = probe.effects(stack.bytes + 1);
    let by_patches: Vec<_> = patches.iter().map(|patch| probe.effects(patch.end())).collect();
    let positions = (0..spec.layers.len()).filter(|index| stack.has_checksum(*index, frame.len()));
    let of = |(index, layer): (usize, usize)| ChecksumLayout {
        layer,
        at: usize::from(checksums[index].offset.at),
        follows: (0..patches.len()).filter(|patch| by_patches[*patch][index].is_some()).collect(),
        covers_payload: by_payload[index].is_some(),
        zero_is_none: checksums[index].offset.is_never_zero(),
    };
    Ok(positions.enumerate().map(of).collect())
}

#[cfg(test)]
mod tests {
    use nodrop_model::{Field, FieldValues, SizeShare, Words};

    use super::*;

    #[test]
    fn a_layout_says_where_fields_are_and_which_checksums_follow_them() {
        let mut spec = StreamSpec::udp(1, 0, 1, 64, 10);
        spec.ranges[0].field = Field::DstPort;
        spec.ranges.push(nodrop_model::FieldRange {
            layer: 1,
            field: Field::Src,
            values: FieldValues::Random { count: 3, span: 100, seed: 1 },
            every: 2,
            period: None,
        });
        let layout = layout(&spec).unwrap();
        assert_eq!(layout.frames[0].len(), 120);
        assert_eq!(layout.fields[0].words, Words::Count { first: 9, step: 1 });
        assert_eq!((layout.fields[0].at, layout.fields[0].width, layout.fields[1].at), (36, 2, 26));
        assert!(matches!(&layout.fields[1].words, Words::Table { words } if words.len() == 3));
        let follows: Vec<_> = layout.checksums.iter().map(|sum| (sum.layer, sum.at, sum.follows.clone())).collect();
        assert_eq!(follows, [(1, 24, vec![1]), (2, 40, vec![0, 1])]);
        assert_eq!(layout.checksums.iter().map(|sum| sum.covers_payload).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn frames_may_be_as_small_as_headers_allow() {
        let mut spec = StreamSpec::udp(1, 0, 1, 64, 1);
        spec.layers.insert(1, nodrop_model::Layer::Vlan(nodrop_model::Vlan { id: 100, ..Default::default() }));
        spec.ranges.clear();
        assert_eq!(layout(&spec).unwrap().frames[0].len(), 120);
        spec.sizes = vec![SizeShare { frame_bytes: 63, weight: 1 }];
        assert_eq!(layout(&spec), Err(WireError::TooSmall { requested: 63, smallest: 64 }));
    }
}
