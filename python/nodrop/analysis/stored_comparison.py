"""Comparison of stored results, with the differences between their setups."""

from collections.abc import Callable, Sequence

from nodrop.analysis import Comparison, Margins, SetupDifference, compare, diff_setups, diff_summaries
from nodrop.analysis.types import DEFAULT_MARGINS
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.store.selection import SelectedResult

Runs = Sequence[SelectedResult]


def compare_results(
    a: Runs,
    b: Runs,
    *,
    margins: Margins = DEFAULT_MARGINS,
    confidence: float = 0.95,
    metrics: Sequence[str] = (),
    load: Callable[[SelectedResult], RunResult] = SelectedResult.result,
) -> Comparison:
    """Compare B with A as `analysis.compare`, and list the differences between the two setups.

    Args:
        load: returns the full result of a nodrop run; pass it where the results are already loaded.

    Raises: ConfigError where the sides have no measure in common.
    """
    differing = diff_stored_setups(a, b, load)
    one, other = ([run.summary for run in side] for side in (a, b))
    return compare(one, other, margins=margins, confidence=confidence, metrics=metrics, differences=differing)


def diff_stored_setups(
    a: Runs, b: Runs, load: Callable[[SelectedResult], RunResult] = SelectedResult.result
) -> tuple[SetupDifference, ...]:
    """Return the differences between two setups; results of other testers state little about theirs."""
    if all(run.summary.source == "nodrop" for run in (*a, *b)):
        return diff_setups([load(run) for run in a], [load(run) for run in b])
    return diff_summaries([run.summary for run in a], [run.summary for run in b])


def split_variants(runs: Runs) -> tuple[Runs, Runs] | None:
    """Return the runs of A and of B from a suite that alternated both; None where all runs are of one setup."""
    a, b = (tuple(run for run in runs if run.variant == variant) for variant in ("A", "B"))
    return (a, b) if a and b else None


def require_variants(runs: Runs, name: str) -> tuple[Runs, Runs]:
    """Return the runs of A and of B from a suite. Raises ConfigError where all runs are of one setup."""
    variants = split_variants(runs)
    if variants is None:
        raise ConfigError(
            f"{name}: all runs are of one setup; name two results, or alternate two configurations: "
            "nodrop run -c A.yaml --interleave B.yaml --repeat 5"
        )
    return variants
