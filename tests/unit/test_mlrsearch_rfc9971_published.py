"""The same trials and the same results as the published library, MLRsearch 1.2.1, on random systems and goals."""

import random
from typing import Any

import pytest
from tests.cases import KINDS, Case
from tests.peers import load
from tests.searching import drive, loss_ratio_of

from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.search.base import Interval
from nodrop.search.load_grid import LoadGrid
from nodrop.search.next_load import find_middle
from nodrop.simulation import SutFunction

peer = load("1.2.1")


def goal(label: str, loss_ratio: float, exceed_ratio: float, durations_s: tuple[float, float, float], w: float) -> Goal:
    return Goal(
        label=label,
        loss_ratio=loss_ratio,
        exceed_ratio=exceed_ratio,
        initial_trial_duration_s=durations_s[0],
        final_trial_duration_s=durations_s[1],
        duration_sum_s=durations_s[2],
        width_ratio=w,
    )


def random_durations_s(draw: random.Random, stretch: bool) -> tuple[float, float, float]:
    initial_s = draw.choice((1.0, 10 ** draw.uniform(-1.3, 0.7)))
    if not stretch:
        return initial_s, initial_s, initial_s
    final_s = initial_s * draw.choice((1.0, 1.0 + draw.random(), 10 ** draw.uniform(0, 1.5)))
    return initial_s, final_s, final_s * draw.choice((1.0, 2.0, 21.0, draw.uniform(1, 12)))


def random_goals(draw: random.Random, stretch: bool) -> tuple[Goal, ...]:
    """Draw CSIT's goals, full-length proofs of RFC 2544 and draft-ietf-bmwg-mlrsearch-01, TST 009's, or a mixture."""
    csit = [goal(f"CSIT {ratio}", ratio, 0.5, (1.0, 1.0, 21.0), 0.005) for ratio in (0.0, 0.005)]
    proof = [goal(f"30 s {ratio}", ratio, 0.0, (1.0, 30.0, 30.0), 0.005) for ratio in (0.0, 0.005)]
    tst009 = [goal("TST 009", 0.0, 0.5, (60.0, 60.0, 120.0), 0.01)]
    mixture = [
        goal(
            f"random {number}",
            draw.choice((0.0, 0.0, 1e-6, 1e-4, 0.005, 0.02, 0.3, 0.9)),
            draw.choice((0.0, 0.0, 0.1, 0.2, 0.5, 0.5, 0.75, draw.uniform(0, 0.95))),
            random_durations_s(draw, stretch),
            draw.choice((0.005, 0.01, 10 ** draw.uniform(-2.5, -0.7), 0.5)),
        )
        for number in range(draw.randint(1, 4))
    ]
    choices = [csit, proof, mixture, mixture, csit + proof, tst009 + mixture, csit[1:] + proof[:1], proof + mixture]
    return tuple(draw.choice(choices) if stretch else mixture)


def random_case(seed: int) -> Case:
    draw = random.Random(seed)
    preceding_targets = draw.randint(0, 3)
    min_load_pps = 10 ** draw.uniform(3, 5)
    plan = SearchPlan(
        algorithm="mlrsearch-rfc9971",
        goals=random_goals(draw, stretch=preceding_targets > 0),
        min_load_pps=min_load_pps,
        max_load_pps=min_load_pps * 10 ** draw.uniform(0.01, 4),
        initial_trial_duration_s=1.0,
        final_trial_duration_s=1.0,
        width_ratio=0.005,
        intermediate_phases=0,
        expansion_coefficient=draw.randint(2, 4),
        search_duration_max_s=1e9,
        repeat_invalid=0,
        overhead_s=draw.choice((0.0, 0.5)),
        preceding_targets=preceding_targets,
        fail_fast=draw.random() < 0.3,
    )
    return Case(plan, draw.choice(KINDS), seed)


class PublishedMeasurer:
    """Measures the library's trials and stores them."""

    def __init__(self, sut: SutFunction, overhead_s: float) -> None:
        self.sut = sut
        self.overhead_s = overhead_s
        self.trials: list[tuple[float, float]] = []

    def measure(self, intended_duration: float, intended_load: float) -> Any:
        self.trials.append((intended_load, intended_duration))
        counts = self.sut(intended_load, intended_duration)
        return peer.MeasurementResult(
            intended_duration=intended_duration,
            intended_load=intended_load,
            intended_count=counts.intended_count,
            offered_count=counts.offered_count,
            forwarding_count=counts.received_count,
            duration_with_overheads=intended_duration + self.overhead_s,
        )


def published_goal(each: Goal, plan: SearchPlan) -> Any:
    return peer.SearchGoal(
        loss_ratio=each.loss_ratio,
        exceed_ratio=each.exceed_ratio,
        relative_width=each.width_ratio,
        initial_trial_duration=each.initial_trial_duration_s,
        final_trial_duration=each.final_trial_duration_s,
        duration_sum=each.duration_sum_s,
        preceding_targets=plan.preceding_targets,
        expansion_coefficient=int(plan.expansion_coefficient),
        fail_fast=plan.fail_fast,
    )


