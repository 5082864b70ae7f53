"""The same trials as the published algorithm: its printed example, and its released library on random systems."""

import math
import random
from typing import Any

import pytest
from tests.cases import Script, random_case
from tests.peers import load
from tests.searching import drive, loss_ratio_of, search_plan

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create, width
from nodrop.search.base import Interval
from nodrop.simulation import SutFunction

peer = load("0.4.0")

CASE_COUNT = 3000
BATCH_COUNT = 300

# draft-ietf-bmwg-mlrsearch-01 section 5.2: intended load, trial duration, measured loss ratio, as printed.
EXAMPLE = (
    (18750000.0, 1.0, 0.7089514628479618),
    (5457160.071600716, 1.0, 0.018650817320118702),
    (5348832.933500009, 1.0, 0.00964383362905351),
    (4936605.579021453, 1.0, 0.0),
    (5138587.208637197, 1.0, 0.0),
    (5242656.244044665, 1.0, 0.013523745379347257),
    (5190360.904111567, 5.477225575051661, 0.0023533920869969953),
    (5138587.208637197, 5.477225575051661, 1.2080222912800403e-06),
    (4936605.381062318, 5.477225575051661, 0.0),
    (5036583.888432355, 5.477225575051661, 0.0),
    (5087329.903232804, 5.477225575051661, 0.0),
    (5242656.244044665, 5.477225575051661, 0.0101174866190136),
    (5112894.3238511775, 30.0, 0.0),
    (5138587.208637197, 30.0, 2.030389804256833e-06),
    (5216443.04126728, 30.0, 0.005620871287975237),
    (5190360.904111567, 30.0, 0.0027629971184465604),
)


def test_the_drafts_example_comes_out_to_every_printed_digit() -> None:
    plan = search_plan(min_load_pps=18002.0, max_load_pps=18750000.0, initial_s=1.0, final_s=30.0)
    search = create(plan)
    printed_ratios = iter([loss_ratio for _, _, loss_ratio in EXAMPLE])

    trials = drive(search, lambda _trial: next(printed_ratios))

    assert [(t.intended_load_pps, t.duration_s) for t in trials] == [(load, s) for load, s, _ in EXAMPLE]
    ndr, pdr = search.intervals()
    assert (ndr.lower_load_pps, ndr.upper_load_pps) == (5112894.3238511775, 5138587.208637197)
    assert (pdr.lower_load_pps, pdr.upper_load_pps) == (5190360.904111567, 5216443.04126728)
    assert (ndr.lower_index, ndr.upper_index, pdr.lower_index, pdr.upper_index) == (12, 13, 15, 14)
    assert all(i.lower_valid and i.upper_valid and i.final for i in (ndr, pdr))


class PublishedMeasurement(peer.ReceiveRateMeasurement.ReceiveRateMeasurement):  # type: ignore[misc]
    """A measurement whose receive rate is load times (1 - loss ratio).

    The library multiplies and divides counts instead, which may differ in the last bit; a search that receives only
    loss ratios cannot reproduce that.
    """

    def __init__(self, duration: float, load_pps: float, sent_count: int, lost_count: int) -> None:
        super().__init__(duration, load_pps, sent_count, lost_count)
        self.relative_receive_rate = self.target_tr * (1.0 - self.loss_ratio)


class PublishedMeasurer(peer.AbstractMeasurer.AbstractMeasurer):  # type: ignore[misc]
    """Measures the library's trials and stores them."""

    def __init__(self, sut: SutFunction) -> None:
        self.sut = sut
        self.trials: list[tuple[float, float]] = []

    def measure(self, duration: float, transmit_rate: float) -> PublishedMeasurement:
        self.trials.append((transmit_rate, duration))
        counts = self.sut(transmit_rate, duration)
        lost_count = counts.intended_count - counts.received_count
        return PublishedMeasurement(duration, transmit_rate, counts.intended_count, lost_count)


