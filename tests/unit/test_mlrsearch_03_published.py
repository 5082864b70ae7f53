"""The same trials as the published algorithm: its printed example, and its released library on random systems."""

import random
from typing import Any

import pytest
from tests.cases import random_case
from tests.peers import load, virtual_clock
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Step

from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create, width
from nodrop.search.base import Interval, Outcome
from nodrop.simulation import SutFunction

peer = load("0.3.0")

CASE_COUNT = 3000
BATCH_COUNT = 300

GOOD, FAIR, BAD = 0.0, 0.001, 0.02
"""Loss ratios that meet both goals of the example, only the larger one, and neither."""

# draft-vpolak-mkonstan-bmwg-mlrsearch-03 section "Example MLRsearch Run": trial and bounds after it, load in Mpps and
# duration in s as printed, `+` before an invalid bound. Losses are not printed: those of the first two trials follow
# from the loads after them, of the others only the goals that they meet are known.
EXAMPLE = (
    ("37.50 1.00", 1 - 10546685 / 37.5e6, "", "", "", ""),
    ("10.55 1.00", 1 - 9437153 / 10546685, "+10.55 1.", "37.50 1.", "+10.55 1.", "37.50 1."),
    ("9.437 1.00", BAD, "+9.437 1.", "10.55 1.", "+9.437 1.", "10.55 1."),
    ("6.053 1.00", GOOD, "6.053 1.", "9.437 1.", "6.053 1.", "9.437 1."),
    ("7.558 1.00", GOOD, "7.558 1.", "9.437 1.", "7.558 1.", "9.437 1."),
    ("8.446 1.00", GOOD, "8.446 1.", "9.437 1.", "8.446 1.", "9.437 1."),
    ("8.928 1.00", GOOD, "8.928 1.", "9.437 1.", "8.928 1.", "9.437 1."),
    ("9.179 1.00", FAIR, "8.928 1.", "9.179 1.", "9.179 1.", "9.437 1."),
    ("9.052 1.00", GOOD, "9.052 1.", "9.179 1.", "9.179 1.", "9.437 1."),
    ("9.307 1.00", BAD, "9.052 1.", "9.179 1.", "9.179 1.", "9.307 1."),
    ("9.115 5.48", GOOD, "9.115 5.", "9.179 1.", "9.179 1.", "9.307 1."),
    ("9.243 5.48", FAIR, "9.115 5.", "9.179 1.", "9.243 5.", "9.307 1."),
    ("9.179 5.48", FAIR, "9.115 5.", "9.179 5.", "9.243 5.", "9.307 1."),
    ("9.307 5.48", FAIR, "9.115 5.", "9.179 5.", "9.243 5.", "+9.307 5."),
    ("9.687 5.48", BAD, "9.115 5.", "9.179 5.", "9.307 5.", "9.687 5."),
    ("9.495 5.48", BAD, "9.115 5.", "9.179 5.", "9.307 5.", "9.495 5."),
    ("9.401 5.48", BAD, "9.115 5.", "9.179 5.", "9.307 5.", "9.401 5."),
    ("9.147 30.0", FAIR, "9.115 5.", "9.147 30", "9.307 5.", "9.401 5."),
    ("9.354 30.0", BAD, "9.115 5.", "9.147 30", "9.307 5.", "9.354 30"),
    ("9.115 30.0", FAIR, "+9.115 30", "9.147 30", "9.307 5.", "9.354 30"),
    ("8.935 30.0", GOOD, "8.935 30", "9.115 30", "9.307 5.", "9.354 30"),
    ("9.025 30.0", GOOD, "9.025 30", "9.115 30", "9.307 5.", "9.354 30"),
    ("9.070 30.0", GOOD, "9.070 30", "9.115 30", "9.307 5.", "9.354 30"),
    ("9.307 30.0", FAIR, "9.070 30", "9.115 30", "9.307 30", "9.354 30"),
)


def test_the_drafts_example_comes_out_to_every_printed_digit() -> None:
    plan = search_plan(
        algorithm="mlrsearch-03", min_load_pps=20e3, max_load_pps=37.5e6, initial_s=1.0, final_s=30.0, doublings=2
    )
    search = create(plan)
    trials: list[Trial] = []
    for printed, loss_ratio, *bounds in EXAMPLE:
        trial = search.ask()
        assert trial is not None
        assert f"{trial.intended_load_pps / 1e6:#.4g} {trial.duration_s:#.3g}" == printed
        search.tell(Outcome(index=len(trials), loss_ratio=loss_ratio))
        trials.append(trial)
        for interval, printed_bounds in zip(search.intervals(), (bounds[:2], bounds[2:]), strict=True):
            if "+" in "".join(printed_bounds):
                assert not interval.final
            elif all(printed_bounds):
                assert format_bounds(interval, trials) == printed_bounds
    assert search.ask() is None
    assert all(interval.final and not interval.flags for interval in search.intervals())


def format_bounds(interval: Interval, trials: list[Trial]) -> list[str]:
    assert interval.lower_index is not None
    assert interval.upper_index is not None
    bounds = [trials[interval.lower_index], trials[interval.upper_index]]
    return [f"{bound.intended_load_pps / 1e6:#.4g} {bound.duration_s:.1f}"[:8] for bound in bounds]


