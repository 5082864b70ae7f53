//! From a capture file to a stream's frames.

use nodrop_engine::EngineError;
use nodrop_model::{CompileFilter, Compiled, Inspected, ReplaySpec, StreamSpec};
use nodrop_port::pcap::{self, Filter};
use nodrop_wire::{REPLAY_FRAMES_MAX, Replayed, SourceFrame, replay};

/// What frames a file has to replay.
///
/// # Errors
/// When it cannot be read or replayed; the message names file and key.
pub fn inspect(asked: &ReplaySpec) -> Result<Inspected, EngineError> {
    let spec = StreamSpec { layers: vec![], ..StreamSpec::udp(0, 0, 0, 0, 1) };
    let made = frames(&spec, asked)?;
    Ok(Inspected {
        frame_count: made.sizes.iter().map(|size| u64::from(size.weight)).sum(),
        template_count: made.frames.templates().len(),
        grown_count: made.grown_count,
        sizes: made.sizes,
        signature_offsets: made.offsets,
    })
}

/// Whether a filter can be used.
///
/// # Errors
/// When it cannot; the message names the key.
pub fn compile(asked: &CompileFilter) -> Result<Compiled, EngineError> {
    let filter = Filter::new(&asked.filter).map_err(|error| EngineError::Request(format!("filter: {error}")))?;
    Ok(Compiled { instruction_count: filter.instruction_count() })
}

/// A stream's frames, from its file.
pub(crate) fn frames(spec: &StreamSpec, asked: &ReplaySpec) -> Result<Replayed, EngineError> {
    let ReplaySpec { file, filter, frame_count_max } = asked;
    let key = |key: &str, error: &dyn std::fmt::Display| EngineError::Request(format!("replay.{key}: {error}"));
    let limit = frame_count_max.map_or(REPLAY_FRAMES_MAX, |most| most as usize);
    if !(1..=REPLAY_FRAMES_MAX).contains(&limit) {
        return Err(key("frame_count_max", &format!("{limit} asked, from 1 to {REPLAY_FRAMES_MAX} are possible")));
    }
    let program = filter.as_deref().map(Filter::new).transpose().map_err(|error| key("filter", &error))?;
    let found = pcap::read(file, program.as_ref(), limit).map_err(|error| key("file", &error))?;
    if found.frames.is_empty() {
        let Some(filter) = filter else {
            return Err(key("file", &format!("{file} asked, it has no frames; name one that has")));
        };
        let seen = found.seen_count;
        return Err(key("filter", &format!("{filter:?} asked, none of {file}'s {seen} frames matches; write another")));
    }
    if found.cut_short && frame_count_max.is_none() {
        let most = format!(
            "{file} asked, more than {limit} of its frames match, the most that can be replayed; take fewer by a filter, or \
             only the first so many"
        );
        return Err(key("file", &most));
    }
    fn source(frame: &pcap::FileFrame) -> SourceFrame<'_> {
        SourceFrame { number: frame.number, frame_len: frame.frame_len, bytes: &frame.bytes }
    }
    let sources: Vec<SourceFrame<'_>> = found.frames.iter().map(source).collect();
    replay(spec, &sources).map_err(|error| key("file", &format!("{file} asked, {error}")))
}
