//! What is followed while a trial runs: every stream by itself where there are few, else every direction.

use nodrop_model::Series;

use crate::Stream;

/// Streams up to which the counts of each are followed by themselves: every window has a figure of each.
const COUNTED_STREAMS_MAX: usize = 16;
/// Streams up to which each has a latency of its own: two for each of 128 chains.
const TIMED_STREAMS_MAX: usize = 256;

/// Which streams are followed together.
#[derive(Debug)]
pub(crate) struct Groups {
    /// In the time series.
    pub(crate) counted: Grouping,
    /// In the latency.
    pub(crate) timed: Grouping,
}

impl Groups {
    pub(crate) fn new(streams: &[Stream]) -> Self {
        Self { counted: Grouping::new(streams, COUNTED_STREAMS_MAX), timed: Grouping::new(streams, TIMED_STREAMS_MAX) }
    }
}

/// Streams dealt out to groups.
#[derive(Debug)]
pub(crate) struct Grouping {
    of_stream: Vec<usize>,
    series: Vec<Series>,
}

impl Grouping {
    fn new(streams: &[Stream], alone_max: usize) -> Self {
        let alone = streams.len() <= alone_max;
        let mut groups = Self { of_stream: Vec::new(), series: Vec::new() };
        for stream in streams {
            let stream_id = alone.then(|| stream.frames.stream_id());
            let series = Series { tx_port: stream.tx_port, rx_port: stream.rx_port, stream_id };
            let known = groups.series.iter().position(|known| *known == series);
            groups.of_stream.push(known.unwrap_or(groups.series.len()));
            if known.is_none() {
                groups.series.push(series);
            }
        }
        groups
    }

    pub(crate) fn of_stream(&self, stream: usize) -> usize {
        self.of_stream[stream]
    }

    pub(crate) fn series(&self) -> &[Series] {
        &self.series
    }

    pub(crate) fn count(&self) -> usize {
        self.series.len()
    }
}
