"""What a picture of a search shows, in numbers: trials and bounds over time, in units that read well."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nodrop.charts.axis import AxisUnit, pick_rate_unit
from nodrop.charts.tooltips import list_met_goals
from nodrop.model.result import RunResult, SearchDecision
from nodrop.model.trial import TrialResult

AROUND_SPANS = 1.2
"""Loads are shown so many times the span of the final bounds on either side of them."""
SPAN_MIN = 0.03
"""Bounds closer together than this share of the load are shown as if they were this far apart."""
TAIL_RATIO = 0.03
"""How much longer than the search the picture goes on, as a share of it."""
MINUTES_FROM_S = 900.0
"""Longer searches are shown in minutes."""


class TrialBar(NamedTuple):
    """A trial: when it ran, at which load, and what came of it."""

    trial: int
    start: float
    end: float
    load: float
    met: tuple[str, ...] | None
    """Labels of the goals whose loss ratio it kept to; None when it did not count."""
    stopped: bool


class BoundsAt(NamedTuple):
    """Where the bounds of a goal stood from a moment on."""

    goal: int
    """Position of the goal."""
    time: float
    lower: float | None
    upper: float | None


class SearchChartData(NamedTuple):
    """All there is to see."""

    time_unit: AxisUnit
    load_unit: AxisUnit
    end: float
    """End of the last trial."""
    bars: tuple[TrialBar, ...]
    edges: tuple[BoundsAt, ...]
    around: tuple[float, float]
    """The loads around the final bounds; around all trials where there are none."""

    @property
    def until(self) -> float:
        """The time there is to see: a little longer than the search, to see what it came to."""
        return self.end * (1 + TAIL_RATIO)

    @property
    def loads(self) -> tuple[float, float]:
        """The lowest and the highest load there was."""
        loads = [bar.load for bar in self.bars]
        return min(loads), max(loads)


def build_search_chart_data(result: RunResult, steps: Sequence[SearchDecision]) -> SearchChartData:
    """The search of a run, to scale.

    Args:
        result: a run with at least one search trial.
        steps: what its trials changed.
    """
    trials = [trial for trial in result.trials if trial.phase == "search"]
    starts_s = _starts_s(trials, {step.trial_index: step for step in steps})
    ends_s = {trial.index: starts_s[trial.index] + trial.duration_s for trial in trials}
    end_s = max(ends_s.values())
    time_unit = AxisUnit("min", 60.0) if end_s > MINUTES_FROM_S else AxisUnit("s", 1.0)
    final_pps = _final_pps(steps) or [trial.trial.intended_load_pps for trial in trials]
    load_unit = pick_rate_unit(max(final_pps))
    bars = tuple(_bar(result, trial, starts_s[trial.index], time_unit, load_unit) for trial in trials)
    return SearchChartData(
        time_unit=time_unit,
        load_unit=load_unit,
        end=end_s / time_unit.size,
        bars=bars,
        edges=tuple(_edges(steps, ends_s, end_s, time_unit, load_unit)),
        around=_around([load_pps / load_unit.size for load_pps in final_pps], max(bar.load for bar in bars)),
    )


def _starts_s(trials: Sequence[TrialResult], steps: Mapping[int, SearchDecision]) -> dict[int, float]:
    """When each trial began; one that did not count, and so has no step, right after the one before."""
    starts_s: dict[int, float] = {}
    end_s = 0.0
    for trial in trials:
        step = steps.get(trial.index)
        starts_s[trial.index] = step.started_s if step else end_s
        end_s = starts_s[trial.index] + trial.duration_s
    return starts_s


def _bar(result: RunResult, trial: TrialResult, start_s: float, time_unit: AxisUnit, load_unit: AxisUnit) -> TrialBar:
    return TrialBar(
        trial=trial.index,
        start=start_s / time_unit.size,
        end=(start_s + trial.duration_s) / time_unit.size,
        load=trial.trial.intended_load_pps / load_unit.size,
        met=list_met_goals(result, trial),
        stopped=trial.stopped_early,
    )


def _edges(
    steps: Sequence[SearchDecision], ends_s: Mapping[int, float], end_s: float, time_unit: AxisUnit, load_unit: AxisUnit
) -> Iterator[BoundsAt]:
    """The bounds at the end of every trial, and once more at the very end."""
    moments = [(ends_s[step.trial_index], step.after) for step in steps]
    moments += [(end_s * (1 + TAIL_RATIO), steps[-1].after)] if steps else []
    for moment_s, states in moments:
        for position, state in enumerate(states):
            lower, upper = (pps / load_unit.size if pps else None for pps in (state.lower_pps, state.upper_pps))
            yield BoundsAt(position, moment_s / time_unit.size, lower, upper)


def _final_pps(steps: Sequence[SearchDecision]) -> list[float]:
    states = steps[-1].after if steps else ()
    return [pps for state in states for pps in (state.lower_pps, state.upper_pps) if pps]


def _around(loads: Sequence[float], highest: float) -> tuple[float, float]:
    """Loads and some room, though not far beyond the highest load there was."""
    low, high = min(loads), max(loads)
    span = max(high - low, SPAN_MIN * high)
    return max(0.0, low - AROUND_SPANS * span), min(high + AROUND_SPANS * span, highest + 0.1 * span)
