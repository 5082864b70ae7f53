"""The cost of placement rules on this host: runs that keep all rules, and runs that break one each.

`cpu_selection` chooses CPUs from the host's descriptor, `rules` defines how to break each rule there, `plans` makes
alternating plans of them, and `nodrop.analysis.rule_costs` compares the results.
"""

from nodrop.run.rule_cost.cost_table import build_cost_table
from nodrop.run.rule_cost.plans import RuleCostRuns, is_worth_running, plan_rule_costs

__all__ = ["RuleCostRuns", "build_cost_table", "is_worth_running", "plan_rule_costs"]
