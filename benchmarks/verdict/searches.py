"""Runs of nodrop's own search on simulated SUTs, each with other random numbers."""

from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.search.goals import GOAL_SETS, SHORT
from benchmarks.verdict.runs import create_run

from nodrop.model.summary import Measure, Summary
from nodrop.search.base import Interval
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.registry import create, get_default_parameters
from nodrop.simulation.search_run import simulate_search

SUTS = (
    *("hard-limit", "smooth-knee", "noisy-capacity", "noisy-windows", "stall-periodic", "stall-random"),
    *("two-modes-trial", "two-modes-time", "degrading", "deep-buffer", "loss-floor", "warm-up"),
)
"""Kinds of SUT that have a true rate and no memory between runs."""
RunMeasures = tuple[Measure, ...]
"""Rates that one search measured."""


def create_sut(sut: str, seed: int, slowdown: float) -> SimulatedForwarder:
    """Return a SUT whose capacity is lower by the share `slowdown`."""
    rates = {key: value for key, value in get_default_parameters(sut).items() if key in ("capacity_pps", "slow_pps")}
    return create(sut, seed, {key: value * (1 - slowdown) for key, value in rates.items()})


def compute_true_ndr_pps(sut: str, slowdown: float) -> float:
    """Return the highest load at which most trials have no loss, in the long run."""
    return create_sut(sut, 0, slowdown).truth_pps(0.0, GOAL_SETS[SHORT].final_s)


def run_search(sut: str, seed: int, slowdown: float = 0.0) -> RunMeasures:
    """Search once with the goals of FD.io CSIT and return the measured rates."""
    simulated = simulate_search(GOAL_SETS[SHORT].plan("nodrop", 2.0), create_sut(sut, seed, slowdown))
    return tuple(measure for interval in simulated.intervals if (measure := _create_measure(interval)))


def _create_measure(interval: Interval) -> Measure | None:
    if not interval.lower_load_pps or not interval.lower_valid:
        return None
    label = interval.goal.label
    return Measure(
        key=label.lower(),
        text=label,
        unit="pps",
        better="higher",
        value=interval.lower_load_pps,
        low=interval.lower_load_pps,
        high=interval.upper_load_pps if interval.upper_valid else None,
        limit="sut" if interval.upper_valid else "max_load",
    )


def draw_searched_runs(
    of_a: Sequence[RunMeasures], of_b: Sequence[RunMeasures], rng: Random, count: int
) -> tuple[list[Summary], list[Summary]]:
    """Draw `count` runs of A and of B from results of searches, without replacement, also if both are one list."""
    if of_a is of_b:
        sample = rng.sample(range(len(of_a)), 2 * count)
        return list(_create_runs("a", of_a, sample[:count], 0)), list(_create_runs("b", of_b, sample[count:], count))
    return (
        list(_create_runs("a", of_a, rng.sample(range(len(of_a)), count), 0)),
        list(_create_runs("b", of_b, rng.sample(range(len(of_b)), count), count)),
    )


def _create_runs(side: str, results: Sequence[RunMeasures], sample: Sequence[int], first: int) -> Iterator[Summary]:
    for position, index in enumerate(sample, first):
        yield create_run(side, position, results[index])
