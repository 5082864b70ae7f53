"""Guarantees of the soak search: the draft's loads, an estimate near the truth, reproducible results."""

import math
import random
from collections.abc import Callable

import pytest
from tests.searching import Answer, drive, loss_ratio_of, search_plan
from tests.suts import Buffer, LossFloor, SlowTester, SmoothCurve, Step, Sut

from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome, Search
from nodrop.search.critical_load import estimate_critical_load

TARGET = 1e-7


def make_plan(duration_s: float = 110.0, loss_ratios: tuple[float, ...] = (TARGET,), **changed: object) -> SearchPlan:
    """Return the plan of a search, by default of 17 trials from 5.1 s up."""
    plan = search_plan(loss_ratios=loss_ratios)
    return plan.model_copy(update={"algorithm": "plrsearch", "search_duration_max_s": duration_s, **changed})


def estimate_and_spread(search: Search) -> tuple[float, float]:
    [interval] = search.intervals()
    assert interval.estimate_pps is not None
    assert interval.estimate_sd_pps is not None
    return interval.estimate_pps, interval.estimate_sd_pps


def flag_codes(search: Search) -> set[str]:
    return {flag.code for interval in search.intervals() for flag in interval.flags}


def test_the_first_four_loads_are_the_drafts_and_then_the_estimate_leads() -> None:
    trials = drive(create(make_plan()), loss_ratio_of(Step(3_300_000.0)))
    loads = [trial.intended_load_pps for trial in trials]
    assert loads[:4] == pytest.approx([5_005_000, 10_000_000, 3_300_000, 3_300_000], rel=1e-6)
    rules = [trial.rule for trial in trials]
    assert rules[:4] == ["middle", "highest", "forwarding-rate", "forwarding-rate"]
    assert set(rules[4:]) <= {"estimate", "zero-streak"}
    assert all(
        trial.goal == "PDR 1e-07" and trial.stop is None and len(format_message(trial.reason)) > 20 for trial in trials
    )


def test_an_estimate_lies_between_the_two_models_and_leads_the_fifth_trial() -> None:
    search = create(make_plan())
    answer = loss_ratio_of(SmoothCurve(3e6, 0.3))
    for index in range(4):
        trial = search.ask()
        assert trial is not None
        search.tell(Outcome(index=index, loss_ratio=answer(trial)))
    fifth = search.ask()
    assert fifth is not None
    estimate_pps, sd_pps = estimate_and_spread(search)
    assert abs(fifth.intended_load_pps - estimate_pps) <= 2 * sd_pps


def test_durations_grow_by_the_increment_from_the_initial_count_on() -> None:
    plan = make_plan(59.0, initial_count=10, duration_increment_s=0.5, overhead_s=0.25)
    durations_s = [trial.duration_s for trial in drive(create(plan), loss_ratio_of(Step(1e6)))]
    assert durations_s == pytest.approx([5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5])
    assert sum(durations_s) + 0.25 * 6 <= 59 < sum(durations_s) + 0.25 * 7 + 9.0


def test_the_time_that_really_passes_between_trials_counts() -> None:
    plan = make_plan(60.0, initial_count=0, duration_increment_s=1.0, overhead_s=0.0)
    search, now_s, count = create(plan), 0.0, 0
    while (trial := search.ask()) is not None:
        assert now_s + trial.duration_s <= 60.0, "a trial would end too late"
        search.tell(Outcome(index=count, loss_ratio=0.5, started_s=now_s, elapsed_s=trial.duration_s))
        now_s += trial.duration_s + 2.0
        count += 1
    assert count == 8  # 1 + 2 + ... + 8 s and 7 times 2 s between make 50 s; a ninth would end at 61 s


