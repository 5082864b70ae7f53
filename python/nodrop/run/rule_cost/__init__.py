"""What each rule of placement is worth on this host: runs that obey all of them, and runs that break one each.

`places` chooses CPUs from the host's descriptor, `rules` says how each rule is broken there, `planning` makes plans of
that, in turn, and `verdict.prices` says what came of them.
"""

from nodrop.run.rule_cost.plans import Planned, plan_prices, still_wanted
from nodrop.run.rule_cost.results import table_of

__all__ = ["Planned", "plan_prices", "still_wanted", "table_of"]
