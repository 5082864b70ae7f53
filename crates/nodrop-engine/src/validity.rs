//! Validity of a trial: pure rules over observations.

use nodrop_model::{Doubt, DoubtReason, UNSENT_TOLERANCE_S, Validity};

/// Share of CPU steal time above which a trial is suspect.
const STEAL_MAX_RATIO: f64 = 0.01;
/// Share of a trial that a thread may wait for its CPU without a doubt: short waits are caught up, and long ones show
/// as lateness.
const CPU_WAIT_MAX_RATIO: f64 = 0.05;
/// Delay of a single frame, in nanoseconds, above which a trial is suspect: somewhat more than two ticks of a 250 Hz
/// kernel.
const LATENESS_MAX_NS: u64 = 10_000_000;
/// Change of the wall clock relative to the monotonic clock over a trial, in nanoseconds, above which it is suspect.
const CLOCK_STEP_MAX_NS: u64 = 1_000_000;

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

fn doubt(when: bool, validity: Validity, reason: DoubtReason) -> Option<Doubt> {
    when.then_some(Doubt { validity, reason })
}

fn is_short(seen: &TrialObservations) -> bool {
    let tolerance = (seen.intended_load_pps * UNSENT_TOLERANCE_S).max(1.0);
    seen.intended_count.saturating_sub(seen.offered_count) as f64 > tolerance
}

fn aborted(seen: &TrialObservations) -> Option<Doubt> {
    doubt(seen.aborted, Validity::Invalid, DoubtReason::Aborted {})
}

/// Frames that were overtaken for longer than a loss check counted as lost; with the final counts the stop rule was not
/// met.
fn stopped_for_late(seen: &TrialObservations) -> Option<Doubt> {
    let lost_count = seen.stopped_for_late?;
    doubt(true, Validity::Invalid, DoubtReason::StoppedForLate { lost_count })
}

fn tester_drops(seen: &TrialObservations) -> Option<Doubt> {
    let dropped_count = seen.tester_drop_count;
    doubt(dropped_count > 0, Validity::Invalid, DoubtReason::TesterDrops { dropped_count })
}

/// Frames are paced by the monotonic clock and counted by their sequence numbers: only latency and times of arrival
/// depend on the wall clock.
fn clock_jump(seen: &TrialObservations) -> Option<Doubt> {
    let reason = DoubtReason::ClockJump { jump_s: to_seconds(seen.clock_step_ns) };
    doubt(seen.clock_step_ns > CLOCK_STEP_MAX_NS, Validity::Suspect, reason)
}

fn offered_short(seen: &TrialObservations) -> Option<Doubt> {
    let unsent_count = seen.intended_count.saturating_sub(seen.offered_count);
    let unsent_ratio = unsent_count as f64 / seen.intended_count.max(1) as f64;
    let reason = DoubtReason::OfferedShort { unsent_count, intended_count: seen.intended_count, unsent_ratio };
    doubt(is_short(seen), Validity::Suspect, reason)
}

fn receiver_starved(seen: &TrialObservations) -> Option<Doubt> {
    let half_full_ns = seen.receive_queue_ns / 2;
    let reason = DoubtReason::ReceiverStarved {
        unread_s: to_seconds(seen.receive_gap_max_ns),
        fill_s: to_seconds(seen.receive_queue_ns),
    };
    doubt(seen.receive_queue_ns > 0 && seen.receive_gap_max_ns > half_full_ns, Validity::Suspect, reason)
}

/// Lateness without missing frames: they were sent in a burst afterwards. With missing frames, `offered_short` covers
/// it.
fn sender_late(seen: &TrialObservations) -> Option<Doubt> {
    let reason = DoubtReason::SenderLate { late_s: to_seconds(seen.lateness_max_ns) };
    doubt(seen.lateness_max_ns > LATENESS_MAX_NS && !is_short(seen), Validity::Suspect, reason)
}

/// Frames due during the stall were not sent afterwards, because a burst of them would have measured something else.
fn sender_stalled(seen: &TrialObservations) -> Option<Doubt> {
    let reason = DoubtReason::SenderStalled {
        stall_count: seen.stall_count,
        longest_s: to_seconds(seen.stall_max_ns),
        catch_up_s: to_seconds(seen.catch_up_max_ns),
        unsent_count: seen.skipped_count,
    };
    doubt(seen.stall_count > 0 && seen.skipped_count > 0, Validity::Suspect, reason)
}

