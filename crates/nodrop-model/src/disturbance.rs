//! Time of a trial in which other work on the machine disturbed tester or SUT.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::reply::Windows;

/// Separation of disturbed time from the rest of a trial; the stop rule counts the losses of the rest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DisturbanceRule {
    /// Processes of the SUT on this machine; empty if it runs elsewhere or in the kernel.
    #[serde(default)]
    pub sut_pids: Vec<u32>,
    /// The SUT runs on the tester's CPUs, so that it may delay the tester, for example in the kernel.
    #[serde(default)]
    pub sut_shares_cpu: bool,
    /// Longest time by which a trial is extended to reach its duration without disturbed time, in seconds. Trials of
    /// self-paced ports and of loads that vary cannot be extended; their disturbed time is not separated.
    #[serde(default)]
    pub extension_max_s: f64,
    /// Share of disturbed time above which a trial that misses frames is not extended, in [0, 1].
    #[serde(default = "DisturbanceRule::disturbed_ratio_max")]
    pub disturbed_ratio_max: f64,
}

impl DisturbanceRule {
    fn disturbed_ratio_max() -> f64 {
        1.0
    }
}

/// Disturbed part of each window; empty vectors if no time was disturbed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DisturbedTime {
    /// Disturbed time in each window, in seconds.
    pub time_s: Vec<f64>,
    /// Frames sent meanwhile: `[series][window]`.
    pub offered_count: Vec<Vec<u64>>,
    /// Frames received meanwhile: `[series][window]`.
    #[serde(default)]
    pub received_count: Vec<Vec<u64>>,
    /// Frames lost of those that later frames overtook meanwhile: `[series][window]`.
    pub lost_count: Vec<Vec<u64>>,
}

impl DisturbedTime {
    /// Return no disturbed time.
    #[must_use]
    pub fn new(series_count: usize) -> Self {
        Self {
            time_s: Vec::new(),
            offered_count: vec![Vec::new(); series_count],
            received_count: vec![Vec::new(); series_count],
            lost_count: vec![Vec::new(); series_count],
        }
    }

    /// Add disturbed time in a window, with the frames sent, received and lost meanwhile, by series.
    pub fn add(&mut self, window: usize, time_s: f64, [offered, received, lost]: [&[u64]; 3]) {
        let len = self.time_s.len().max(window + 1);
        self.time_s.resize(len, 0.0);
        self.time_s[window] += time_s;
        let Self { offered_count, received_count, lost_count, .. } = self;
        for (columns, counts) in [(offered_count, offered), (received_count, received), (lost_count, lost)] {
            for (column, count) in columns.iter_mut().zip(counts) {
                column.resize(len, 0);
                column[window] += count;
            }
        }
    }

    /// Return the disturbed time, in seconds.
    #[must_use]
    pub fn total_s(&self) -> f64 {
        self.time_s.iter().sum()
    }

    /// Fit the final windows, of which the last may have been merged: no window has more disturbed losses than losses.
    /// `late_lost` has the disturbed losses that only the end of the trial confirmed, by series.
    pub fn fit(&mut self, windows: &Windows, late_lost: &[u64]) {
        if self.time_s.is_empty() {
            *self = Self::default();
            return;
        }
        let len = windows.end_s.len();
        fit_column(&mut self.time_s, len, 0.0);
        let counts = self.offered_count.iter_mut().chain(&mut self.received_count);
        counts.for_each(|column| fit_column(column, len, 0));
        for ((column, lost), late_lost) in self.lost_count.iter_mut().zip(&windows.lost_count).zip(late_lost) {
            fit_column(column, len, 0);
            column.last_mut().into_iter().for_each(|last| *last += late_lost);
            column.iter_mut().zip(lost).for_each(|(disturbed, lost)| *disturbed = (*disturbed).min(*lost));
        }
    }
}

fn fit_column<T: Copy + std::ops::AddAssign>(column: &mut Vec<T>, len: usize, zero: T) {
    while column.len() > len.max(1) {
        let Some(merged) = column.pop() else { return };
        column.last_mut().into_iter().for_each(|last| *last += merged);
    }
    column.resize(len, zero);
}

/// CPU time of processes that are neither tester nor SUT, on a CPU of theirs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OtherWork {
    /// Name of the processes.
    pub name: String,
    /// Process id; None for several of that name.
    pub pid: Option<u32>,
    /// The CPU.
    pub cpu: u32,
    /// CPU time during the trial, in seconds.
    pub time_s: f64,
}

/// Speed of a CPU of the SUT during a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuSpeed {
    /// The CPU.
    pub cpu: u32,
    /// Mean speed, as a share of the fastest since the ports were opened.
    pub mean_ratio: f64,
    /// Usual speed, i.e. the median of the latest trials, as a share of the fastest.
    pub usual_ratio: f64,
    /// Time in which the CPU was clearly slower than usual, in seconds.
    pub slow_time_s: f64,
}

/// The trial without its disturbed time, all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UndisturbedCounts {
    /// Undisturbed sending time, in seconds.
    pub duration_s: f64,
    /// Frames sent.
    pub offered_count: u64,
    /// Frames of these that were lost.
    pub lost_count: u64,
    /// Frames that were due and not sent.
    pub unsent_count: u64,
}
