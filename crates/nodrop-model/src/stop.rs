//! Early end of a trial.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Conditions that end a trial at the end of a window; the first clause met decides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// Stop once more than this many frames, over all streams, are certainly lost: missing although a later frame had
    /// arrived a window earlier, or although sent 2 s earlier.
    #[serde(default)]
    pub lost_count: Option<u64>,
    /// Stop this long after the end of the first window in which a frame was certainly lost.
    #[serde(default)]
    pub after_loss_s: Option<f64>,
    /// Stop this long after the first frame was due.
    #[serde(default)]
    pub elapsed_s: Option<f64>,
    /// Stop this long after the first frame was due if fewer than `quiet_lost_count` frames were lost by then.
    #[serde(default)]
    pub quiet_s: Option<f64>,
    /// Number of lost frames that `quiet_s` requires; at least 1.
    #[serde(default = "one")]
    pub quiet_lost_count: u64,
}

impl Default for StopRule {
    fn default() -> Self {
        Self { lost_count: None, after_loss_s: None, elapsed_s: None, quiet_s: None, quiet_lost_count: one() }
    }
}

fn one() -> u64 {
    1
}

/// Clause of a stop rule that ended a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopClause {
    /// More frames were lost than the rule allows.
    LostCount,
    /// The time after the first loss elapsed.
    AfterLoss,
    /// Too few frames were lost.
    Quiet,
    /// The time limit elapsed.
    Elapsed,
}

impl StopRule {
    /// Return the clause that ends the trial now, if any.
    ///
    /// `elapsed_s` is the end of the latest window, `lost_count` the frames certainly lost since the trial began,
    /// `first_loss_s` the end of the first window with a lost frame, or None.
    #[must_use]
    pub fn fires(&self, elapsed_s: f64, lost_count: u64, first_loss_s: Option<f64>) -> Option<StopClause> {
        let is_due = |limit_s: Option<f64>| limit_s.is_some_and(|limit_s| elapsed_s >= limit_s);
        if self.lost_count.is_some_and(|limit| lost_count > limit) {
            Some(StopClause::LostCount)
        } else if is_due(self.after_loss_s.zip(first_loss_s).map(|(wait_s, loss_s)| loss_s + wait_s)) {
            Some(StopClause::AfterLoss)
        } else if is_due(self.quiet_s) && lost_count < self.quiet_lost_count {
            Some(StopClause::Quiet)
        } else if is_due(self.elapsed_s) {
            Some(StopClause::Elapsed)
        } else {
            None
        }
    }
}
