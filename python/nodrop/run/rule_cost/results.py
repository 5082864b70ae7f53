"""Prices of runs that are stored."""

from collections.abc import Sequence

from nodrop.analysis.rule_costs import PriceTable, priced
from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, Status
from nodrop.model.rule_cost import KEPT, Pricing
from nodrop.model.suite import Suite
from nodrop.model.summary import Summary
from nodrop.store.summaries import summary_of
from nodrop.units import format_ratio

WHOLE = 0.95
"""From this share on a table is in large pages."""


def table_of(suite: Suite, results: Sequence[RunResult]) -> PriceTable:
    """What the runs of a suite say so far. Raises ConfigError where they price nothing."""
    if suite.pricing is None:
        raise ConfigError(f"{suite.suite_id}: prices asked, its runs break no rules; measure some: nodrop vm price")
    runs: dict[str, list[Summary]] = {}
    for result in results:
        if result.status is Status.COMPLETE:
            runs.setdefault(result.plan.variant, []).append(summary_of(result))
    return priced(_as_found(suite.pricing, results), runs)


def _as_found(pricing: Pricing, results: Sequence[RunResult]) -> Pricing:
    """The same, and it is said where the table of those that kept all rules was not in large pages after all."""
    short = [_large_share(result) for result in results if result.plan.variant == KEPT]
    least = min((share for share in short if share is not None), default=1.0)
    if least >= WHOLE:
        return pricing
    note = f"with all rules kept only {format_ratio(least)} of the table was in large pages: the kernel had no more"
    rules = (rule.model_copy(update={"note": note}) if rule.key == "small-pages" else rule for rule in pricing.rules)
    return pricing.model_copy(update={"rules": tuple(rules)})


def _large_share(result: RunResult) -> float | None:
    """Of a VNF's table, what is in large pages; None where nothing was asked or told of it."""
    asked_bytes = result.plan.lab.sut_table_bytes
    told = [each.large_page_bytes for each in result.facts.stage.sut_processes] if result.facts else []
    known = [each for each in told if each is not None]
    return min(known) / asked_bytes if known and asked_bytes and result.plan.lab.sut_pages == "large" else None
