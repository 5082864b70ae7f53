"""Verdicts on results that are stored, with what differs between their set-ups."""

from collections.abc import Callable, Sequence

from nodrop.analysis import Comparison, Difference, Margins, compare, differences, outward_differences
from nodrop.analysis.comparison import NO_MARGINS
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.store.selection import Selected

Runs = Sequence[Selected]


def verdict_on(
    a: Runs,
    b: Runs,
    *,
    margins: Margins = NO_MARGINS,
    confidence: float = 0.95,
    metrics: Sequence[str] = (),
    load: Callable[[Selected], RunResult] = Selected.result,
) -> Comparison:
    """What B is beside A, as `verdict.compare`, with what differs between the two.

    Args:
        load: gives the whole of a run that nodrop measured, for those who have it already.

    Raises: ConfigError when there is nothing that both sides have.
    """
    differing = set_ups_differ(a, b, load)
    one, other = ([run.summary for run in side] for side in (a, b))
    return compare(one, other, margins=margins, confidence=confidence, metrics=metrics, differences=differing)


def set_ups_differ(a: Runs, b: Runs, load: Callable[[Selected], RunResult] = Selected.result) -> tuple[Difference, ...]:
    """In what two set-ups differ, as far as is known of them: of what others measured that is little."""
    if all(run.summary.source == "nodrop" for run in (*a, *b)):
        return differences([load(run) for run in a], [load(run) for run in b])
    return outward_differences([run.summary for run in a], [run.summary for run in b])


def in_two(runs: Runs) -> tuple[Runs, Runs] | None:
    """Runs of A and runs of B, of a suite that measured both in turn; None where they are of one set-up."""
    a, b = (tuple(run for run in runs if run.variant == variant) for variant in ("A", "B"))
    return (a, b) if a and b else None


def require_two(runs: Runs, asked: str) -> tuple[Runs, Runs]:
    """The same. Raises ConfigError where they are of one set-up."""
    two = in_two(runs)
    if two is None:
        raise ConfigError(
            f"{asked} alone asked, it has no runs of two set-ups; name two results, or measure in turn: "
            "nodrop run -c A.yaml --interleave B.yaml --repeat 5"
        )
    return two
