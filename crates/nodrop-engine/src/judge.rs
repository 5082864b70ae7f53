//! How far a trial's counts can be trusted: pure rules over what was observed.

use nodrop_model::{Doubt, UNSENT_TOLERANCE_S, Verdict};

/// Largest share of CPU time that may be stolen by the hypervisor unremarked.
const STEAL_MAX_RATIO: f64 = 0.01;
/// Largest share of a trial a thread may be kept off its CPU unremarked: short waits are caught up, and long ones show as
/// lateness.
const CPU_WAIT_MAX_RATIO: f64 = 0.05;
/// Largest delay of a single frame that goes unremarked, in nanoseconds: two ticks of a 250 Hz kernel and a bit.
const LATENESS_MAX_NS: u64 = 10_000_000;
/// Largest difference between wall clock and steady clock over a trial, in nanoseconds.
const CLOCK_STEP_MAX_NS: u64 = 1_000_000;

/// Code of the doubt about a trial that was stopped for frames that were only late.
pub(crate) const STOPPED_FOR_LATE: &str = "stopped_for_late";

/// What was seen of one trial besides its loss.
#[derive(Clone, Copy, Debug, Default)]
pub struct Observed {
    /// Aggregate.
    pub intended_load_pps: f64,
    /// Frames asked for in the time that was really used.
    pub intended_count: u64,
    /// Frames that left.
    pub offered_count: u64,
    /// Frames dropped in the tester's own receive path.
    pub tester_drop_count: u64,
    /// Longest time a receive queue went unread.
    pub receive_gap_max_ns: u64,
    /// Time it takes the trial's traffic to fill that queue.
    pub receive_queue_ns: u64,
    /// Largest delay of a frame behind its intended time.
    pub lateness_max_ns: u64,
    /// Longest time a sender stood still, where that was longer than it may catch up.
    pub stall_max_ns: u64,
    /// How often that happened.
    pub stall_count: u64,
    /// Frames that were due longer ago than may be caught up.
    pub let_go_count: u64,
    /// What may be caught up.
    pub catch_up_max_ns: u64,
    /// Longest time one of the tester's threads was kept off its CPU by other work.
    pub cpu_wait_ns: u64,
    /// Time sent for.
    pub duration_ns: u64,
    /// Share of all CPU time the hypervisor gave to others.
    pub steal_ratio: f64,
    /// How far the wall clock moved against the steady clock.
    pub clock_step_ns: u64,
    /// The caller ended the trial.
    pub aborted: bool,
    /// Frames lost when all had had time to arrive, where the stop rule had ended the trial for losing more than it did.
    pub stopped_for_late: Option<u64>,
}

