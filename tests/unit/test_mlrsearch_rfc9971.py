"""Guarantees of the mlrsearch-rfc9971 search: bounds that enclose the truth, and a result for every goal."""

import pytest
from tests.searching import Answer, drive, loss_ratio_of
from tests.suts import Buffer, Jitter, LossFloor, SlowTester, SmoothCurve, Stalls, Step, Sut

from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Interval, Outcome
from nodrop.search.next_load import find_spaced

LOW, HIGH = 10_000.0, 10_000_000.0


def csit_goal(label: str, loss_ratio: float) -> Goal:
    """A goal of FD.io CSIT: the median of 1 s trials, as RFC 9971 recommends."""
    return Goal(
        label=label,
        loss_ratio=loss_ratio,
        exceed_ratio=0.5,
        initial_trial_duration_s=1.0,
        final_trial_duration_s=1.0,
        duration_sum_s=21.0,
    )


def proof_goal(label: str, loss_ratio: float, final_s: float = 30.0) -> Goal:
    """A goal that one trial proves or refutes."""
    return Goal(label=label, loss_ratio=loss_ratio, initial_trial_duration_s=1.0, final_trial_duration_s=final_s)


CSIT = (csit_goal("NDR", 0.0), csit_goal("PDR", 0.005))
PROOF = (proof_goal("NDR", 0.0), proof_goal("PDR", 0.005))


def plan_for(goals: object, **changes: object) -> SearchPlan:
    settings: dict[str, object] = {
        "algorithm": "mlrsearch-rfc9971",
        "goals": goals,
        "min_load_pps": LOW,
        "max_load_pps": HIGH,
        "initial_trial_duration_s": 1.0,
        "final_trial_duration_s": 30.0,
        "width_ratio": 0.005,
        "intermediate_phases": 0,
        "expansion_coefficient": 2.0,
        "search_duration_max_s": 1e9,
        "repeat_invalid": 0,
    }
    return SearchPlan.model_validate(settings | changes)


def run_search(goals: tuple[Goal, ...], answer: Answer, **changes: object) -> tuple[list[Trial], tuple[Interval, ...]]:
    search = create(plan_for(goals, **changes))
    trials = drive(search, answer)
    return trials, search.intervals()


def codes(interval: Interval) -> list[str]:
    return [flag.code for flag in interval.flags]


SUTS: dict[str, Sut] = {
    "a step": Step(1_234_567.0),
    "a step just below the highest load": Step(9_900_000.0),
    "a buffer of 20 ms": Buffer(800_000.0, 16_000),
    "a buffer larger than a short trial": Buffer(800_000.0, 2_000_000),
    "a smooth curve": SmoothCurve(2_000_000.0, 0.3),
    "a tester slower than the SUT": SlowTester(3_000_000.0, 600_000.0),
}


@pytest.mark.parametrize("name", SUTS)
@pytest.mark.parametrize("goals", [CSIT, PROOF, CSIT[:1], PROOF[1:]], ids=["CSIT", "proof", "CSIT NDR", "proof PDR"])
def test_the_bounds_enclose_the_truth_within_the_width_asked_for(name: str, goals: tuple[Goal, ...]) -> None:
    sut = SUTS[name]
    _, intervals = run_search(goals, loss_ratio_of(sut))
    for interval in intervals:
        assert interval.lower_valid and interval.upper_valid and interval.final
        assert interval.lower_load_pps is not None and interval.upper_load_pps is not None
        truth = sut.throughput(interval.goal.loss_ratio, interval.goal.final_trial_duration_s or 0.0)
        assert interval.lower_load_pps <= truth.high_pps
        assert interval.upper_load_pps >= truth.low_pps
        assert (interval.upper_load_pps - interval.lower_load_pps) / interval.upper_load_pps <= 0.005


@pytest.mark.parametrize("sut", [Jitter(1_500_000.0, 0.05, seed=1), Stalls(2_000_000.0, 3.0, 0.02, seed=3)])
def test_a_fickle_sut_gets_a_regular_result_from_goals_that_tolerate_it(sut: Sut) -> None:
    _, intervals = run_search(CSIT, loss_ratio_of(sut))
    for interval in intervals:
        assert interval.final and interval.flags == ()
        assert (interval.lower_load_pps or 0) > 0.9 * 1_500_000


def test_seven_good_trials_of_one_second_and_half_a_second_overhead_make_a_lower_bound_of_csits_goal() -> None:
    trials, (ndr,) = run_search(CSIT[:1], loss_ratio_of(Step(1_234_567.0)))
    assert [trial.intended_load_pps for trial in trials].count(ndr.lower_load_pps or 0) == 7
    trials, (ndr,) = run_search(CSIT[:1], loss_ratio_of(Step(1_234_567.0)), overhead_s=0.0)
    assert [trial.intended_load_pps for trial in trials].count(ndr.lower_load_pps or 0) == 11


