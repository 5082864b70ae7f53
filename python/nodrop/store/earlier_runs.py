"""Earlier runs of the same setup: their figures show the repeatability, which a single run cannot."""

from collections.abc import Iterator, Sequence

from sqlalchemy.exc import SQLAlchemyError

from nodrop.errors import NodropError
from nodrop.model.result import EarlierFigure, EarlierRuns, RunResult, Status
from nodrop.model.result_filter import ResultFilter
from nodrop.model.summary import Summary
from nodrop.store.index import open_index
from nodrop.store.setup_key import compute_setup_key
from nodrop.store.summaries import list_measures

RUNS_MAX = 20
"""Most earlier runs, the latest ones: the machine changes with time."""


def find_earlier_runs(result: RunResult) -> EarlierRuns | None:
    """Return the earlier complete runs of the setup of a run, with the same rates; None if the index cannot be read.

    The index is not compared with the files first, which takes long in a large directory.
    """
    rates = {measure.key: measure.text for measure in list_measures(result) if measure.unit == "pps"}
    key = compute_setup_key(result)
    if not (rates and key):
        return None
    criteria = ResultFilter(setup=key, status=Status.COMPLETE.value, until=result.started_at, limit=RUNS_MAX)
    try:
        with open_index(result.plan.results_dir, result.plan.results_index, refresh=False) as index:
            found = [row.summary for row in index.list(criteria)]
    except (NodropError, SQLAlchemyError, OSError):
        return None
    runs = [run for run in found if any(measure.key in rates for measure in run.measures)]
    return EarlierRuns(
        run_ids=tuple(run.run_id for run in runs),
        figures=tuple(figure for key, text in rates.items() for figure in _summarize(key, text, runs)),
    )


def _summarize(key: str, text: str, runs: Sequence[Summary]) -> Iterator[EarlierFigure]:
    values = [measure.value for run in runs for measure in run.measures if measure.key == key]
    if values:
        yield EarlierFigure(key=key, text=text, count=len(values), lowest=min(values), highest=max(values))
