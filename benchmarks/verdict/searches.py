"""Runs out of real searches: nodrop's own against simulated SUTs, each with random numbers of its own."""

from collections.abc import Iterator, Sequence
from random import Random

from benchmarks.search.goals import GOAL_SETS, SHORT
from benchmarks.verdict.runs import made

from nodrop.model.summary import Measure, Summary
from nodrop.search.base import Interval
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.registry import create, get_default_parameters
from nodrop.simulation.search_run import simulate_search

SUTS = (
    *("hard-limit", "smooth-knee", "noisy-capacity", "noisy-windows", "stall-periodic", "stall-random"),
    *("two-modes-trial", "two-modes-time", "degrading", "deep-buffer", "loss-floor", "warm-up"),
)
"""Kinds that have an answer and forget it between runs."""
Found = tuple[Measure, ...]


def slowed(sut: str, seed: int, slower: float) -> SimulatedForwarder:
    """A SUT whose capacity is less by that share."""
    rates = {key: value for key, value in get_default_parameters(sut).items() if key in ("capacity_pps", "slow_pps")}
    return create(sut, seed, {key: value * (1 - slower) for key, value in rates.items()})


def true_ndr_pps(sut: str, slower: float) -> float:
    """Highest load at which most of its trials lose nothing, in the long run."""
    return slowed(sut, 0, slower).truth_pps(0.0, GOAL_SETS[SHORT].final_s)


def search(sut: str, seed: int, slower: float = 0.0) -> Found:
    """What one search finds of it, with the goals of FD.io CSIT."""
    simulated = simulate_search(GOAL_SETS[SHORT].plan("nodrop", 2.0), slowed(sut, seed, slower))
    return tuple(measure for interval in simulated.intervals if (measure := _measure(interval)))


def _measure(interval: Interval) -> Measure | None:
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


def dealt(of_a: Sequence[Found], of_b: Sequence[Found], rng: Random, count: int) -> tuple[list[Summary], list[Summary]]:
    """So many runs each, out of what was found; from one list no run twice."""
    if of_a is of_b:
        drawn = rng.sample(range(len(of_a)), 2 * count)
        return list(_runs("a", of_a, drawn[:count], 0)), list(_runs("b", of_b, drawn[count:], count))
    return (
        list(_runs("a", of_a, rng.sample(range(len(of_a)), count), 0)),
        list(_runs("b", of_b, rng.sample(range(len(of_b)), count), count)),
    )


def _runs(side: str, found: Sequence[Found], drawn: Sequence[int], first: int) -> Iterator[Summary]:
    for place, index in enumerate(drawn, first):
        yield made(side, place, found[index])
