"""The report of a suite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.analysis import Comparison
    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite


def format_suite_json(suite: "Suite", results: "Sequence[RunResult]") -> str:
    """Return a suite with its results as one JSON document."""
    from nodrop.procedure import build_report
    from nodrop.store import suites

    report = build_report(suite.procedure, results) if suite.procedure else None
    return suites.to_results_json(suite, results, report)


def render_suite(
    suite: "Suite",
    results: "Sequence[RunResult]",
    with_trials: bool = False,
    *,
    is_screen: bool = False,
    comparison: "Comparison | None" = None,
) -> "RenderableType":
    """Return the table of all runs, then each run or the figures that repeats have in common.

    Args:
        suite: the suite.
        results: the results of its runs, in the same order.
        with_trials: whether to add the trials of each run.
        is_screen: whether to return one screen.
        comparison: the comparison of two setups on the screen, if it is not that with the default margins.
    """
    from nodrop.report.document.repeat_screen import build_repeat_screen
    from nodrop.report.document.suite import build_suite_summary, is_repeated
    from nodrop.report.document.suite_screen import build_suite_screen
    from nodrop.report.terminal import render_sections
    from nodrop.run.rule_cost import build_cost_table

    if is_screen and results and not (suite.pricing or with_trials):
        if not is_repeated(suite):
            return render_sections(build_suite_screen(suite, results))
        return render_sections(build_repeat_screen(suite, results, comparison))
    costs = build_cost_table(suite, results) if suite.pricing else None
    return render_sections(build_suite_summary(suite, results, with_trials, costs))