TRUTHS: dict[str, tuple[Sut, float, float]] = {
    "a step": (Step(3.3e6), 3.3e6, 0.001),
    "a step near the lowest load": (Step(20_000.0), 20_000.0, 0.001),
    "a step near the highest load": (Step(9.99e6), 9.99e6, 0.001),
    "a smooth curve": (SmoothCurve(3e6, 0.3), 3e6 * (1 + (TARGET / 0.3) ** 0.5), 0.002),
    "a steep curve": (SmoothCurve(3e6, 300.0), 3e6 * (1 + (TARGET / 300) ** 0.5), 0.002),
    "a buffer that hides a little": (Buffer(3.3e6, 1000), 3.3e6, 0.002),
    "a loss floor below the target": (LossFloor(3.3e6, 1e-9), 3.3e6, 0.002),
    "a tester slower than the SUT": (SlowTester(8e6, 5e6), 5e6, 0.002),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_the_estimate_comes_near_the_load_with_the_target_as_mean_loss(name: str) -> None:
    sut, truth_pps, within_ratio = TRUTHS[name]
    search = create(make_plan(200.0))
    drive(search, loss_ratio_of(sut))
    estimate_pps, _ = estimate_and_spread(search)
    assert estimate_pps == pytest.approx(truth_pps, rel=within_ratio)


def test_an_estimate_of_random_loss_is_off_by_a_few_of_its_deviations_at_most() -> None:
    """Answer loss ratio 1e-7 at 3.3 Mpps, ten times as much or as little for each percent of load."""
    for seed in range(2):
        draw = random.Random(seed)

        def answer(trial: Trial, draw: random.Random = draw) -> float:
            mean_ratio = min(0.9, TARGET * 10 ** min(6.0, 100 * (trial.intended_load_pps / 3.3e6 - 1)))
            intended_count = trial.intended_load_pps * trial.duration_s
            mean_count = intended_count * mean_ratio
            return max(0.0, round(draw.gauss(mean_count, mean_count**0.5))) / intended_count

        search = create(make_plan(200.0))
        drive(search, answer)
        estimate_pps, sd_pps = estimate_and_spread(search)
        assert abs(estimate_pps - 3.3e6) < 4 * sd_pps
        assert sd_pps < 0.01 * 3.3e6


def test_the_same_outcomes_lead_to_the_same_search_however_often_it_is_computed() -> None:
    answer: Answer = loss_ratio_of(SmoothCurve(3e6, 0.3))
    first = create(make_plan())
    first_trials = drive(first, answer)
    estimate_critical_load.cache_clear()
    second = create(make_plan())
    assert drive(second, answer) == first_trials
    assert second.intervals() == first.intervals()
    assert all(float(f"{trial.intended_load_pps:.9g}") == trial.intended_load_pps for trial in first_trials)


def test_loads_rise_from_the_estimate_towards_a_lossy_one_while_nothing_is_lost() -> None:
    """Weights of the draft: 1 : 1 after one trial without loss, 1 : 2 after two, and so on."""
    search = create(make_plan())
    answers = [0.5, 0.7, 0.01, 0.0, 0.0, 0.0]
    lossy = [10e6, *[5_005_000.0] * 4, *[10e6] * 4]
    for index, loss_ratio in enumerate(answers):
        trial = search.ask()
        assert trial is not None
        if index == 2:
            lossy = sorted([*lossy, *[trial.intended_load_pps] * 4])
        if index >= 4:
            assert trial.rule == "zero-streak"
            assert format_message(trial.reason).startswith(f"{index - 3} in a row without loss")
            estimate_pps = _lead_estimate(search)
            weight = 2.0 ** (1 - (index - 3))
            expected = (lossy[0] + weight * estimate_pps) / (1 + weight)
            assert trial.intended_load_pps == pytest.approx(expected, rel=1e-8)
            lossy = lossy[3:]
        search.tell(Outcome(index=index, loss_ratio=loss_ratio))


def _lead_estimate(search: Search) -> float:
    """Return the leading estimate, from the search's own record of its trials."""
    plan = search._plan
    return estimate_critical_load(
        tuple(search._observations), TARGET, plan.min_load_pps, plan.max_load_pps
    ).between_curves_pps


@pytest.mark.parametrize(
    ("answer", "flag", "held_pps"),
    [
        (lambda _trial: 0.0, "estimate-at-highest-load", 1e7),
        (lambda _trial: 1.0, "estimate-at-lowest-load", 1e4),
        (loss_ratio_of(LossFloor(3.3e6, 1e-5)), "estimate-at-lowest-load", 1e4),
    ],
)
def test_an_estimate_at_the_end_of_the_loads_allowed_is_flagged(
    answer: Callable[[Trial], float], flag: str, held_pps: float
) -> None:
    search = create(make_plan())
    trials = drive(search, answer)
    assert estimate_and_spread(search)[0] == pytest.approx(held_pps, rel=0.01)
    assert flag in flag_codes(search)
    assert all(1e4 <= trial.intended_load_pps <= 1e7 for trial in trials)


def test_frames_never_sent_count_as_lost_and_are_flagged() -> None:
    search = create(make_plan())
    count = 0
    while (trial := search.ask()) is not None:
        intended_count = round(trial.intended_load_pps * trial.duration_s)
        offered_count = min(intended_count, round(5e6 * trial.duration_s))
        unsent_count = intended_count - offered_count
        search.tell(
            Outcome(
                index=count,
                loss_ratio=unsent_count / intended_count,
                elapsed_s=trial.duration_s,
                offered_count=offered_count,
                unsent_count=unsent_count,
            )
        )
        count += 1
    assert estimate_and_spread(search)[0] == pytest.approx(5e6, rel=0.001)
    assert "tester-limited" in flag_codes(search)


def test_there_are_no_bounds_and_before_the_first_trial_no_estimate() -> None:
    search = create(make_plan())
    [before] = search.intervals()
    assert before.estimate_pps is None
    search.tell(Outcome(index=0, loss_ratio=0.4))
    [after] = search.intervals()
    assert after.estimate_pps is not None
    assert (after.lower_index, after.upper_index, after.lower_valid, after.upper_valid) == (None, None, False, False)


def test_whatever_comes_of_trials_nothing_raises() -> None:
    for seed in range(15):
        draw = random.Random(seed)
        max_load_pps = 10 ** draw.uniform(0.5, 10)
        search = create(
            make_plan(
                25.0,
                loss_ratios=(10 ** draw.uniform(-13, -0.1),),
                min_load_pps=min(max_load_pps, 10 ** draw.uniform(-3, 9)),
                max_load_pps=max_load_pps,
                initial_count=draw.choice((0, 5)),
                duration_increment_s=draw.choice((0.001, 1.0)) if seed % 2 else 1.0,
            )
        )
        for index in range(12):
            trial = search.ask()
            if trial is None:
                break
            assert search._plan.min_load_pps <= trial.intended_load_pps <= max_load_pps
            lost_ratio = draw.choice((0.0, 1e-9, 1e-6, 0.1, 0.999, 1.0))
            offered_count = draw.choice((0, 1, round(trial.intended_load_pps)))
            lost_count = round(lost_ratio * offered_count)
            unsent_count = draw.choice((0, 0, 7))
            search.tell(
                Outcome(
                    index=index,
                    loss_ratio=lost_ratio if offered_count else 1.0,
                    offered_count=offered_count,
                    lost_count=lost_count,
                    unsent_count=unsent_count,
                    started_s=draw.choice((0.0, index * 2.0)),
                )
            )
            estimate_pps, sd_pps = estimate_and_spread(search)
            assert 0 < estimate_pps < math.inf
            assert 0 <= sd_pps <= estimate_pps


@pytest.mark.parametrize("loss_ratios", [(0.0,), (0.0, 0.005), (0.001, 0.005)])
def test_it_takes_exactly_one_goal_that_allows_loss(loss_ratios: tuple[float, ...]) -> None:
    with pytest.raises(ConfigError, match="one such goal"):
        create(make_plan(loss_ratios=loss_ratios))


def test_a_first_trial_longer_than_the_search_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"shorter than the first trial \(5\.1 s\)"):
        create(make_plan(5.0))
