//! From streams and stations to bytes, for whoever else sends them.

use nodrop_engine::{EngineError, announcements};
use nodrop_model::{LayoutRequest, Layouts, StreamLayout, StreamSpec};
use nodrop_wire::{hex, layout};

/// What was asked for.
///
/// # Errors
/// When a stream or a station cannot be as asked; the message names it.
pub fn layouts(asked: &LayoutRequest) -> Result<Layouts, EngineError> {
    let streams = asked.streams.iter().map(stream).collect::<Result<_, _>>()?;
    let told = asked.stations.iter().map(announcements).collect::<Result<Vec<_>, _>>()?;
    let announcements = told.iter().map(|frames| frames.iter().map(|frame| hex(frame)).collect()).collect();
    Ok(Layouts { streams, announcements })
}

fn stream(spec: &StreamSpec) -> Result<StreamLayout, EngineError> {
    layout(spec).map_err(|error| EngineError::Request(format!("stream {}: {error}", spec.stream_id)))
}