/// Every reason not to take the trial at face value; none means valid.
#[must_use]
pub fn judge(seen: &Observed) -> Vec<Doubt> {
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

fn doubt(when: bool, code: &str, verdict: Verdict, text: impl FnOnce() -> String) -> Option<Doubt> {
    when.then(|| Doubt { code: code.to_owned(), verdict, text: text() })
}

fn is_short(seen: &Observed) -> bool {
    let tolerance = (seen.intended_load_pps * UNSENT_TOLERANCE_S).max(1.0);
    seen.intended_count.saturating_sub(seen.offered_count) as f64 > tolerance
}

fn aborted(seen: &Observed) -> Option<Doubt> {
    doubt(seen.aborted, "aborted", Verdict::Invalid, || "ended before its time on request".to_owned())
}

/// Frames that a later one overtook by more than a look were taken for lost; with their number known the rule was not met.
fn stopped_for_late(seen: &Observed) -> Option<Doubt> {
    let lost = seen.stopped_for_late?;
    doubt(true, STOPPED_FOR_LATE, Verdict::Invalid, || {
        format!(
            "stopped for lost frames, of which all but {lost} then arrived; the next trial waits longer for late frames"
        )
    })
}

fn tester_drops(seen: &Observed) -> Option<Doubt> {
    doubt(seen.tester_drop_count > 0, "tester_drops", Verdict::Invalid, || {
        format!("{} frames reached the tester and were dropped in its own receive path", seen.tester_drop_count)
    })
}

fn clock_jump(seen: &Observed) -> Option<Doubt> {
    doubt(seen.clock_step_ns > CLOCK_STEP_MAX_NS, "clock_jump", Verdict::Invalid, || {
        format!("the wall clock jumped by {:.3} ms during the trial", seen.clock_step_ns as f64 / 1e6)
    })
}

fn offered_short(seen: &Observed) -> Option<Doubt> {
    doubt(is_short(seen), "offered_short", Verdict::Suspect, || {
        let short = seen.intended_count - seen.offered_count;
        let ratio = short as f64 / seen.intended_count as f64;
        format!(
            "{short} of {} frames ({:.3} %) were not sent in time; they count as lost",
            seen.intended_count,
            ratio * 100.0
        )
    })
}

fn receiver_starved(seen: &Observed) -> Option<Doubt> {
    let half_full_ns = seen.receive_queue_ns / 2;
    doubt(
        seen.receive_queue_ns > 0 && seen.receive_gap_max_ns > half_full_ns,
        "receiver_starved",
        Verdict::Suspect,
        || {
            format!(
                "a receive queue went unread for {:.1} ms; it fills in {:.1} ms",
                seen.receive_gap_max_ns as f64 / 1e6,
                seen.receive_queue_ns as f64 / 1e6
            )
        },
    )
}

/// Lateness without missing frames: they left in a burst afterwards. With missing frames it says nothing new.
fn sender_late(seen: &Observed) -> Option<Doubt> {
    doubt(seen.lateness_max_ns > LATENESS_MAX_NS && !is_short(seen), "sender_late", Verdict::Suspect, || {
        format!(
            "the tester fell {:.1} ms behind its timetable and caught up in a burst",
            seen.lateness_max_ns as f64 / 1e6
        )
    })
}

/// The frames that fell due meanwhile were not sent afterwards: a burst of them would have measured something else.
fn sender_stalled(seen: &Observed) -> Option<Doubt> {
    doubt(seen.stall_count > 0 && seen.let_go_count > 0, "sender_stalled", Verdict::Suspect, || {
        format!(
            "the tester stood still {} times, for up to {:.1} ms; it catches up {:.1} ms and let {} frames go unsent",
            seen.stall_count,
            seen.stall_max_ns as f64 / 1e6,
            seen.catch_up_max_ns as f64 / 1e6,
            seen.let_go_count
        )
    })
}

fn cpu_wait(seen: &Observed) -> Option<Doubt> {
    let ratio = seen.cpu_wait_ns as f64 / seen.duration_ns.max(1) as f64;
    doubt(ratio > CPU_WAIT_MAX_RATIO, "tester_preempted", Verdict::Suspect, || {
        let waited_ms = seen.cpu_wait_ns as f64 / 1e6;
        format!("other work kept the tester off its CPU for {waited_ms:.1} ms ({:.1} % of the trial)", ratio * 100.0)
    })
}

fn cpu_steal(seen: &Observed) -> Option<Doubt> {
    doubt(seen.steal_ratio > STEAL_MAX_RATIO, "cpu_steal", Verdict::Suspect, || {
        format!("the hypervisor withheld {:.1} % of CPU time", seen.steal_ratio * 100.0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean() -> Observed {
        Observed {
            intended_load_pps: 1e6,
            intended_count: 1_000_000,
            offered_count: 1_000_000,
            receive_queue_ns: 30_000_000,
            receive_gap_max_ns: 4_000_000,
            cpu_wait_ns: 49_000_000,
            duration_ns: 1_000_000_000,
            ..Observed::default()
        }
    }

    fn codes(seen: &Observed) -> Vec<(String, Verdict)> {
        judge(seen).into_iter().map(|doubt| (doubt.code, doubt.verdict)).collect()
    }

    #[test]
    fn a_clean_trial_has_no_doubts() {
        assert_eq!(codes(&clean()), []);
    }

    #[test]
    fn ten_microseconds_of_traffic_may_go_unsent() {
        assert_eq!(codes(&Observed { offered_count: 999_990, ..clean() }), []);
        let short = Observed { offered_count: 999_989, lateness_max_ns: 1 << 40, ..clean() };
        assert_eq!(codes(&short), [("offered_short".to_owned(), Verdict::Suspect)]);
    }

    #[test]
    fn one_frame_dropped_by_the_tester_makes_the_trial_invalid() {
        assert_eq!(
            codes(&Observed { tester_drop_count: 1, ..clean() }),
            [("tester_drops".to_owned(), Verdict::Invalid)]
        );
    }

    #[test]
    fn each_other_rule_speaks_for_itself() {
        let cases = [
            (Observed { aborted: true, ..clean() }, "aborted", Verdict::Invalid),
            (Observed { stopped_for_late: Some(0), ..clean() }, "stopped_for_late", Verdict::Invalid),
            (Observed { clock_step_ns: 1_000_001, ..clean() }, "clock_jump", Verdict::Invalid),
            (Observed { receive_gap_max_ns: 15_000_001, ..clean() }, "receiver_starved", Verdict::Suspect),
            (Observed { lateness_max_ns: 10_000_001, ..clean() }, "sender_late", Verdict::Suspect),
            (
                Observed { stall_count: 1, stall_max_ns: 12_000_000, let_go_count: 5, ..clean() },
                "sender_stalled",
                Verdict::Suspect,
            ),
            (Observed { cpu_wait_ns: 51_000_000, ..clean() }, "tester_preempted", Verdict::Suspect),
            (Observed { steal_ratio: 0.02, ..clean() }, "cpu_steal", Verdict::Suspect),
        ];
        for (seen, code, verdict) in cases {
            assert_eq!(codes(&seen), [(code.to_owned(), verdict)]);
        }
    }
}
