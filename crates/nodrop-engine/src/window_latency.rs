//! Latency of each series by window.

use nodrop_model::WindowLatency;
use std::sync::atomic::Ordering::Relaxed;

use crate::shared_counters::{ArrivalLatency, SharedCounters};

/// The latency of all series in the windows closed so far.
#[derive(Debug)]
pub(crate) struct LatencyColumns {
    columns: Vec<WindowLatency>,
    /// Number and sum of the latencies before the current window, by series.
    before: Vec<(u64, u64)>,
}

impl LatencyColumns {
    pub(crate) fn new(series_count: usize) -> Self {
        Self { columns: vec![WindowLatency::default(); series_count], before: vec![(0, 0); series_count] }
    }

    /// Record a window.
    pub(crate) fn close_window(&mut self, shared: &SharedCounters) {
        for ((column, before), arrivals) in self.columns.iter_mut().zip(&mut self.before).zip(&shared.arrivals) {
            let ArrivalLatency { count, sum_ns, min_ns, max_ns } = &arrivals.latency;
            let now = (count.load(Relaxed), sum_ns.load(Relaxed));
            let (min_ns, max_ns) = (min_ns.swap(u64::MAX, Relaxed), max_ns.swap(0, Relaxed));
            column.count.push(now.0 - before.0);
            column.sum_ns.push(now.1 - before.1);
            column.min_ns.push(if min_ns == u64::MAX { 0 } else { min_ns });
            column.max_ns.push(max_ns);
            *before = now;
        }
    }

    /// Merge the last window into the one before it.
    pub(crate) fn merge_last(&mut self) {
        for WindowLatency { count, sum_ns, min_ns, max_ns } in &mut self.columns {
            let is_empty = count.last() == Some(&0);
            merge(min_ns, |before, last| {
                if is_empty {
                    before
                } else if before == 0 {
                    last
                } else {
                    before.min(last)
                }
            });
            merge(max_ns, u64::max);
            merge(count, |before, last| before + last);
            merge(sum_ns, |before, last| before + last);
        }
    }

    pub(crate) fn finish(self) -> Vec<WindowLatency> {
        self.columns
    }
}

fn merge(column: &mut Vec<u64>, of_both: impl Fn(u64, u64) -> u64) {
    if let Some(last) = column.pop()
        && let Some(before) = column.last_mut()
    {
        *before = of_both(*before, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(shared: &SharedCounters, sums: (u64, u64), extremes_ns: (u64, u64)) {
        let latency = &shared.arrivals[0].latency;
        latency.count.store(sums.0, Relaxed);
        latency.sum_ns.store(sums.1, Relaxed);
        latency.min_ns.fetch_min(extremes_ns.0, Relaxed);
        latency.max_ns.fetch_max(extremes_ns.1, Relaxed);
    }

    #[test]
    fn a_window_has_the_latencies_since_the_one_before() {
        let shared = SharedCounters::new(0, 1, 1, 1);
        let mut columns = LatencyColumns::new(1);
        publish(&shared, (2, 30), (10, 20));
        columns.close_window(&shared);
        columns.close_window(&shared);
        publish(&shared, (3, 35), (5, 5));
        columns.close_window(&shared);
        let expected = WindowLatency {
            count: vec![2, 0, 1],
            sum_ns: vec![30, 0, 5],
            min_ns: vec![10, 0, 5],
            max_ns: vec![20, 0, 5],
        };
        assert_eq!(columns.columns, [expected]);
        columns.merge_last();
        columns.merge_last();
        let merged = WindowLatency { count: vec![3], sum_ns: vec![35], min_ns: vec![5], max_ns: vec![20] };
        assert_eq!(columns.finish(), [merged]);
    }
}
