"""Prices of runs that are stored."""

from collections.abc import Sequence

from nodrop.errors import ConfigError
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.summary import Summary
from nodrop.store.summaries import summary_of
from nodrop.verdict.prices import PriceTable, priced


def table_of(suite: Suite, results: Sequence[RunResult]) -> PriceTable:
    """What the runs of a suite say so far. Raises ConfigError where they price nothing."""
    if suite.pricing is None:
        raise ConfigError(f"{suite.suite_id}: prices asked, its runs break no rules; measure some: nodrop vm price")
    runs: dict[str, list[Summary]] = {}
    for result in results:
        if result.status is Status.COMPLETE:
            runs.setdefault(result.plan.variant, []).append(summary_of(result))
    return priced(suite.pricing, runs)
