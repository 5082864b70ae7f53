"""Rule costs of stored runs."""

from collections.abc import Sequence

from nodrop.analysis.rule_costs import RuleCostTable, compute_rule_costs
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, Status
from nodrop.model.rule_cost import BASELINE_VARIANT, RuleCostPlan
from nodrop.model.suite import Suite
from nodrop.model.summary import Summary
from nodrop.store.summaries import summarize_result
from nodrop.units import format_ratio

WHOLE = 0.95
"""A table with at least this share in large pages counts as being in large pages."""


def build_cost_table(suite: Suite, results: Sequence[RunResult]) -> RuleCostTable:
    """Compute the rule costs of a suite from its results so far. Raises ConfigError for a suite without rules."""
    if suite.pricing is None:
        raise ConfigError(f"{suite.suite_id}: its runs break no placement rules; use a suite of 'nodrop vm price'")
    runs: dict[str, list[Summary]] = {}
    for result in results:
        if result.status is Status.COMPLETE:
            runs.setdefault(result.plan.variant, []).append(summarize_result(result))
    return compute_rule_costs(_note_page_shortage(suite.pricing, results), runs)


def _note_page_shortage(pricing: RuleCostPlan, results: Sequence[RunResult]) -> RuleCostPlan:
    """Add a note if the table of the baseline runs was not entirely in large pages."""
    short = [_compute_large_page_share(result) for result in results if result.plan.variant == BASELINE_VARIANT]
    least = min((share for share in short if share is not None), default=1.0)
    if least >= WHOLE:
        return pricing
    note = f"with all rules kept only {format_ratio(least)} of the table was in large pages, as the kernel had no more"
    rules = (rule.replace(note=note) if rule.key == "small-pages" else rule for rule in pricing.rules)
    return pricing.replace(rules=tuple(rules))


def _compute_large_page_share(result: RunResult) -> float | None:
    """Return the share of a VNF's table in large pages; None if not requested or not reported."""
    table_bytes = result.plan.lab.sut_table_bytes
    sizes_bytes = [each.large_page_bytes for each in result.facts.stage.sut_processes] if result.facts else []
    reported = [each for each in sizes_bytes if each is not None]
    return min(reported) / table_bytes if reported and table_bytes and result.plan.lab.sut_pages == "large" else None