fn cpu_wait(seen: &TrialObservations) -> Option<Doubt> {
    let waited_ratio = seen.cpu_wait_ns as f64 / seen.duration_ns.max(1) as f64;
    let reason = DoubtReason::TesterPreempted { waited_s: to_seconds(seen.cpu_wait_ns), waited_ratio };
    doubt(waited_ratio > CPU_WAIT_MAX_RATIO, Validity::Suspect, reason)
}

fn cpu_steal(seen: &TrialObservations) -> Option<Doubt> {
    let steal_ratio = seen.steal_ratio;
    doubt(steal_ratio > STEAL_MAX_RATIO, Validity::Suspect, DoubtReason::CpuSteal { steal_ratio })
}

fn to_seconds(duration_ns: u64) -> f64 {
    duration_ns as f64 / 1e9
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

    fn suspect(reason: DoubtReason) -> Vec<Doubt> {
        vec![Doubt { validity: Validity::Suspect, reason }]
    }

    fn invalid(reason: DoubtReason) -> Vec<Doubt> {
        vec![Doubt { validity: Validity::Invalid, reason }]
    }

    #[test]
    fn a_clean_trial_has_no_doubts() {
        assert_eq!(find_doubts(&clean()), []);
    }

    #[test]
    fn ten_microseconds_of_traffic_may_go_unsent() {
        assert_eq!(find_doubts(&TrialObservations { offered_count: 999_990, ..clean() }), []);
        let short = TrialObservations { offered_count: 999_989, lateness_max_ns: 1 << 40, ..clean() };
        let reason = DoubtReason::OfferedShort { unsent_count: 11, intended_count: 1_000_000, unsent_ratio: 11e-6 };
        assert_eq!(find_doubts(&short), suspect(reason));
    }

    #[test]
    fn one_frame_dropped_by_the_tester_makes_the_trial_invalid() {
        let reason = DoubtReason::TesterDrops { dropped_count: 1 };
        assert_eq!(find_doubts(&TrialObservations { tester_drop_count: 1, ..clean() }), invalid(reason));
    }

    #[test]
    fn each_other_rule_speaks_for_itself() {
        let cases = [
            (TrialObservations { aborted: true, ..clean() }, invalid(DoubtReason::Aborted {})),
            (
                TrialObservations { stopped_for_late: Some(0), ..clean() },
                invalid(DoubtReason::StoppedForLate { lost_count: 0 }),
            ),
            (
                TrialObservations { clock_step_ns: 1_000_001, ..clean() },
                suspect(DoubtReason::ClockJump { jump_s: 0.001_000_001 }),
            ),
            (
                TrialObservations { receive_gap_max_ns: 15_000_001, ..clean() },
                suspect(DoubtReason::ReceiverStarved { unread_s: 0.015_000_001, fill_s: 0.03 }),
            ),
            (
                TrialObservations { lateness_max_ns: 10_000_001, ..clean() },
                suspect(DoubtReason::SenderLate { late_s: 0.010_000_001 }),
            ),
            (
                TrialObservations {
                    stall_count: 1,
                    stall_max_ns: 12_000_000,
                    skipped_count: 5,
                    catch_up_max_ns: 10_000_000,
                    ..clean()
                },
                suspect(DoubtReason::SenderStalled {
                    stall_count: 1,
                    longest_s: 0.012,
                    catch_up_s: 0.01,
                    unsent_count: 5,
                }),
            ),
            (
                TrialObservations { cpu_wait_ns: 51_000_000, ..clean() },
                suspect(DoubtReason::TesterPreempted { waited_s: 0.051, waited_ratio: 0.051 }),
            ),
            (TrialObservations { steal_ratio: 0.02, ..clean() }, suspect(DoubtReason::CpuSteal { steal_ratio: 0.02 })),
        ];
        for (seen, doubts) in cases {
            assert_eq!(find_doubts(&seen), doubts);
        }
    }
}
