"""Comparison of searches on simulated SUTs, as a table and as JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from nodrop.cli.outputs import STDOUT, require_writable, write_json

if TYPE_CHECKING:
    from nodrop.model.search_plan import SearchPlan
    from nodrop.simulation import Sut
    from nodrop.simulation.benchmark import EntryScore, GoalScore

HEADINGS = f"trials traffic   wall  late  {'':6} {'median':>8} {'5 % to 95 %':>15}   off"
NOTE = """
traffic, wall: mean duration of a search in seconds, without and with dead time; late: searches that ran out of time;
median: median error; 5 % to 95 %: quantiles of the loads found, in percent of the true load; off: searches with an
error above 1 %."""


def print_benchmark(
    searches: "Mapping[str, SearchPlan]",
    suts: "Mapping[str, Callable[[int], Sut]]",
    seeds: Sequence[int],
    json_file: str | None,
) -> None:
    """Run all searches on all SUTs and print their scores."""
    from nodrop.simulation.benchmark import BenchmarkEntry, run_benchmark

    require_writable(json_file)
    comparison = run_benchmark([BenchmarkEntry(name, plan) for name, plan in searches.items()], suts, seeds)
    if json_file != STDOUT:
        click.echo("\n".join(_format_lines(comparison.scores)))
    write_json(comparison.model_dump_json(indent=2) + "\n", json_file)


def _format_lines(scores: "Sequence[EntryScore]") -> Iterator[str]:
    """Yield a line for each goal of each search, by SUT."""
    width = max(len(score.search) for score in scores)
    sut = ""
    for score in scores:
        if score.sut != sut:
            sut = score.sut
            yield f"\n{sut}"
            yield f"  {'':{width}} {HEADINGS}"
        late = f"{score.out_of_time_ratio * 100:3.0f} %"
        times = f"{score.trial_count:6.1f} {score.traffic_s:7.0f} {score.wall_s:6.0f} {late}"
        for goal in score.goals:
            lead = f"{score.search:{width}} {times}" if goal is score.goals[0] else " " * (width + 28)
            yield f"  {lead}  {_format_goal(goal)}"
    yield NOTE


def _format_goal(goal: "GoalScore") -> str:
    spread = f"{goal.low_ratio * 100:.1f} to {goal.high_ratio * 100:.1f}"
    return f"{goal.label:6} {round(goal.error_ratio * 100, 2) + 0.0:+6.2f} % {spread:>15} {goal.off_ratio * 100:3.0f} %"
