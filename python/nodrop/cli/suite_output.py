"""What is shown of runs that belong together: each of them, and what repeats of them say in common."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite
    from nodrop.model.summary import Summary


def several_report(suite: "Suite", results: "Sequence[RunResult]", with_trials: bool = False) -> "RenderableType":
    """The runs in a table; below it how far repeats differ, or whether B of two set-ups is better than A."""
    from rich.console import Group

    from nodrop.report.suite import is_repeated, suite_report

    runs = suite_report(suite, results, with_trials, each=True if with_trials else None)
    if suite.pricing:
        from nodrop.report.rule_cost import price_report
        from nodrop.run.rule_cost import table_of

        return Group(runs, "", price_report(table_of(suite, results)))
    return Group(runs, *_in_common(results)) if is_repeated(suite) else runs


def _in_common(results: "Sequence[RunResult]") -> "Iterator[RenderableType]":
    """What repeats say; only of runs that got to their end."""
    from nodrop.analysis.spread import spreads
    from nodrop.model.result import Status
    from nodrop.report.repeats import repeats_table
    from nodrop.store.summaries import summary_of

    done = [result for result in results if result.status is Status.COMPLETE]
    variants: dict[str, list[Summary]] = {}
    for result in done:
        variants.setdefault(result.plan.variant, []).append(summary_of(result))
    if set(variants) == {"A", "B"}:
        yield from _verdict(done, variants["A"], variants["B"])
    elif len(done) > 1:
        yield ""
        yield repeats_table(spreads([run for runs in variants.values() for run in runs]))


def _verdict(
    results: "Sequence[RunResult]", a: "Sequence[Summary]", b: "Sequence[Summary]"
) -> "Iterator[RenderableType]":
    """B beside A, and what in their set-ups may be why."""
    from rich.text import Text

    from nodrop.analysis import compare, differences
    from nodrop.errors import ConfigError
    from nodrop.report.comparison import comparison_report

    of_a, of_b = ([result for result in results if result.plan.variant == variant] for variant in ("A", "B"))
    yield ""
    try:
        comparison = compare(a, b, differences=differences(of_a, of_b))
    except ConfigError as error:
        yield Text(f"! no verdict: {error}", style="yellow")
        return
    yield comparison_report(comparison)
