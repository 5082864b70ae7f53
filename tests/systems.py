"""Simulated systems by name, measured in complete or stopped trials; and invariants of every interval."""

from tests.searching import drive
from tests.suts import Buffer, Jitter, LossFloor, SlowTester, SmoothCurve, Span, Stalls, Step, Sut
from tests.traffic import two_way_traffic

from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial, TrialResult
from nodrop.search import create
from nodrop.search.base import Interval
from nodrop.simulation import SimulatedMeasurer

STEADY_SUTS: dict[str, Sut] = {
    "a step": Step(1_234_567.0),
    "a step below the lowest load": Step(7_000.0),
    "a step above the highest load": Step(12_000_000.0),
    "a step just below the highest load": Step(9_990_000.0),
    "a buffer of 20 ms": Buffer(800_000.0, 16_000),
    "a smooth curve": SmoothCurve(2_000_000.0, 0.3),
    "a loss floor below the larger ratio": LossFloor(900_000.0, 0.001),
    "a loss floor above both ratios": LossFloor(900_000.0, 0.03),
}
SUTS: dict[str, Sut] = STEADY_SUTS | {
    "a buffer larger than a short trial": Buffer(800_000.0, 400_000),
    "a tester slower than the SUT": SlowTester(3_000_000.0, 600_000.0),
    "a tester a little faster than the SUT": SlowTester(600_000.0, 650_000.0),
    "a jittering step": Jitter(1_500_000.0, 0.01, seed=1),
    "a wildly jittering step": Jitter(1_500_000.0, 0.3, seed=2),
    "rare stalls": Stalls(2_000_000.0, 3.0, 0.02, seed=3),
}


def reset_sut(name: str) -> Sut:
    """Return the SUT with its random draws reset."""
    sut = SUTS[name]
    return type(sut)(**{key: value for key, value in vars(sut).items() if key != "draws"})


class RecordingMeasurer:
    """Measures trials with a simulated measurer, with stop rules applied or removed, and stores the results."""

    def __init__(self, sut: Sut, stops: bool = True) -> None:
        self.measurer = SimulatedMeasurer(two_way_traffic(2), sut)
        self.stops = stops
        self.results: list[TrialResult] = []

    def __call__(self, trial: Trial) -> float:
        requested = trial if self.stops else trial.model_copy(update={"stop": None})
        self.results.append(self.measurer.measure(requested, len(self.results), "search", lambda *_: None))
        return self.results[-1].loss_ratio


def assert_stopping_changes_no_load(plan: SearchPlan, name: str) -> tuple[RecordingMeasurer, RecordingMeasurer]:
    """Assert equal searches with complete and with stopped trials; return both measurers."""
    complete, stopped = RecordingMeasurer(reset_sut(name), stops=False), RecordingMeasurer(reset_sut(name))
    complete_search, stopped_search = create(plan), create(plan)
    assert drive(stopped_search, stopped) == drive(complete_search, complete)
    assert stopped_search.intervals() == complete_search.intervals()
    largest_ratio = max(goal.loss_ratio for goal in plan.goals)
    assert all(result.loss_ratio > largest_ratio for result in stopped.results if result.stopped_early)
    return complete, stopped


def assert_encloses(interval: Interval, truth: Span) -> None:
    """Assert that the valid bounds of a final interval enclose the truth."""
    assert interval.lower_load_pps is not None
    assert interval.upper_load_pps is not None
    if interval.lower_valid and interval.final:
        assert interval.lower_load_pps <= truth.high_pps
    if interval.upper_valid and interval.final:
        assert interval.upper_load_pps >= truth.low_pps


def assert_consistent(interval: Interval, results: list[TrialResult]) -> None:
    ratio = interval.goal.loss_ratio
    assert interval.lower_index is not None
    assert interval.upper_index is not None
    lower, upper = results[interval.lower_index], results[interval.upper_index]
    assert lower.trial.intended_load_pps == interval.lower_load_pps
    assert upper.trial.intended_load_pps == interval.upper_load_pps
    if interval.lower_valid:
        assert lower.loss_ratio <= ratio
    if interval.upper_valid:
        assert upper.loss_ratio > ratio
    if interval.lower_valid and interval.upper_valid:
        assert lower.trial.intended_load_pps < upper.trial.intended_load_pps
    else:
        assert lower.trial.intended_load_pps <= upper.trial.intended_load_pps
    if interval.final:
        assert lower.trial.duration_s == upper.trial.duration_s == 2.0
