"""The controllers: pure, one file each, and the pieces they are built from.

Numbers in, numbers out; no clock, no I/O.
"""

from collections.abc import Callable

from nodrop.model.plan import AlgorithmName, SearchPlan
from nodrop.search.base import Search
from nodrop.search.mlrsearch_01 import MlrSearch01

ALGORITHMS: dict[AlgorithmName, Callable[[SearchPlan], Search]] = {"mlrsearch-01": MlrSearch01}
"""Every search by the name a user writes."""


def create(plan: SearchPlan) -> Search:
    """The search a plan asks for, before its first trial."""
    return ALGORITHMS[plan.algorithm](plan)