def published_search(plan: SearchPlan, sut: SutFunction) -> tuple[list[tuple[float, float]], list[Any]]:
    measurer = PublishedMeasurer(sut)
    algorithm = peer.MultipleLossRatioSearch.MultipleLossRatioSearch(
        measurer,
        final_relative_width=plan.width_ratio,
        final_trial_duration=plan.final_trial_duration_s,
        initial_trial_duration=plan.initial_trial_duration_s,
        number_of_intermediate_phases=plan.intermediate_phases,
        timeout=1e9,
        debug=lambda _message: None,
        expansion_coefficient=plan.expansion_coefficient,
    )
    ratios = [goal.loss_ratio for goal in plan.goals]
    intervals = algorithm.narrow_down_intervals(plan.min_load_pps, plan.max_load_pps, ratios)
    return measurer.trials, intervals


def draw_ratios(draw: random.Random) -> tuple[float, ...]:
    choices = (0.0, 0.0, 1e-6, 1e-4, 0.005, 0.02, 0.3, 0.9)
    return tuple(sorted({draw.choice(choices) for _ in range(draw.randint(1, 4))}))


def assert_same_bounds(ours: Interval, published: Any) -> None:
    """Assert the published bounds; a bound that the library could only fill in may be known from an earlier trial."""
    ratio = ours.goal.loss_ratio
    low, high = published.measured_low, published.measured_high
    if low.effective_loss_ratio <= ratio:
        assert ours.lower_valid
        assert ours.lower_load_pps == low.target_tr
    else:
        assert not ours.lower_valid
    if high.effective_loss_ratio > ratio:
        assert ours.upper_valid
        assert ours.upper_load_pps == high.target_tr
    elif ours.upper_valid:
        assert ours.upper_load_pps > high.target_tr, "an upper bound from shorter trials lies above all longer ones"
    else:
        assert ours.upper_load_pps == high.target_tr


def assert_same_search(plan: SearchPlan, ours: SutFunction, reference: SutFunction) -> list[Trial]:
    published_trials, published_intervals = published_search(plan, reference)
    search = create(plan)
    trials = drive(search, loss_ratio_of(ours))
    assert [(t.intended_load_pps, t.duration_s) for t in trials] == published_trials
    for our_interval, published in zip(search.intervals(), published_intervals, strict=True):
        assert_same_bounds(our_interval, published)
    return trials


@pytest.mark.parametrize("first_seed", range(0, CASE_COUNT, BATCH_COUNT))
def test_random_searches_take_the_same_trials_and_end_with_the_same_bounds_as_the_published_library(
    first_seed: int,
) -> None:
    for seed in range(first_seed, first_seed + BATCH_COUNT):
        case = random_case(seed, draw_ratios, "mlrsearch-01")
        assert_same_search(case.plan, case.make_sut(), case.make_sut())


def test_a_step_down_from_a_far_upper_bound_is_as_wide_as_the_published_librarys() -> None:
    """A corner case of about one in ten thousand random searches: the step's width comes from the previous phase."""
    plan = search_plan(
        loss_ratios=(1e-6, 0.005, 0.02, 0.3),
        min_load_pps=34195.0,
        max_load_pps=49236.5,
        initial_s=0.6015,
        final_s=1.5084,
        width_ratio=0.02248,
        expansion_coefficient=2.0,
    )
    report = (0.0, 0.659, 0.0, 0.0087, 0.0, 1e-4, 0.35, 0.0, 0.0836, 0.156, 0.01, 0.0, 0.01, 0.641, 0.249, 0.0)
    trials = assert_same_search(plan, Script(report), Script(report))
    assert any("is far below" in format_message(trial.reason) for trial in trials)


def test_widths_are_multiplied_and_split_as_the_published_library_does_also_where_rounding_decides() -> None:
    draw = random.Random(5)
    for _ in range(2000):
        goal = 10 ** draw.uniform(-4, -0.5)
        goals = draw.choice(
            (draw.uniform(1, 40), draw.randint(2, 20) * (1 + draw.choice((-1, 1)) * draw.random() * 2e-6))
        )
        wide = 1 - math.exp(goals * math.log(1 - goal))
        assert width.scale(goal, goals) == peer.WidthArithmetics.multiply_relative_width(goal, goals)
        assert width.compute_lower_part(wide, goal) == peer.WidthArithmetics.halve_relative_width(wide, goal)