def test_goals_of_different_durations_share_their_trials() -> None:
    sut = Step(1_234_567.0)
    goals = (proof_goal("30 s", 0.0), proof_goal("10 s", 0.0, final_s=10.0), proof_goal("PDR", 0.005, final_s=2.0))
    trials, intervals = run_search(goals, loss_ratio_of(sut))
    for interval in intervals:
        truth = sut.throughput(interval.goal.loss_ratio, interval.goal.final_trial_duration_s or 0.0)
        assert interval.final
        assert (interval.lower_load_pps or 0) <= truth.high_pps
        assert (interval.upper_load_pps or 0) >= truth.low_pps
    assert len(trials) < sum(len(run_search((goal,), loss_ratio_of(sut))[0]) for goal in goals)


def test_long_trials_may_decide_a_goal_of_shorter_ones_which_the_findings_say() -> None:
    """As published: 30 s trials overflow a buffer that absorbs the excess of 1 s trials; both are full-length."""
    answer = loss_ratio_of(Buffer(800_000.0, 400_000))
    _, (alone,) = run_search(CSIT[:1], answer)
    assert alone.lower_load_pps == pytest.approx(1_200_000, rel=0.006)

    search = create(plan_for((csit_goal("1 s", 0.0), proof_goal("30 s", 0.0))))
    drive(search, answer)
    short, long = search.intervals()
    assert short.lower_load_pps == long.lower_load_pps == pytest.approx(813_333, rel=0.006)
    (finding,) = search.findings()
    assert finding.code == "mixed-trial-durations"
    assert "30 s" in format_message(finding) and "1 s" in format_message(finding)
    assert create(plan_for(PROOF)).findings() == ()


def test_a_goal_met_at_the_highest_load_has_no_upper_bound_and_says_so() -> None:
    trials, intervals = run_search(CSIT + PROOF, loss_ratio_of(Step(2 * HIGH)))
    assert {trial.intended_load_pps for trial in trials} == {HIGH}
    for interval in intervals:
        assert (interval.lower_load_pps, interval.lower_valid, interval.upper_valid) == (HIGH, True, False)
        assert (interval.final, codes(interval)) == (True, ["met-at-max-load"])
        assert interval.conditional_throughput_pps == HIGH


def test_a_goal_that_fails_at_the_lowest_load_is_lost_and_the_others_are_found_all_the_same() -> None:
    _, (ndr, pdr) = run_search(PROOF, loss_ratio_of(LossFloor(900_000.0, 0.001)))
    assert (ndr.upper_load_pps, ndr.upper_valid, ndr.lower_valid) == (LOW, True, False)
    assert ndr.conditional_throughput_pps is None
    assert "goal-lost" in codes(ndr)
    assert "goal-lost" not in codes(pdr) and pdr.final
    assert pdr.lower_load_pps == pytest.approx(900_000 / 0.996, rel=0.006)


def test_fail_fast_ends_the_search_with_the_first_lost_goal_and_keeps_what_is_known() -> None:
    answer = loss_ratio_of(LossFloor(900_000.0, 0.001))
    all_trials, _ = run_search(PROOF, answer)
    trials, (ndr, pdr) = run_search(PROOF, answer, fail_fast=True)
    assert trials == all_trials[: len(trials)]
    assert len(trials) < len(all_trials)
    assert "goal-lost" in codes(ndr)
    assert pdr.lower_index is not None and pdr.upper_index is not None


@pytest.mark.parametrize("goals", [CSIT, PROOF], ids=["CSIT", "proof"])
def test_a_dead_link_is_lost_at_the_lowest_load_after_a_few_trials(goals: tuple[Goal, ...]) -> None:
    trials, intervals = run_search(goals, lambda _trial: 1.0)
    assert {trial.intended_load_pps for trial in trials} == {HIGH, LOW}
    assert all("goal-lost" in codes(interval) and interval.final for interval in intervals)


def test_an_upper_bound_from_short_trials_is_flagged_as_such() -> None:
    """With exceed ratio 0 one lossy short trial settles a load for good: RFC 9971, "first short bad" of its example."""

    def warming_up(trial: Trial) -> float:
        return 0.01 if trial.intended_load_pps > (1_000_000 if trial.duration_s < 30 else 2_000_000) else 0.0

    _, (ndr,) = run_search(PROOF[:1], warming_up)
    assert codes(ndr) == ["short-upper-bound"]
    assert ndr.upper_load_pps == pytest.approx(1_000_000, rel=0.01)
    _, (ndr,) = run_search(CSIT[:1], warming_up)
    assert codes(ndr) == []


