"""The data of search charts: trials and bounds over time, in readable units."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.charts.axis import AxisUnit, pick_rate_unit
from nodrop.charts.tooltips import list_met_goals
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult

AROUND_SPANS = 1.2
"""Margin around the final bounds, in multiples of their distance."""
SPAN_MIN = 0.03
"""Smallest distance of the bounds for the margin, as a share of the load."""
TAIL_RATIO = 0.03
"""Extension of the time axis beyond the end of the search, as a share of its duration."""
MINUTES_FROM_S = 900.0
"""Duration from which time is shown in minutes."""


class TrialBar(NamedTuple):
    """A trial: its time, load and outcome."""

    trial: int
    start: float
    end: float
    load: float
    met: tuple[str, ...] | None
    """Labels of the goals whose loss ratio the trial met; None for an invalid trial."""
    stopped: bool


class BoundsAt(NamedTuple):
    """The bounds of a goal from a time on."""

    goal: int
    """Index of the goal."""
    time: float
    lower: float | None
    upper: float | None


class SearchChartData(NamedTuple):
    """Trials and bounds of a search, scaled to the units of a chart."""

    time_unit: AxisUnit
    load_unit: AxisUnit
    end: float
    """End of the last trial."""
    bars: tuple[TrialBar, ...]
    edges: tuple[BoundsAt, ...]
    around: tuple[float, float]
    """The load range around the final bounds; around all trials without bounds."""

    @property
    def until(self) -> float:
        """The end of the time axis: slightly later than the end of the search."""
        return self.end * (1 + TAIL_RATIO)

    @property
    def loads(self) -> tuple[float, float]:
        """The lowest and the highest load."""
        loads = [bar.load for bar in self.bars]
        return min(loads), max(loads)


def build_search_chart_data(result: RunResult, steps: Sequence[SearchDecision]) -> SearchChartData:
    """Build the chart data of a search.

    Args:
        result: a run with at least one search trial.
        steps: the decisions after its trials.
    """
    deciding = {step.trial_index for step in steps}  # among them latency trials at a bound
    trials = [trial for trial in result.trials if trial.phase == "search" or trial.index in deciding]
    starts_s = _compute_starts_s(trials, {step.trial_index: step for step in steps})
    ends_s = {trial.index: starts_s[trial.index] + trial.duration_s for trial in trials}
    end_s = max(ends_s.values())
    time_unit = AxisUnit("min", 60.0) if end_s > MINUTES_FROM_S else AxisUnit("s", 1.0)
    final_pps = _list_final_pps(steps) or [trial.trial.intended_load_pps for trial in trials]
    load_unit = pick_rate_unit(max(final_pps))
    bars = tuple(_build_bar(result, trial, starts_s[trial.index], time_unit, load_unit) for trial in trials)
    return SearchChartData(
        time_unit=time_unit,
        load_unit=load_unit,
        end=end_s / time_unit.size,
        bars=bars,
        edges=tuple(_iter_bounds(steps, ends_s, end_s, time_unit, load_unit)),
        around=_find_load_range([load_pps / load_unit.size for load_pps in final_pps], max(bar.load for bar in bars)),
    )


def _compute_starts_s(trials: Sequence[TrialResult], steps: Mapping[int, SearchDecision]) -> dict[int, float]:
    """Return the start of each trial; an invalid trial, which has no step, starts at the end of its predecessor."""
    starts_s: dict[int, float] = {}
    end_s = 0.0
    for trial in trials:
        step = steps.get(trial.index)
        starts_s[trial.index] = step.started_s if step else end_s
        end_s = starts_s[trial.index] + trial.duration_s
    return starts_s


def _build_bar(
    result: RunResult, trial: TrialResult, start_s: float, time_unit: AxisUnit, load_unit: AxisUnit
) -> TrialBar:
    return TrialBar(
        trial=trial.index,
        start=start_s / time_unit.size,
        end=(start_s + trial.duration_s) / time_unit.size,
        load=trial.trial.intended_load_pps / load_unit.size,
        met=list_met_goals(result, trial),
        stopped=trial.stopped_early,
    )


def _iter_bounds(
    steps: Sequence[SearchDecision], ends_s: Mapping[int, float], end_s: float, time_unit: AxisUnit, load_unit: AxisUnit
) -> Iterator[BoundsAt]:
    """Yield the bounds at the end of every trial, and again at the end of the time axis."""
    times = [(ends_s[step.trial_index], step.after) for step in steps]
    times += [(end_s * (1 + TAIL_RATIO), steps[-1].after)] if steps else []
    for time_s, states in times:
        for position, state in enumerate(states):
            lower, upper = (pps / load_unit.size if pps else None for pps in (state.lower_pps, state.upper_pps))
            yield BoundsAt(position, time_s / time_unit.size, lower, upper)


def _list_final_pps(steps: Sequence[SearchDecision]) -> list[float]:
    states = steps[-1].after if steps else ()
    return [pps for state in states for pps in (state.lower_pps, state.upper_pps) if pps]


def _find_load_range(loads: Sequence[float], highest: float) -> tuple[float, float]:
    """Return the range of loads with a margin, limited near the highest load."""
    low, high = min(loads), max(loads)
    span = max(high - low, SPAN_MIN * high)
    return max(0.0, low - AROUND_SPANS * span), min(high + AROUND_SPANS * span, highest + 0.1 * span)
