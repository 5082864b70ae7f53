//! Conversion of a capture file to a stream's frames.

use nodrop_engine::EngineError;
use nodrop_model::{CompileReply, CompileRequest, InspectReply, ReplaySpec, StreamSpec};
use nodrop_port::pcap::{self, FileFrames, Filter};
use nodrop_wire::{REPLAY_FRAMES_MAX, ReplayFrames, SourceFrame, replay};

/// Describe the frames of a replay file.
///
/// # Errors
/// If the file cannot be read or replayed; the message names file and key.
pub fn inspect(request: &ReplaySpec) -> Result<InspectReply, EngineError> {
    let spec = StreamSpec { layers: vec![], ..StreamSpec::udp(0, 0, 0, 0, 1) };
    let content = read(request)?;
    let replayed = convert(&spec, request, &content)?;
    Ok(InspectReply {
        frame_count: replayed.sizes.iter().map(|size| u64::from(size.weight)).sum(),
        template_count: replayed.frames.templates().len(),
        grown_count: replayed.grown_count,
        other_link_count: content.other_link_count,
        cut_off_after: content.cut_off.then_some(content.seen_count),
        sizes: replayed.sizes,
        signature_offsets: replayed.offsets,
    })
}

/// Check that a filter is valid.
///
/// # Errors
/// If the filter is invalid; the message names the key.
pub fn compile(request: &CompileRequest) -> Result<CompileReply, EngineError> {
    let filter = Filter::new(&request.filter).map_err(|error| EngineError::Request(format!("filter: {error}")))?;
    Ok(CompileReply { instruction_count: filter.instruction_count() })
}

/// Read a stream's frames from its file.
pub(crate) fn frames(spec: &StreamSpec, replay_spec: &ReplaySpec) -> Result<ReplayFrames, EngineError> {
    convert(spec, replay_spec, &read(replay_spec)?)
}

/// Read the frames of a file that match the filter. At least one does.
fn read(replay_spec: &ReplaySpec) -> Result<FileFrames, EngineError> {
    let ReplaySpec { file, filter, frame_count_max } = replay_spec;
    let limit = frame_count_max.map_or(REPLAY_FRAMES_MAX, |limit| limit as usize);
    if !(1..=REPLAY_FRAMES_MAX).contains(&limit) {
        return Err(key("frame_count_max", &format!("{limit} is out of range; use 1 to {REPLAY_FRAMES_MAX}")));
    }
    let program = filter.as_deref().map(Filter::new).transpose().map_err(|error| key("filter", &error))?;
    let content = pcap::read(file, program.as_ref(), limit).map_err(|error| key("file", &error))?;
    if content.frames.is_empty() {
        let Some(filter) = filter else {
            return Err(key("file", &format!("{file}: the file has no frames; use another file")));
        };
        let seen = content.seen_count;
        return Err(key(
            "filter",
            &format!("filter {filter:?}: none of the {seen} frames of {file} matches; use another filter"),
        ));
    }
    if content.truncated && frame_count_max.is_none() {
        let message = format!(
            "{file}: more than {limit} frames match, the maximum for a replay; select fewer frames with a filter \
             or frame_count_max"
        );
        return Err(key("file", &message));
    }
    Ok(content)
}

/// Convert frames of a file to a stream's.
fn convert(spec: &StreamSpec, replay_spec: &ReplaySpec, content: &FileFrames) -> Result<ReplayFrames, EngineError> {
    fn source(frame: &pcap::FileFrame) -> SourceFrame<'_> {
        SourceFrame { number: frame.number, frame_len: frame.frame_len, bytes: &frame.bytes }
    }
    let sources: Vec<SourceFrame<'_>> = content.frames.iter().map(source).collect();
    replay(spec, &sources).map_err(|error| key("file", &format!("{}: {error}", replay_spec.file)))
}

fn key(key: &str, error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Request(format!("replay.{key}: {error}"))
}