def test_bounds_can_be_read_after_every_trial_and_point_at_trials_that_say_so() -> None:
    answer = loss_ratio_of(Jitter(1_500_000.0, 0.1, seed=4))
    search = create(plan_for(CSIT + PROOF))
    assert all(codes(i) == ["undecided-lower-bound", "undecided-upper-bound"] for i in search.intervals())
    assert all(i.lower_index is None and i.upper_index is None and not i.final for i in search.intervals())
    report: list[tuple[Trial, float]] = []
    while (trial := search.ask()) is not None:
        report.append((trial, answer(trial)))
        search.tell(Outcome(index=len(report) - 1, loss_ratio=report[-1][1]))
        for interval in search.intervals():
            assert interval.lower_index is not None and interval.upper_index is not None
            lower_trial, lower_ratio = report[interval.lower_index]
            upper_trial, upper_ratio = report[interval.upper_index]
            assert lower_trial.intended_load_pps == interval.lower_load_pps
            assert upper_trial.intended_load_pps == interval.upper_load_pps
            assert not interval.lower_valid or lower_ratio <= interval.goal.loss_ratio
            assert not interval.upper_valid or upper_ratio > interval.goal.loss_ratio


def test_the_conditional_throughput_is_what_comes_back_of_the_worst_trial_the_goal_counts() -> None:
    _, (_, pdr) = run_search(PROOF, loss_ratio_of(SmoothCurve(2_000_000.0, 0.3)))
    assert pdr.lower_load_pps is not None and pdr.conditional_throughput_pps is not None
    assert 0.995 * pdr.lower_load_pps <= pdr.conditional_throughput_pps < 0.998 * pdr.lower_load_pps


def test_every_trial_says_why_and_none_is_cut_short() -> None:
    trials, _ = run_search(CSIT, loss_ratio_of(SmoothCurve(2_000_000.0, 0.3)))
    assert all(trial.reason and trial.rule and trial.stop is None for trial in trials)
    assert [trial.rule for trial in trials[:3]] == ["highest-load", "forwarding-rate", "beside-forwarding-rate"]
    assert [trial.goal for trial in trials[:3]] == ["", "", ""]
    assert {trial.goal for trial in trials[3:]} == {"NDR", "PDR"}


def test_goals_take_what_they_leave_open_from_the_search() -> None:
    (interval,) = create(plan_for((Goal(label="NDR", loss_ratio=0.0),))).intervals()
    assert interval.goal.initial_trial_duration_s == 1.0
    assert interval.goal.final_trial_duration_s == interval.goal.duration_sum_s == 30.0
    assert interval.goal.width_ratio == 0.005


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "no loads": ({"max_load_pps": LOW}, "is not above search.min_load"),
    "expansion below 2": (
        {"expansion_coefficient": 1.5},
        "1.5 is not a whole number of at least 2, .* set it to 2, 3, 4",
    ),
    "broken expansion": (
        {"expansion_coefficient": 2.5},
        "2.5 is not a whole number of at least 2, .* set it to 2, 3, 4",
    ),
    "no preceding targets": (
        {"preceding_targets": 0},
        "search.preceding_targets: 0 leaves NDR no way .* set it to at least 1",
    ),
    "initial trials too long": (
        {"goals": (Goal(label="NDR", loss_ratio=0.0, initial_trial_duration_s=5.0, final_trial_duration_s=2.0),)},
        "goals.NDR.initial_trial_duration: 5 s exceeds goals.NDR.final_trial_duration .2 s.; make",
    ),
    "sum too short": (
        {"goals": (Goal(label="NDR", loss_ratio=0.0, duration_sum_s=10.0),)},
        "search.final_trial_duration: 30 s exceeds goals.NDR.duration_sum .10 s.; make",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_searched_for_is_refused_with_a_remedy(name: str) -> None:
    changes, sentence = REFUSED[name]
    with pytest.raises(ConfigError, match=sentence):
        create(plan_for(**{"goals": PROOF} | changes))


def test_a_goal_of_one_trial_length_needs_no_preceding_targets() -> None:
    goal = Goal(label="NDR", loss_ratio=0.0, initial_trial_duration_s=2.0, final_trial_duration_s=2.0)
    trials, (interval,) = run_search((goal,), loss_ratio_of(Step(1_234_567.0)), preceding_targets=0)
    assert {trial.duration_s for trial in trials} == {2.0}
    assert interval.final and interval.flags == ()


def test_the_search_asks_the_same_until_told_and_nothing_when_over() -> None:
    search = create(plan_for(PROOF))
    assert search.ask() is search.ask()
    drive(search, loss_ratio_of(Step(1_234_567.0)))
    assert search.ask() is None
    with pytest.raises(RuntimeError, match="over"):
        search.tell(Outcome(index=0, loss_ratio=0.0))


def test_a_wanted_step_keeps_its_distance_from_bounds_and_lands_on_limits() -> None:
    assert find_spaced(50, 10, top=100) == 50
    assert find_spaced(95, 10, top=100) == 100, "a limit attracts"
    assert find_spaced(95, 10, top=100, upper=100) == 90, "a bound repels"
    assert find_spaced(5, 10, top=100, lower=0) == 10
    assert find_spaced(30, 10, top=100, lower=40) is None, "not beyond a bound"
    assert find_spaced(45, 10, top=100, lower=40, upper=50) is None, "no room"
    assert find_spaced(41, 10, top=100, lower=40, upper=55) == 45, "room on one side only: the middle, rather low"
    assert find_spaced(1, 200, top=100) == 0, "wider than the grid: the lowest load"
