//! Latency, lateness and gaps as HdrHistograms: 1 ns to 60 s, three significant digits.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use nodrop_model::{LatencySummary, TimeSummary};

const MAX_NS: u64 = 60_000_000_000;
const SIGNIFICANT_DIGITS: u8 = 3;

/// A histogram of durations.
#[derive(Debug)]
pub(crate) struct Durations(Option<Histogram<u64>>);

impl Default for Durations {
    fn default() -> Self {
        // Never fails for these constants; if it did, the summary would be missing rather than wrong.
        Self(Histogram::new_with_bounds(1, MAX_NS, SIGNIFICANT_DIGITS).ok())
    }
}

impl Durations {
    /// Record `count` durations of `ns` nanoseconds; values beyond the range are clamped.
    #[inline]
    pub(crate) fn record(&mut self, ns: u64, count: u64) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record_n(ns, count);
        }
    }

    fn non_empty(&self) -> Option<&Histogram<u64>> {
        self.0.as_ref().filter(|histogram| !histogram.is_empty())
    }

    /// Return the summary; None if nothing was recorded.
    pub(crate) fn summary(&self) -> Option<TimeSummary> {
        let histogram = self.non_empty()?;
        Some(TimeSummary {
            count: histogram.len(),
            min_ns: histogram.min(),
            mean_ns: histogram.mean(),
            p50_ns: histogram.value_at_quantile(0.5),
            p90_ns: histogram.value_at_quantile(0.9),
            p99_ns: histogram.value_at_quantile(0.99),
            p999_ns: histogram.value_at_quantile(0.999),
            max_ns: histogram.max(),
        })
    }

    /// Summarize latencies, with the differences between consecutive ones; optionally with the full histogram.
    pub(crate) fn latency(&self, variation: &Self, with_histogram: bool) -> Option<LatencySummary> {
        let latency = self.summary()?;
        Some(LatencySummary {
            pdv_ns: latency.p999_ns - latency.min_ns,
            latency,
            ipdv: variation.summary(),
            hdr: self.non_empty().filter(|_| with_histogram).and_then(encode),
        })
    }
}

fn encode(histogram: &Histogram<u64>) -> Option<String> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).ok()?;
    Some(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn nothing_recorded_is_no_summary() {
        assert!(Durations::default().summary().is_none());
        assert!(Durations::default().latency(&Durations::default(), true).is_none());
    }

    #[test]
    fn percentiles_keep_three_digits_and_the_encoding_keeps_them_all() {
        let mut durations = Durations::default();
        (1..=1000).for_each(|n| durations.record(n * 1000, 1));
        durations.record(2 * MAX_NS, 1);
        let summary = durations.latency(&Durations::default(), true).unwrap();
        let latency = &summary.latency;
        assert_eq!((latency.count, summary.pdv_ns), (1001, latency.p999_ns - latency.min_ns));
        assert!((latency.p50_ns as f64 / 501_000.0 - 1.0).abs() < 0.001);
        assert!((latency.max_ns as f64 / MAX_NS as f64 - 1.0).abs() < 0.001);
        let bytes = STANDARD.decode(summary.hdr.unwrap()).unwrap();
        let decoded: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
        assert_eq!(decoded.len(), 1001);
    }
}
