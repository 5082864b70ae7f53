//! Validity of a trial: pure rules over observations.

use nodrop_model::{Doubt, UNSENT_TOLERANCE_S, Validity};

/// Share of CPU steal time above which a trial is suspect.
const STEAL_MAX_RATIO: f64 = 0.01;
/// Share of a trial that a thread may wait for its CPU without a doubt: short waits are caught up, and long ones show
/// as lateness.
const CPU_WAIT_MAX_RATIO: f64 = 0.05;
/// Delay of a single frame, in nanoseconds, above which a trial is suspect: somewhat more than two ticks of a 250 Hz
/// kernel.
const LATENESS_MAX_NS: u64 = 10_000_000;
/// Largest difference between wall clock and monotonic clock over a trial, in nanoseconds.
const CLOCK_STEP_MAX_NS: u64 = 1_000_000;

/// Code of the doubt about a trial that was stopped because of frames that were only late.
pub(crate) const STOPPED_FOR_LATE: &str = "stopped_for_late";

/// Observations of one trial other than its loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrialObservations {
    /// Aggregate intended load.
    pub intended_load_pps: f64,
    /// Frames intended for the actual sending time.
    pub intended_count: u64,
    /// Frames sent.
    pub offered_count: u64,
    /// Frames dropped in the tester's own receive path.
    pub tester_drop_count: u64,
    /// Longest time without a read of a receive queue.
    pub receive_gap_max_ns: u64,
    /// Time in which the trial's traffic fills that queue.
    pub receive_queue_ns: u64,
    /// Largest delay of a frame behind its intended time.
    pub lateness_max_ns: u64,
    /// Longest stall of a sender beyond its catch-up limit.
    pub stall_max_ns: u64,
    /// Number of such stalls.
    pub stall_count: u64,
    /// Frames skipped because they were due longer ago than the catch-up limit.
    pub skipped_count: u64,
    /// Catch-up limit.
    pub catch_up_max_ns: u64,
    /// Longest time that one of the tester's threads waited for its CPU.
    pub cpu_wait_ns: u64,
    /// Sending time.
    pub duration_ns: u64,
    /// Share of CPU time stolen by the hypervisor.
    pub steal_ratio: f64,
    /// Change of the wall clock relative to the monotonic clock.
    pub clock_step_ns: u64,
    /// The caller ended the trial.
    pub aborted: bool,
    /// Frames lost after the wait for frames in flight, if the stop rule ended the trial for more losses than that.
    pub stopped_for_late: Option<u64>,
}

/// Return all reasons to distrust the trial; empty means valid.
#[must_use]
pub fn find_doubts(seen: &TrialObservations) -> Vec<Doubt> {
    [
        aborted(seen),
        stopped_for_late(seen),
        tester_drops(seen),
        clock_jump(seen),
        offered_short(seen),
        receiver_starved(seen),
        sender_stalled(seen),
        sender_late(seen),
        cpu_wait(seen),
        cpu_steal(seen),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn doubt(when: bool, code: &str, validity: Validity, text: impl FnOnce() -> String) -> Option<Doubt> {
    when.then(|| Doubt { code: code.to_owned(), validity, text: text() })
}

fn is_short(seen: &TrialObservations) -> bool {
    let tolerance = (seen.intended_load_pps * UNSENT_TOLERANCE_S).max(1.0);
    seen.intended_count.saturating_sub(seen.offered_count) as f64 > tolerance
}

fn aborted(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.aborted, "aborted", Validity::Invalid, || "stopped early on request".to_owned())
}

/// Frames that were overtaken for longer than a loss check counted as lost; with the final counts the stop rule was not
/// met.
fn stopped_for_late(seen: &TrialObservations) -> Option<Doubt> {
    let lost = seen.stopped_for_late?;
    doubt(true, STOPPED_FOR_LATE, Validity::Invalid, || {
        format!(
            "stopped for lost frames, all but {lost} of which then arrived; the next trial waits longer for late frames"
        )
    })
}

fn tester_drops(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.tester_drop_count > 0, "tester_drops", Validity::Invalid, || {
        format!(
            "{} reached the tester and were dropped in its own receive path",
            plural(seen.tester_drop_count, "frame")
        )
    })
}

fn clock_jump(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.clock_step_ns > CLOCK_STEP_MAX_NS, "clock_jump", Validity::Invalid, || {
        format!("the wall clock jumped by {:.3} ms during the trial", seen.clock_step_ns as f64 / 1e6)
    })
}

fn offered_short(seen: &TrialObservations) -> Option<Doubt> {
    doubt(is_short(seen), "offered_short", Validity::Suspect, || {
        let missing = seen.intended_count - seen.offered_count;
        let ratio = missing as f64 / seen.intended_count as f64;
        format!(
            "{missing} of {} frames ({:.3} %) were not sent in time; they count as lost",
            seen.intended_count,
            ratio * 100.0
        )
    })
}