def published_search(plan: SearchPlan, sut: SutFunction) -> tuple[list[tuple[float, float]], list[Any]]:
    """Return the library's trials, and its results in the order of the goals; none if it raised that one is lost."""
    goals = [published_goal(each, plan) for each in plan.goals]
    config = peer.Config()
    config.goals = goals
    config.min_load = plan.min_load_pps
    config.max_load = plan.max_load_pps
    config.search_duration_max = 1e9
    config.warmup_duration = None
    measurer = PublishedMeasurer(sut, plan.overhead_s)
    try:
        results = peer.MultipleLossRatioSearch(config).search(measurer, debug=lambda _text: None)
    except RuntimeError as error:
        assert str(error).startswith("No lower bound")
        return measurer.trials, []
    return measurer.trials, [results[each] for each in goals]


def assert_same_throughput(ours_pps: float | None, published: Any) -> None:
    """Assert the same figure, unless the library mistakes the rounding of a sum of durations for missing time.

    It then continues with the next higher loss, or finds none and raises.
    """
    stat = next(iter(published.relevant_lower_bound.target_to_stat.values()))
    load_pps = float(published.relevant_lower_bound)
    if ours_pps == load_pps * (1.0 - stat.pessimistic_loss_ratio):
        return
    whole_s = max(stat.target.duration_sum, stat.good_long + stat.bad_long)
    enough_s = sum(s for ratio, s in stat.long_losses.items() if load_pps * (1.0 - ratio) >= (ours_pps or 0))
    assert enough_s == pytest.approx(whole_s * (1.0 - stat.target.exceed_ratio), rel=1e-12)


def assert_same_result(ours: Interval, published: Any) -> None:
    lower, upper = published.relevant_lower_bound, published.relevant_upper_bound
    assert ours.lower_valid == (lower is not None)
    assert ours.upper_valid == (upper is not None)
    if lower is None:
        assert ours.conditional_throughput_pps is None
    else:
        assert ours.lower_load_pps == float(lower)
        assert_same_throughput(ours.conditional_throughput_pps, published)
    if upper is not None:
        assert ours.upper_load_pps == float(upper)


def codes(interval: Interval) -> set[str]:
    return {flag.code for flag in interval.flags}


def assert_same_search(case: Case) -> None:
    published_trials, published_results = published_search(case.plan, case.make_sut())
    search = create(case.plan)
    trials = drive(search, loss_ratio_of(case.make_sut()), trial_count_max=100_000)
    assert [(t.intended_load_pps, t.duration_s) for t in trials] == published_trials
    intervals = search.intervals()
    if not published_results:
        assert any("goal-lost" in codes(interval) for interval in intervals)
        return
    for interval, published in zip(intervals, published_results, strict=True):
        assert_same_result(interval, published)
        assert interval.final
        assert not codes(interval) & {"undecided-lower-bound", "undecided-upper-bound", "wide-interval"}


@pytest.mark.parametrize("batch", range(12))
def test_random_searches_take_the_same_trials_and_end_with_the_same_results_as_the_published_library(
    batch: int,
) -> None:
    for seed in range(batch * 50, batch * 50 + 50):
        assert_same_search(random_case(seed))


def published_rounding(min_load_pps: float, max_load_pps: float, widths: list[float]) -> Any:
    return peer.load_rounding.LoadRounding(min_load=min_load_pps, max_load=max_load_pps, float_goals=tuple(widths))


def test_loads_lie_on_the_published_grid() -> None:
    draw = random.Random(7)
    for _ in range(100):
        low_pps = 10 ** draw.uniform(2, 5)
        high_pps = low_pps * 10 ** draw.uniform(0.001, 5)
        widths = [10 ** draw.uniform(-3, -0.1) for _ in range(draw.randint(1, 4))]
        grid, published = LoadGrid(low_pps, high_pps, widths), published_rounding(low_pps, high_pps, widths)
        assert grid.top == published.max_int_load
        for _ in range(30):
            step, load_pps = draw.randint(-2, grid.top + 2), low_pps * (high_pps / low_pps) ** draw.uniform(-0.1, 1.1)
            assert grid.load_pps(step) == published.int2float(step)
            assert grid.floor(load_pps) == published.float2int(load_pps)
            assert grid.floor(grid.load_pps(step)) == grid.clamp(step)


def test_csits_grid_has_the_width_goal_as_one_step() -> None:
    """FD.io CSIT: 9001 packets per second to line rate in each direction, 0.5 %."""
    grid = LoadGrid(18002.0, 37.5e6, [0.005])
    assert (grid.top, grid.width(0.005)) == (1525, 1)


def test_intervals_are_split_as_the_published_library_does() -> None:
    rounding = published_rounding(1.0, 1e6, [0.001])
    loads = peer.discrete_load.DiscreteLoad.int_conver(rounding)
    for high in range(2, 200):
        for width in range(1, high):
            interval = peer.discrete_interval.DiscreteInterval(loads(0), loads(high))
            goal_width = peer.discrete_width.DiscreteWidth(rounding=rounding, int_width=width)
            assert find_middle(0, high, width) == int(interval.middle(goal_width))
