//! Parameters of a trial, and its timeline as the conductor recorded it.

use nodrop_model::{StopClause, TrialRequest, Windows};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use crate::disturbance::SpeedHistories;
use crate::series::TrialSeries;

/// Parameters of a trial other than ports and streams.
pub(crate) struct TrialContext<'a> {
    pub(crate) request: &'a TrialRequest,
    pub(crate) tag: u8,
    pub(crate) threads: usize,
    pub(crate) cores: &'a [usize],
    pub(crate) stop: &'a AtomicBool,
    pub(crate) series: &'a TrialSeries,
    /// Speeds of CPUs in earlier trials.
    pub(crate) speed_histories: &'a Mutex<SpeedHistories>,
    /// Factor on the requested time between two loss checks.
    pub(crate) late_factor: u32,
}

impl TrialContext<'_> {
    pub(crate) fn duration_ns(&self) -> u64 {
        self.request.duration_ns()
    }

    pub(crate) fn loss_check_ns(&self) -> u64 {
        (self.request.loss_check_s * 1e9) as u64 * u64::from(self.late_factor)
    }
}

/// The losses that a stop rule counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LossBasis {
    /// Those of undisturbed time; all without disturbances.
    Undisturbed,
    /// The least number that are the SUT's own; see `Slots::own_loss`.
    Own,
}

/// Windows and end of a trial's sending.
pub(crate) struct Timeline {
    pub(crate) windows: Windows,
    pub(crate) sent_for_s: f64,
    pub(crate) stopped_early: bool,
    pub(crate) stopped_by: Option<StopClause>,
    /// The loss that ended the trial, if the number of lost frames did.
    pub(crate) stop_basis: Option<LossBasis>,
    pub(crate) aborted: bool,
}
