"""Trends of stored results, with the setup differences at each change."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from nodrop.analysis import Margins
from nodrop.analysis.stored_comparison import diff_stored_setups
from nodrop.analysis.trend import Trend, TrendSegment, analyze_trend, build_series
from nodrop.analysis.types import DEFAULT_MARGINS, SetupDifference
from nodrop.errors import ConfigError
from nodrop.model.summary import Summary
from nodrop.store import suites
from nodrop.store.selection import SelectedResult

DEFAULT_METRIC = "ndr"


def analyze_stored_trends(
    runs: Sequence[SelectedResult],
    metric: str = "",
    margins: Margins = DEFAULT_MARGINS,
    results_dir: str | Path = "results",
) -> tuple[Trend, ...]:
    """Analyze the trend of a measure over runs, separately for each kind of traffic.

    Args:
        runs: in any order.
        metric: key of a measure or its beginning, e.g. `ndr`, `pdr`, `latency_p99_at_ndr`; empty: NDR, or the first
            measure of the runs.
        margins: changes too small to matter.
        results_dir: the directory of the suites, which state the runs that are repeats of each other.

    Raises: ConfigError where no run has such a measure, or the key is ambiguous.
    """
    key = resolve_metric_key([run.summary for run in runs], metric)
    by_id = {run.summary.run_id: run for run in runs}
    trends = (
        analyze_trend(series, margins)
        for series in build_series([run.summary for run in runs], key, _run_groups(results_dir))
    )
    return tuple(_add_suspects(each, by_id) for each in trends)


def resolve_metric_key(runs: Sequence[Summary], metric: str) -> str:
    """Return the key of the measure that a name refers to. Raises ConfigError."""
    keys = list(dict.fromkeys(measure.key for run in runs for measure in run.measures))
    if not metric:
        if not keys:
            raise ConfigError("metric: the runs have no measures; name runs with results")
        return DEFAULT_METRIC if DEFAULT_METRIC in keys else keys[0]
    if metric in keys:
        return metric
    matches = [key for key in keys if key.startswith(f"{metric}_") and not key.endswith("_estimate")]
    if len(matches) != 1:
        problem = "is ambiguous" if matches else "is not a measure of these runs"
        raise ConfigError(f"metric: {metric} {problem}; choose from: {', '.join(matches or keys) or 'none'}")
    return matches[0]


def _run_groups(results_dir: str | Path) -> Mapping[str, str]:
    """Return the run group of each repeat in a suite: the repeats of one setup and frame size form a group."""
    return {
        run.run_id: f"{suite.suite_id} {run.variant}"
        for suite in suites.list_suites(results_dir)
        if suite.repeat_count > 1
        for run in suite.runs
    }


def _add_suspects(trend: Trend, by_id: Mapping[str, SelectedResult]) -> Trend:
    changes = (
        change.replace(suspects=_find_suspects(before, after, by_id))
        for change, (before, after) in zip(trend.changes, pairwise(trend.groups), strict=True)
    )
    return trend.replace(changes=tuple(changes))


def _find_suspects(
    before: TrendSegment, after: TrendSegment, by_id: Mapping[str, SelectedResult]
) -> tuple[SetupDifference, ...]:
    """Return the differences across a change that do not occur between neighbors on the same side."""
    *_, earlier, last = (None, *(by_id[run_id] for run_id in before.run_ids))
    first, later, *_ = (*(by_id[run_id] for run_id in after.run_ids), None)
    assert last and first
    background = {each.key for pair in ((earlier, last), (first, later)) for each in _diff_runs(*pair)}
    return tuple(each for each in _diff_runs(last, first) if each.key not in background)


def _diff_runs(a: SelectedResult | None, b: SelectedResult | None) -> tuple[SetupDifference, ...]:
    return diff_stored_setups([a], [b]) if a and b else ()