fn receiver_starved(seen: &TrialObservations) -> Option<Doubt> {
    let half_full_ns = seen.receive_queue_ns / 2;
    doubt(
        seen.receive_queue_ns > 0 && seen.receive_gap_max_ns > half_full_ns,
        "receiver_starved",
        Validity::Suspect,
        || {
            format!(
                "a receive queue was not read for {:.1} ms; it fills in {:.1} ms",
                seen.receive_gap_max_ns as f64 / 1e6,
                seen.receive_queue_ns as f64 / 1e6
            )
        },
    )
}

/// Lateness without missing frames: they were sent in a burst afterwards. With missing frames, `offered_short` covers
/// it.
fn sender_late(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.lateness_max_ns > LATENESS_MAX_NS && !is_short(seen), "sender_late", Validity::Suspect, || {
        format!(
            "the tester fell {:.1} ms behind its schedule and caught up in a burst",
            seen.lateness_max_ns as f64 / 1e6
        )
    })
}

/// Frames due during the stall were not sent afterwards, because a burst of them would have measured something else.
fn sender_stalled(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.stall_count > 0 && seen.skipped_count > 0, "sender_stalled", Validity::Suspect, || {
        format!(
            "the tester stalled {}, for up to {:.1} ms; it catches up at most {:.1} ms and did not send {}",
            plural(seen.stall_count, "time"),
            seen.stall_max_ns as f64 / 1e6,
            seen.catch_up_max_ns as f64 / 1e6,
            plural(seen.skipped_count, "frame")
        )
    })
}

fn cpu_wait(seen: &TrialObservations) -> Option<Doubt> {
    let ratio = seen.cpu_wait_ns as f64 / seen.duration_ns.max(1) as f64;
    doubt(ratio > CPU_WAIT_MAX_RATIO, "tester_preempted", Validity::Suspect, || {
        let waited_ms = seen.cpu_wait_ns as f64 / 1e6;
        format!(
            "the tester waited {waited_ms:.1} ms for its CPU because of other work ({:.1} % of the trial)",
            ratio * 100.0
        )
    })
}

fn cpu_steal(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.steal_ratio > STEAL_MAX_RATIO, "cpu_steal", Validity::Suspect, || {
        format!("the hypervisor stole {:.1} % of CPU time", seen.steal_ratio * 100.0)
    })
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> TrialObservations {
        TrialObservations {
            intended_load_pps: 1e6,
            intended_count: 1_000_000,
            offered_count: 1_000_000,
            receive_queue_ns: 30_000_000,
            receive_gap_max_ns: 4_000_000,
            cpu_wait_ns: 49_000_000,
            duration_ns: 1_000_000_000,
            ..TrialObservations::default()
        }
    }

    fn codes(seen: &TrialObservations) -> Vec<(String, Validity)> {
        find_doubts(seen).into_iter().map(|doubt| (doubt.code, doubt.validity)).collect()
    }

    #[test]
    fn a_clean_trial_has_no_doubts() {
        assert_eq!(codes(&clean()), []);
    }

    #[test]
    fn ten_microseconds_of_traffic_may_go_unsent() {
        assert_eq!(codes(&TrialObservations { offered_count: 999_990, ..clean() }), []);
        let short = TrialObservations { offered_count: 999_989, lateness_max_ns: 1 << 40, ..clean() };
        assert_eq!(codes(&short), [("offered_short".to_owned(), Validity::Suspect)]);
    }

    #[test]
    fn one_frame_dropped_by_the_tester_makes_the_trial_invalid() {
        assert_eq!(
            codes(&TrialObservations { tester_drop_count: 1, ..clean() }),
            [("tester_drops".to_owned(), Validity::Invalid)]
        );
    }

    #[test]
    fn each_other_rule_speaks_for_itself() {
        let cases = [
            (TrialObservations { aborted: true, ..clean() }, "aborted", Validity::Invalid),
            (TrialObservations { stopped_for_late: Some(0), ..clean() }, "stopped_for_late", Validity::Invalid),
            (TrialObservations { clock_step_ns: 1_000_001, ..clean() }, "clock_jump", Validity::Invalid),
            (TrialObservations { receive_gap_max_ns: 15_000_001, ..clean() }, "receiver_starved", Validity::Suspect),
            (TrialObservations { lateness_max_ns: 10_000_001, ..clean() }, "sender_late", Validity::Suspect),
            (
                TrialObservations { stall_count: 1, stall_max_ns: 12_000_000, skipped_count: 5, ..clean() },
                "sender_stalled",
                Validity::Suspect,
            ),
            (TrialObservations { cpu_wait_ns: 51_000_000, ..clean() }, "tester_preempted", Validity::Suspect),
            (TrialObservations { steal_ratio: 0.02, ..clean() }, "cpu_steal", Validity::Suspect),
        ];
        for (seen, code, validity) in cases {
            assert_eq!(codes(&seen), [(code.to_owned(), validity)]);
        }
    }
}
