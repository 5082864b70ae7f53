"""nodrop's own search against simulated SUTs, whose truth is known; `scripts/bench search` runs many more of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from tests.own import (
    LONG,
    MAX_LOAD_PPS,
    MIN_LOAD_PPS,
    NDR,
    PDR,
    SHORT,
    WIDTH_RATIO,
    codes,
    error_ratio,
    goal,
    probe_plan,
    search,
)

from nodrop.formatting.messages import format_message
from nodrop.model.goal import Goal
from nodrop.model.search_plan import EarlierGoal
from nodrop.search import width
from nodrop.search.base import Interval
from nodrop.simulation import SUTS, create
from nodrop.simulation.fluid_queue import CapacityPeriod
from nodrop.simulation.search_run import SimulatedSearch, simulate_search
from nodrop.simulation.stationary import HardLimit
from nodrop.simulation.sut import LossTimeline

STEADY = ("hard-limit", "tester-overload", "tester-overload-above", "loss-inversion", "duration-dependent")
CALM = (*STEADY, "deep-buffer", "degrading", "stall-periodic", "warm-up")


def is_narrow(interval: Interval) -> bool:
    assert interval.lower_load_pps and interval.upper_load_pps
    return width.compute_between(interval.lower_load_pps, interval.upper_load_pps) <= WIDTH_RATIO * (1 + 1e-9)


def finding_text(result: SimulatedSearch, code: str) -> str:
    """Return the text of a finding; fail if it is missing."""
    return next(format_message(flag) for flag in result.findings if flag.code == code)


def megapackets(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"([\d.]+) Mpps", text)]


@pytest.mark.parametrize("kind", CALM)
@pytest.mark.parametrize("seed", [1, 2])
def test_bounds_enclose_the_truth_or_come_within_one_percent_of_it(kind: str, seed: int) -> None:
    sut = SUTS[kind](seed)
    for interval in search(kind, seed).intervals:
        assert interval.lower_valid and interval.upper_valid
        assert abs(error_ratio(interval, sut)) < 0.01


@pytest.mark.parametrize("kind", ["stall-random", "two-modes-trial", "two-modes-time"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_loss_free_rate_comes_within_one_percent_of_the_truth_where_only_chance_says_what_a_trial_meets(
    kind: str, seed: int
) -> None:
    loss_free, _ = search(kind, seed).intervals
    assert abs(error_ratio(loss_free, SUTS[kind](seed))) < 0.01


@pytest.mark.parametrize("kind", STEADY)
def test_two_proofs_and_a_few_moments_are_enough_where_the_sut_is_always_the_same(kind: str) -> None:
    result = search(kind)
    assert result.traffic_s <= 70.0
    assert all(is_narrow(interval) and interval.final for interval in result.intervals)


@pytest.mark.parametrize("kind", ["hard-limit", "tester-overload", "loss-inversion", "stall-random"])
def test_short_goals_of_which_half_may_fail_cost_two_proofs_as_well(kind: str) -> None:
    sut, result = SUTS[kind](1), search(kind, goals=SHORT)
    assert result.wall_s <= 30.0
    assert all(abs(error_ratio(interval, sut)) < 0.005 and is_narrow(interval) for interval in result.intervals)


def test_a_dead_link_meets_no_goal_and_says_so_within_seconds() -> None:
    result = search("dead-link")
    assert result.traffic_s < 5.0
    for interval in result.intervals:
        assert not interval.lower_valid
        assert interval.upper_load_pps == MIN_LOAD_PPS
        assert "goal-lost" in codes(interval)


def test_a_capacity_below_the_lowest_load_allowed_is_reported_as_no_rate_at_all() -> None:
    result = simulate_search(
        probe_plan(), create("hard-limit", 1, {"capacity_pps": MIN_LOAD_PPS / 2.0, "buffer_count": 0.0})
    )
    assert result.traffic_s < 20.0  # it may only have to warm up
    for interval in result.intervals:
        assert not interval.lower_valid and interval.upper_valid
        assert interval.upper_load_pps == MIN_LOAD_PPS
        assert "goal-lost" in codes(interval)


def test_a_perfect_link_meets_every_goal_at_the_highest_load_by_one_proof() -> None:
    result = search("perfect-link")
    assert result.traffic_s < 31.0
    for interval in result.intervals:
        assert interval.lower_load_pps == MAX_LOAD_PPS
        assert not interval.upper_valid
        assert "met-at-max-load" in codes(interval)


@pytest.mark.parametrize("only", [NDR, PDR, goal("PDR 5 %", 0.05)])
def test_a_goal_alone_is_found_as_it_is_among_others(only: Goal) -> None:
    (interval,) = search("hard-limit", goals=(only,)).intervals
    assert abs(error_ratio(interval, SUTS["hard-limit"](1))) < 0.005


def test_three_goals_are_found_in_one_search() -> None:
    result = search("hard-limit", goals=(NDR, PDR, goal("PDR 5 %", 0.05)))
    assert all(abs(error_ratio(interval, SUTS["hard-limit"](1))) < 0.005 for interval in result.intervals)
    assert result.traffic_s < 105.0


def test_the_ndr_of_one_second_and_that_of_thirty_come_from_one_search() -> None:
    sut = SUTS["deep-buffer"](1)
    short, long = search("deep-buffer", goals=(goal("NDR 1 s", 0.0, 1.0), NDR)).intervals
    assert abs(error_ratio(short, sut)) < 0.01 and abs(error_ratio(long, sut)) < 0.01
    # Two million frames of buffer carry 2 Mpps more for a second, and 0.067 Mpps more for thirty.
    assert short.lower_load_pps and long.lower_load_pps
    assert short.lower_load_pps - long.lower_load_pps == pytest.approx(1.93e6, rel=0.1)


def warm_start(result: SimulatedSearch) -> tuple[EarlierGoal, ...]:
    """Return a search's result as the warm start of the next one."""
    goals = []
    for interval in result.intervals:
        assert interval.lower_load_pps and interval.upper_load_pps
        loads = {"lower_pps": interval.lower_load_pps, "upper_pps": interval.upper_load_pps}
        goals.append(EarlierGoal(loss_ratio=interval.goal.loss_ratio, final_trial_duration_s=30.0, **loads))
    return tuple(goals)


