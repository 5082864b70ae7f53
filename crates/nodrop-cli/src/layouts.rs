//! Conversion of streams and stations to bytes, for other generators.

use nodrop_engine::{EngineError, announcements};
use nodrop_model::{LayoutReply, LayoutRequest, StreamLayout, StreamSpec};
use nodrop_wire::{hex, layout};

/// Build the requested layouts.
///
/// # Errors
/// If a stream or a station is invalid; the message names it.
pub fn build_layouts(request: &LayoutRequest) -> Result<LayoutReply, EngineError> {
    let streams = request.streams.iter().map(stream).collect::<Result<_, _>>()?;
    let frames_by_station = request.stations.iter().map(announcements).collect::<Result<Vec<_>, _>>()?;
    let announcements =
        frames_by_station.iter().map(|frames| frames.iter().map(|frame| hex(frame)).collect()).collect();
    Ok(LayoutReply { streams, announcements })
}

fn stream(spec: &StreamSpec) -> Result<StreamLayout, EngineError> {
    layout(spec).map_err(|error| EngineError::Request(format!("stream {}: {error}", spec.stream_id)))
}
