"""Trends of results that are stored, with what differed between the runs before and after each change."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from nodrop.analysis import Margins
from nodrop.analysis.stored_comparison import setup_differences
from nodrop.analysis.trend import NO_MARGINS, Trend, TrendSegment, analyze_trend, build_series
from nodrop.analysis.types import SetupDifference
from nodrop.errors import ConfigError
from nodrop.model.summary import Summary
from nodrop.store import suites
from nodrop.store.selection import SelectedResult

DEFAULT_METRIC = "ndr"


def analyze_stored_trends(
    runs: Sequence[SelectedResult], metric: str = "", margins: Margins = NO_MARGINS, results_dir: str | Path = "results"
) -> tuple[Trend, ...]:
    """What became of a figure over runs, one trend for each kind of traffic.

    Args:
        runs: in any order.
        metric: key of a measure, or how it begins, as `ndr`, `pdr`, `latency_p99_at_ndr`; empty: NDR, or what the runs
            were made for.
        margins: changes that do not matter.
        results_dir: where the lists are that say which runs are repeats of each other.

    Raises: ConfigError when no run has such a figure, or it could be several.
    """
    key = resolve_metric_key([run.summary for run in runs], metric)
    by_id = {run.summary.run_id: run for run in runs}
    found = (
        analyze_trend(series, margins)
        for series in build_series([run.summary for run in runs], key, _moments(results_dir))
    )
    return tuple(_with_suspects(each, by_id) for each in found)


def resolve_metric_key(runs: Sequence[Summary], wanted: str) -> str:
    """The key of the measure that is meant. Raises ConfigError."""
    keys = list(dict.fromkeys(measure.key for run in runs for measure in run.measures))
    if not wanted:
        if not keys:
            raise ConfigError("a trend asked, no run has a figure; name runs that found something")
        return DEFAULT_METRIC if DEFAULT_METRIC in keys else keys[0]
    if wanted in keys:
        return wanted
    meant = [key for key in keys if key.startswith(f"{wanted}_") and not key.endswith("_estimate")]
    if len(meant) != 1:
        found = f"it could be {', '.join(meant)}" if meant else f"the runs have {', '.join(keys) or 'none'}"
        raise ConfigError(f"metric {wanted} asked, {found}; name one of these")
    return meant[0]


def _moments(results_dir: str | Path) -> Mapping[str, str]:
    """Repeats of one set-up and frame size in a suite are of one moment."""
    return {
        run.run_id: f"{suite.suite_id} {run.variant}"
        for suite in suites.list_suites(results_dir)
        if suite.repeat_count > 1
        for run in suite.runs
    }


def _with_suspects(found: Trend, by_id: Mapping[str, SelectedResult]) -> Trend:
    changes = (
        change.model_copy(update={"suspects": _suspects(before, after, by_id)})
        for change, (before, after) in zip(found.changes, pairwise(found.groups), strict=True)
    )
    return found.model_copy(update={"changes": tuple(changes)})


def _suspects(
    before: TrendSegment, after: TrendSegment, by_id: Mapping[str, SelectedResult]
) -> tuple[SetupDifference, ...]:
    """What differs from one side of a change to the other, and not between neighbours on the same side."""
    *_, earlier, last = (None, *(by_id[run_id] for run_id in before.run_ids))
    first, later, *_ = (*(by_id[run_id] for run_id in after.run_ids), None)
    assert last and first
    usual = {each.key for pair in ((earlier, last), (first, later)) for each in _between(*pair)}
    return tuple(each for each in _between(last, first) if each.key not in usual)


def _between(a: SelectedResult | None, b: SelectedResult | None) -> tuple[SetupDifference, ...]:
    return setup_differences([a], [b]) if a and b else ()
