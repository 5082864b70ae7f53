//! Doubts: reasons to distrust a trial, as codes with parameters; callers word them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Validity of a trial; ordered from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Validity {
    /// No doubt was raised.
    Valid,
    /// The counts are correct, but the tester or the host may have influenced them.
    Suspect,
    /// The counts do not reflect the SUT.
    Invalid,
}

/// A reason to distrust a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doubt {
    /// Validity of the trial if this doubt is the only one.
    #[serde(rename = "verdict")]
    pub validity: Validity,
    /// The reason.
    #[serde(flatten)]
    pub reason: DoubtReason,
}

/// Code of a doubt, and the measured values with the limits that they exceed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", content = "params", rename_all = "snake_case")]
pub enum DoubtReason {
    /// The caller ended the trial.
    Aborted {},
    /// The stop rule ended the trial because of frames that were only late.
    StoppedForLate {
        /// Frames lost in the end.
        lost_count: u64,
    },
    /// The tester dropped frames in its own receive path.
    TesterDrops {
        /// Number of these frames.
        dropped_count: u64,
    },
    /// The wall clock jumped.
    ClockJump {
        /// Change relative to the monotonic clock.
        jump_s: f64,
    },
    /// Frames were not sent in time; they count as lost.
    OfferedShort {
        /// Number of these frames.
        unsent_count: u64,
        /// Frames due.
        intended_count: u64,
        /// Unsent share of the frames due.
        unsent_ratio: f64,
    },
    /// A receive queue was not read in time.
    ReceiverStarved {
        /// Longest time without a read.
        unread_s: f64,
        /// Time in which the trial's traffic fills the queue.
        fill_s: f64,
    },
    /// The sender stalled for longer than it may catch up.
    SenderStalled {
        /// Number of stalls.
        stall_count: u64,
        /// Duration of the longest stall.
        longest_s: f64,
        /// Catch-up limit.
        catch_up_s: f64,
        /// Frames never sent because of the stalls.
        unsent_count: u64,
    },
    /// The sender fell behind its schedule and caught up in a burst.
    SenderLate {
        /// Largest delay of a frame.
        late_s: f64,
    },
    /// Other work kept one of the tester's threads off its CPU.
    TesterPreempted {
        /// Time that the thread waited for its CPU.
        waited_s: f64,
        /// Waiting share of the trial.
        waited_ratio: f64,
    },
    /// The hypervisor stole CPU time.
    CpuSteal {
        /// Stolen share of the CPU time.
        steal_ratio: f64,
    },
}
