"""The report of a suite."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from nodrop.model.result import RunResult
    from nodrop.model.suite import Suite


def render_suite(suite: "Suite", results: "Sequence[RunResult]", with_trials: bool = False) -> "RenderableType":
    """Return the table of all runs, then each run or what repeats have in common."""
    from nodrop.report.document.suite import build_suite_summary
    from nodrop.report.terminal import render_sections
    from nodrop.run.rule_cost import build_cost_table

    costs = build_cost_table(suite, results) if suite.pricing else None
    return render_sections(build_suite_summary(suite, results, with_trials, costs))