class PublishedMeasurement(peer.ReceiveRateMeasurement.ReceiveRateMeasurement):  # type: ignore[misc]
    """A measurement whose receive rate is load times (1 - loss ratio).

    The library divides whole frames by the duration instead, which differs by up to a frame; a search that receives
    only loss ratios cannot reproduce that.
    """

    def __init__(self, duration: float, load_pps: float, sent_count: int, lost_count: int) -> None:
        super().__init__(duration, load_pps, sent_count, lost_count)
        self.receive_rate = self.target_tr * (1.0 - self.loss_fraction)


class EndlessSearch(Exception):
    """The library requests the same trial again, and would do so until its time is up."""


class PublishedMeasurer(peer.AbstractMeasurer.AbstractMeasurer):  # type: ignore[misc]
    """Measures the library's trials and stores them."""

    def __init__(self, sut: SutFunction) -> None:
        self.sut = sut
        self.trials: list[tuple[float, float]] = []

    def measure(self, duration: float, transmit_rate: float) -> PublishedMeasurement:
        if self.trials[-1:] == [(transmit_rate, duration)]:
            raise EndlessSearch
        self.trials.append((transmit_rate, duration))
        counts = self.sut(transmit_rate, duration)
        lost_count = counts.intended_count - counts.received_count
        return PublishedMeasurement(duration, transmit_rate, counts.intended_count, lost_count)


def published_search(plan: SearchPlan, measurer: PublishedMeasurer, timeout_s: float = 1e9) -> list[Any]:
    algorithm = peer.MultipleLossRatioSearch.MultipleLossRatioSearch(
        measurer,
        final_relative_width=plan.width_ratio,
        final_trial_duration=plan.final_trial_duration_s,
        initial_trial_duration=plan.initial_trial_duration_s,
        number_of_intermediate_phases=plan.intermediate_phases,
        timeout=timeout_s,
        doublings=plan.doublings,
    )
    result = algorithm.narrow_down_ndr_and_pdr(plan.min_load_pps, plan.max_load_pps, plan.goals[-1].loss_ratio)
    return [result.ndr_interval, result.pdr_interval][: len(plan.goals)]


def assert_same_bounds(ours: Interval, published: Any) -> None:
    ratio = ours.goal.loss_ratio
    low, high = published.measured_low, published.measured_high
    assert (ours.lower_load_pps, ours.lower_valid) == (low.target_tr, low.loss_fraction <= ratio)
    assert (ours.upper_load_pps, ours.upper_valid) == (high.target_tr, high.loss_fraction > ratio)


def assert_same_search(plan: SearchPlan, ours: SutFunction, reference: SutFunction) -> bool:
    """Assert the same trials; return True if all agree, False if the library would repeat one forever."""
    measurer = PublishedMeasurer(reference)
    search = create(plan)
    trials = [(t.intended_load_pps, t.duration_s) for t in drive(search, loss_ratio_of(ours))]
    try:
        published_intervals = published_search(plan, measurer)
    except EndlessSearch:
        before = measurer.trials[:-1]
        assert trials[: len(before)] == before
        return False
    assert trials == measurer.trials
    for our_interval, published in zip(search.intervals(), published_intervals, strict=True):
        assert_same_bounds(our_interval, published)
    return True


def draw_ratios(draw: random.Random) -> tuple[float, ...]:
    """Draw NDR alone, which for the library is a PDR of ratio 0, or NDR and a PDR."""
    pdr_ratio = draw.choice((0.0, 1e-6, 1e-4, 0.005, 0.005, 0.02, 0.3, 0.9))
    return (0.0, pdr_ratio) if pdr_ratio else (0.0,)


@pytest.mark.parametrize("first_seed", range(0, CASE_COUNT, BATCH_COUNT))
def test_random_searches_take_the_same_trials_and_end_with_the_same_bounds_as_the_published_library(
    first_seed: int,
) -> None:
    cases = [random_case(seed, draw_ratios, "mlrsearch-03") for seed in range(first_seed, first_seed + BATCH_COUNT)]
    whole = [assert_same_search(case.plan, case.make_sut(), case.make_sut()) for case in cases]
    assert sum(whole) > 0.97 * len(whole)


def test_what_is_known_when_the_time_is_up_is_kept_where_the_published_library_raises_it_away() -> None:
    plan = search_plan(algorithm="mlrsearch-03")
    measurer = PublishedMeasurer(Step(1e6))
    with (
        virtual_clock(peer, lambda: sum(duration_s for _, duration_s in measurer.trials)),
        pytest.raises(RuntimeError, match="takes too long"),
    ):
        published_search(plan, measurer, timeout_s=5.0)

    search = create(plan)
    answer = loss_ratio_of(Step(1e6))
    for index, (load_pps, _) in enumerate(measurer.trials):
        trial = search.ask()
        assert trial is not None
        assert trial.intended_load_pps == load_pps
        search.tell(Outcome(index=index, loss_ratio=answer(trial)))
    assert search.ask() is not None
    for interval in search.intervals():
        assert interval.lower_valid
        assert interval.upper_valid
        assert not interval.final


def test_widths_are_doubled_and_halved_as_the_published_library_does() -> None:
    published = peer.MultipleLossRatioSearch.MultipleLossRatioSearch
    draw = random.Random(6)
    for _ in range(2000):
        wide, load_pps, count = draw.random(), 10 ** draw.uniform(3, 8), draw.randint(0, 4)
        assert width.double(wide) == published.double_relative_width(wide)
        assert width.step_below(load_pps, width.double(wide, count)) == published.expand_down(wide, count, load_pps)
        assert width.step_above(load_pps, width.double(wide, count)) == published.expand_up(wide, count, load_pps)
        assert width.step_above(load_pps, width.halve(wide)) == published.half_step_up(wide, load_pps)