def test_a_warm_start_proves_one_bound_anew_where_nothing_changed() -> None:
    result = search("hard-limit", earlier=warm_start(search("hard-limit")))
    assert result.traffic_s <= 35.0
    assert all(abs(error_ratio(interval, SUTS["hard-limit"](1))) < 0.005 for interval in result.intervals)
    assert "earlier-lower-bound" in codes(result.intervals[1])


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_a_warm_start_finds_the_truth_of_a_sut_that_changed(factor: float) -> None:

    sut = create("hard-limit", 1, {"capacity_pps": 9.1e6 * factor})
    result = simulate_search(probe_plan(earlier=warm_start(search("hard-limit"))), sut)
    assert all(abs(error_ratio(interval, sut)) < 0.005 for interval in result.intervals)
    assert result.traffic_s <= 70.0


@pytest.mark.parametrize("budget_s", [5.0, 20.0, 60.0])
@pytest.mark.parametrize("kind", ["hard-limit", "stall-random", "noisy-windows", "warm-up"])
def test_a_budget_is_kept_and_what_it_was_too_short_for_is_flagged(kind: str, budget_s: float) -> None:
    result = search(kind, search_duration_max_s=budget_s)
    assert result.wall_s <= budget_s + 0.5
    for interval in result.intervals:
        assert interval.upper_load_pps
        assert interval.final or codes(interval) & {"out-of-time", "short-lower-bound", "undecided-lower-bound"}


def test_nothing_is_found_on_a_sut_of_which_there_is_nothing_to_find() -> None:
    result = search("hard-limit")
    assert result.findings == ()
    assert all(codes(interval) <= {"short-upper-bound"} for interval in result.intervals)


def test_a_warm_up_is_reported_with_its_size() -> None:
    cold_pps, warm_pps = megapackets(finding_text(search("warm-up"), "warm-up"))
    # 8 % below its capacity at first, a state that cannot be measured again.
    assert cold_pps == pytest.approx(9.1 * 0.92, rel=0.01)
    assert warm_pps == pytest.approx(9.1, rel=0.01)


def test_a_drift_is_reported_with_its_size() -> None:
    first_pps, last_pps = megapackets(finding_text(search("drift"), "drift"))
    assert first_pps == pytest.approx(9.1, rel=0.005)
    assert 9.1 * 0.97 <= last_pps < first_pps


def test_modes_of_whole_trials_are_reported_with_both_capacities() -> None:
    findings = [flag for seed in range(8) for flag in search("two-modes-trial", seed).findings]
    message = [format_message(flag) for flag in findings if flag.code == "modes"]
    assert len(message) >= 4  # Seven trials out of ten are in the better mode: a search may miss the other.
    for text in message:
        assert sorted(megapackets(text)[:2]) == pytest.approx([8.3, 9.1], rel=0.005)


@pytest.mark.parametrize("seed", range(6))
def test_a_mode_that_changes_within_trials_is_reported_with_the_capacity_it_falls_to(seed: int) -> None:
    result = search("two-modes-time", seed)
    _, slow_pps = megapackets(finding_text(result, "mode-switching"))
    assert slow_pps == pytest.approx(8.3, rel=0.002)
    assert not {"drift", "warm-up"} & {flag.code for flag in result.findings}


def test_a_warm_up_is_seen_through_where_only_loss_free_loads_are_looked_for() -> None:
    # No later long trial exceeds the first capacity: the upper bound is measured again.
    sut, result = SUTS["warm-up"](1), search("warm-up", goals=(NDR,))
    assert abs(error_ratio(result.intervals[0], sut)) < 0.01
    assert finding_text(result, "warm-up")


def test_stalls_are_reported_with_their_length_and_the_load_they_begin_to_cost_frames_at() -> None:
    text = finding_text(search("stall-random", 7), "stalls")
    (free_pps,) = megapackets(text)
    # 4096 frames are buffered while it stops for 1 ms.
    assert free_pps == pytest.approx(4.096, rel=0.02)
    assert "1 ms" in text


