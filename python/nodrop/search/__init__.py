"""Searches: pure controllers, one file each, and their common parts.

Numbers in, numbers out; no clock, no I/O. Drive a search with a custom measurer like this:

    search = create(plan(max_load_pps=10e6))
    while (trial := search.ask()) is not None:
        search.tell(Outcome(index=..., loss_ratio=..., elapsed_s=...))
    print(search.intervals())
"""

import importlib

from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Flag, Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search.base import Interval, Outcome, Sample, Search
from nodrop.search.plan_builder import plan

__all__ = [
    "ALGORITHMS",
    "AlgorithmName",
    "Flag",
    "Goal",
    "Interval",
    "Outcome",
    "Sample",
    "Search",
    "SearchPlan",
    "StopRule",
    "Trial",
    "create",
    "plan",
]

ALGORITHMS: dict[AlgorithmName, tuple[str, str]] = {
    "nodrop": ("probe_search", "NodropSearch"),
    "mlrsearch-rfc9971": ("mlrsearch_rfc9971", "MlrSearchRfc9971"),
    "mlrsearch-01": ("mlrsearch_01", "MlrSearch01"),
    "mlrsearch-03": ("mlrsearch_03", "MlrSearch03"),
    "binary": ("binary", "BinarySearch"),
    "binary-loss-verification": ("loss_verification", "LossVerificationSearch"),
    "nfvbench": ("nfvbench", "NfvbenchSearch"),
    "plrsearch": ("plrsearch", "PlrSearch"),
    "mrr": ("mrr", "MrrSearch"),
    "frame-loss-rate": ("frame_loss_rate", "FrameLossRateSearch"),
    "back-to-back": ("back_to_back", "BackToBackSearch"),
}
"""Module and class of every search; loaded on demand, as some load numerics."""


def create(plan: SearchPlan) -> Search:
    """Return the search of a plan, before its first trial. Raises ConfigError for a plan it cannot carry out."""
    module, name = ALGORITHMS[plan.algorithm]
    search: Search = getattr(importlib.import_module(f"nodrop.search.{module}"), name)(plan)
    return search
