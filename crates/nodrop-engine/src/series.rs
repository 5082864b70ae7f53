//! Series of a trial: one per stream if there are few streams, otherwise one per direction and phase in which streams
//! begin to send.

use nodrop_model::{Series, TrialRequest};

use crate::Stream;

/// Maximum number of streams with counts of their own: every window has a value of each.
const COUNT_STREAMS_MAX: usize = 16;
/// Maximum number of streams with latency of their own: two for each of 128 chains.
const LATENCY_STREAMS_MAX: usize = 256;

/// Assignment of streams to series.
#[derive(Debug)]
pub(crate) struct TrialSeries {
    /// Series of the counts per window.
    pub(crate) counts: SeriesMap,
    /// Series of the latency.
    pub(crate) latency: SeriesMap,
}

impl TrialSeries {
    pub(crate) fn new(streams: &[Stream], request: &TrialRequest) -> Self {
        let phases = request.load_phases();
        let first_phase = |stream: usize| phases.iter().position(|phase| phase.loads_pps[stream] > 0.0).unwrap_or(0);
        Self {
            counts: SeriesMap::new(streams, COUNT_STREAMS_MAX, first_phase),
            latency: SeriesMap::new(streams, LATENCY_STREAMS_MAX, |_| 0),
        }
    }
}

/// Series, and the series of each stream.
#[derive(Debug)]
pub(crate) struct SeriesMap {
    index_by_stream: Vec<usize>,
    series: Vec<Series>,
}

impl SeriesMap {
    fn new(streams: &[Stream], separate_max: usize, first_phase: impl Fn(usize) -> usize) -> Self {
        let separate = streams.len() <= separate_max;
        let mut map = Self { index_by_stream: Vec::new(), series: Vec::new() };
        for (index, stream) in streams.iter().enumerate() {
            let stream_id = separate.then(|| stream.frames.stream_id());
            let (tx_port, rx_port, first_phase) = (stream.tx_port, stream.rx_port, first_phase(index));
            let series = Series { tx_port, rx_port, stream_id, first_phase };
            let existing = map.series.iter().position(|other| *other == series);
            map.index_by_stream.push(existing.unwrap_or(map.series.len()));
            if existing.is_none() {
                map.series.push(series);
            }
        }
        map
    }

    pub(crate) fn index_of(&self, stream: usize) -> usize {
        self.index_by_stream[stream]
    }

    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    pub(crate) fn count(&self) -> usize {
        self.series.len()
    }
}