def test_a_buffer_is_reported_with_its_size() -> None:
    text = finding_text(search("deep-buffer"), "buffer")
    (count,) = [int(each.replace(",", "")) for each in re.findall(r"([\d,]+) frames", text)]
    assert count == pytest.approx(2_000_000, rel=0.05)


def test_a_fall_within_trials_is_reported_as_that_and_not_as_a_drift() -> None:
    result = search("degrading")
    assert finding_text(result, "degradation")
    assert "drift" not in {flag.code for flag in result.findings}


def test_a_tester_that_cannot_keep_up_is_named() -> None:
    (limit_pps, *_) = megapackets(finding_text(search("tester-overload"), "tester-limited"))
    assert limit_pps == pytest.approx(20.0, rel=0.01)


@pytest.mark.parametrize(
    ("code", "kind", "seed", "short"),
    [
        ("parts-as-trials", "hard-limit", 1, True),
        ("early-upper-bound", "hard-limit", 1, True),
        ("trials-set-aside", "warm-up", 1, False),
        ("short-upper-bound", "hard-limit", 1, False),
    ],
)
def test_every_deviation_from_the_classification_is_flagged(code: str, kind: str, seed: int, short: bool) -> None:
    result = search(kind, seed, SHORT if short else LONG)
    assert any(code in codes(interval) for interval in result.intervals)


def test_a_proof_cut_short_by_the_budget_is_not_called_proven() -> None:
    result = search("hard-limit", search_duration_max_s=20.0)
    for interval in result.intervals:
        assert interval.lower_load_pps
        assert "short-lower-bound" in codes(interval)
        assert not interval.final


def test_a_bound_more_likely_wrong_than_right_is_called_doubtful_and_no_other_is() -> None:
    doubted = 0
    for kind in ("drift", "smooth-knee", "noisy-capacity", "noisy-windows", "hard-limit"):
        for interval in search(kind).intervals:
            for side in ("lower", "upper"):
                probability = getattr(interval, f"{side}_error_probability") or 0.0
                assert (f"doubtful-{side}-bound" in codes(interval)) == (probability > 0.5)
                doubted += probability > 0.5
    assert doubted


@pytest.mark.parametrize("cold_ratio", [0.15, 0.2, 0.3])
def test_a_sut_that_warms_up_by_a_lot_is_not_taken_for_one_with_two_modes(cold_ratio: float) -> None:
    sut = create("warm-up", 1, {"cold_ratio": cold_ratio})
    result = simulate_search(probe_plan(LONG), sut)
    assert all(abs(error_ratio(interval, sut)) < 0.01 for interval in result.intervals)


@dataclass(kw_only=True)
class WorseInOverload(HardLimit):
    """Forwards 9.1 Mpps, but less at higher loads."""

    overloaded_pps: float
    load_pps: float = 0.0

    def offer(self, load_pps: float, duration_s: float, start_s: float) -> LossTimeline:
        self.load_pps = load_pps
        return super().offer(load_pps, duration_s, start_s)

    def _capacities(self, duration_s: float, start_s: float) -> Iterable[CapacityPeriod]:  # noqa: ARG002
        pps = self.overloaded_pps if self.load_pps > self.capacity_pps else self.capacity_pps
        return (CapacityPeriod(duration_s, pps),)


@pytest.mark.parametrize("overloaded_pps", [8.9e6, 8.1e6, 7e6, 5e6])
def test_a_sut_that_forwards_less_in_overload_is_measured_with_a_single_proof(overloaded_pps: float) -> None:
    sut = WorseInOverload(overloaded_pps=overloaded_pps)
    result = simulate_search(probe_plan(LONG), sut)
    assert all(abs(error_ratio(interval, sut)) < 0.01 for interval in result.intervals)
    assert result.traffic_s < 60.0


def test_a_sut_that_forwards_less_in_overload_is_probed_just_above_its_limit() -> None:
    sut = WorseInOverload(overloaded_pps=8.9e6)
    result = simulate_search(probe_plan(LONG), sut)
    first_proof = next(index for index, trial in enumerate(result.trials) if trial.goal)
    lossy = [t for t, o in zip(result.trials[:first_proof], result.outcomes, strict=False) if o.lost_count]
    assert min(trial.intended_load_pps for trial in lossy) < 1.25 * sut.capacity_pps


@pytest.mark.parametrize("goals", [LONG, SHORT])
@pytest.mark.parametrize("min_load_pps", [800.0, MIN_LOAD_PPS])
@pytest.mark.parametrize(("flow_count", "miss_s"), [(64, 1e-3), (200, 3e-3), (512, 1e-3), (1000, 3e-3), (4096, 1e-3)])
def test_flows_that_are_still_unknown_mislead_no_search(
    goals: tuple[Goal, ...], min_load_pps: float, flow_count: int, miss_s: float
) -> None:
    sut = create("flow-table", 1, {"flow_count": flow_count, "miss_s": miss_s})
    result = simulate_search(probe_plan(goals, min_load_pps=min_load_pps), sut)
    for interval in result.intervals:
        assert abs(error_ratio(interval, sut)) < 2 * WIDTH_RATIO
