"""The cost of each placement rule: runs that break the rule compared with runs that keep all rules."""

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from pydantic import ConfigDict, Field, computed_field

from nodrop.analysis.comparison import compare
from nodrop.analysis.text import format_percent
from nodrop.analysis.types import ComparisonOutcome, MetricComparison, MetricSeries
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.rule_cost import BASELINE_VARIANT, PlacementRule, RuleCostPlan
from nodrop.model.summary import Measure, Summary
from nodrop.model.vmd import Impact

PERCENT = 100
"""Shares in a descriptor are rounded to whole percents."""


class RuleOutcome(StrEnum):
    """The outcome of the comparison for a rule."""

    COSTS = "costs"
    NOTHING = "costs nothing"
    """The difference is shown to be smaller than the margin."""
    GAINS = "gains"
    """The rate is higher with the rule broken."""
    NOT_SHOWN = "not shown"
    """The difference does not exceed the scatter between runs."""
    LIMITED = "tester-limited"
    """The tester was the limit; only a bound of the cost is known."""
    NO_LOAD = "no load found"
    """With the rule broken, no load met the goal."""
    NOT_MEASURED = "not measured"


class CostBound(StrEnum):
    """The kind of bound that the tester's own limits make of a cost."""

    NONE = ""
    AT_LEAST = "at least"
    """The tester limited the runs that keep the rules: the VNF may forward more there, and the rule may cost more."""
    AT_MOST = "at most"
    """The tester limited the runs that break the rule."""
    NEITHER = "neither"
    """The tester limited both: nothing is known about the VNF."""


BOUND_SIGNS = {CostBound.AT_LEAST: "≥ ", CostBound.AT_MOST: "≤ "}
"""Signs of a bound in front of a value."""


class RuleCost(Value):
    """A placement rule and its cost."""

    model_config = ConfigDict(serialize_by_alias=True)

    rule: PlacementRule
    outcome: RuleOutcome = Field(serialization_alias="said")
    bound: CostBound = CostBound.NONE
    metric: MetricComparison | None = None
    """The comparison for the goal that costs refer to."""
    others: tuple[MetricComparison, ...] = ()
    """The comparisons for further goals."""
    run_count: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost(self) -> float | None:
        """Share of the rate that the VNF loses; negative for a gain. None: unknown."""
        return -self.metric.effect if self.metric else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def low(self) -> float | None:
        """Lower end of the cost's interval; None where the tester's limits leave it open."""
        open_end = self.bound in (CostBound.AT_MOST, CostBound.NEITHER)
        return None if self.metric is None or open_end else -self.metric.high

    @computed_field  # type: ignore[prop-decorator]
    @property
    def high(self) -> float | None:
        """Upper end of the cost's interval; None where the tester's limits leave it open."""
        open_end = self.bound in (CostBound.AT_LEAST, CostBound.NEITHER)
        return None if self.metric is None or open_end else -self.metric.low


class RuleCostTable(Value):
    """The costs of all rules of a suite."""

    model_config = ConfigDict(serialize_by_alias=True)

    pricing: RuleCostPlan
    text: str
    """Display name of the measure that costs refer to: `NDR`."""
    passed_over: tuple[str, ...] = ()
    """Preceding goals without a result when all rules are kept, which therefore have no costs."""
    confidence: float
    baseline: MetricSeries | None = Field(serialization_alias="kept")
    """Runs that keep all rules; None without such runs."""
    prices: tuple[RuleCost, ...]
    """Rules that were broken, highest cost first; then rules that were not measured."""
    impossible: tuple[PlacementRule, ...]
    """Rules that this host cannot break."""
    identical_count: int | None = None
    """Number of identical VNFs that keep the required rate on one host; None: not measured."""


def compute_rule_costs(
    pricing: RuleCostPlan, runs: Mapping[str, Sequence[Summary]], confidence: float = 0.95
) -> RuleCostTable:
    """Compute the costs of a suite's rules.

    Args:
        pricing: the measurement plan.
        runs: complete runs by variant.
        confidence: of each interval.
    """
    baseline = list(runs.get(BASELINE_VARIANT, ()))
    goal = _select_goal(pricing.goals, baseline)
    prices = [
        _build_rule_cost(
            rule, baseline, list(runs.get(rule.key, ())), (goal, *_list_other_goals(pricing, goal)), confidence
        )
        for rule in pricing.rules
        if not rule.why_not
    ]
    first = next((price.metric for price in prices if price.metric), None)
    return RuleCostTable(
        pricing=pricing,
        text=_format_goal_name(goal, baseline),
        passed_over=tuple(_format_goal_name(each, baseline) for each in pricing.goals[: pricing.goals.index(goal)]),
        confidence=confidence,
        baseline=first.a if first else None,
        prices=tuple(sorted(prices, key=_make_sort_key)),
        impossible=tuple(rule for rule in pricing.rules if rule.why_not),
        identical_count=_count_identical(pricing, prices, bool(baseline)),
    )


def format_costliest_rule(table: RuleCostTable) -> str:
    """Format the rule with the highest cost."""
    costliest = next(
        (price for price in table.prices if price.outcome in (RuleOutcome.COSTS, RuleOutcome.NO_LOAD)), None
    )
    if costliest is None:
        return "No rule shows a cost on this host"
    cost = (
        "all" if costliest.cost is None else f"{BOUND_SIGNS.get(costliest.bound, '')}{format_percent(costliest.cost)}"
    )
    return f"Highest cost on this host: {costliest.rule.text}, {cost} of {table.text}"


def derive_impact(table: RuleCostTable, option: int) -> Impact | None:
    """Derive the impact section of a VM Descriptor; None where it was not measured.

    Option 1 states the largest cost of each antagonist, at the confidence of the table. Source: ETSI GS
    NFV-PER 001 clause 8.2.2.5.
    """
    if option == 2:
        return None if table.identical_count is None else Impact(option=2, identical_max_count=table.identical_count)
    worst = {
        price.rule.antagonist: _compute_largest_cost(price)
        for price in table.prices
        if price.rule.antagonist and (price.metric or price.outcome is RuleOutcome.NO_LOAD)
    }
    return Impact(option=1, degradation_max_ratio=dict(sorted(worst.items()))) if worst else None


def _select_goal(goals: Sequence[str], baseline: Sequence[Summary]) -> str:
    """Return the first goal that every run with all rules kept met, else the goal met most often."""
    met_counts = {goal: sum(any(each.key == goal for each in run.measures) for run in baseline) for goal in goals}
    return next((goal for goal in goals if met_counts[goal] == len(baseline)), max(goals, key=met_counts.__getitem__))


def _list_other_goals(pricing: RuleCostPlan, goal: str) -> Iterator[str]:
    return (each for each in pricing.goals if each != goal)


def _format_goal_name(goal: str, runs: Sequence[Summary]) -> str:
    """Return the display name of a goal."""
    return next((each.text for run in runs for each in run.measures if each.key == goal), goal.upper())


def _compute_largest_cost(price: RuleCost) -> float:
    """Return the largest possible cost, rounded up to a percent: 1 where no load was found or the end is open."""
    if price.outcome is RuleOutcome.NO_LOAD or price.high is None:
        return 1.0
    return min(1.0, max(0, math.ceil(price.high * PERCENT - 1e-9)) / PERCENT)


def _build_rule_cost(
    rule: PlacementRule, baseline: Sequence[Summary], broken: Sequence[Summary], goals: Sequence[str], confidence: float
) -> RuleCost:
    goal = goals[0]
    if not broken or not any(measure.key == goal for run in baseline for measure in run.measures):
        return RuleCost(rule=rule, outcome=RuleOutcome.NOT_MEASURED)
    each = [_scale_to_one_vnf(run, rule.vnf_count) for run in broken]
    metrics = {key: verdict for key in goals if (verdict := _compare_measure(baseline, each, key, confidence))}
    metric = metrics.pop(goal, None)
    if metric is None:
        return RuleCost(rule=rule, outcome=RuleOutcome.NO_LOAD, others=tuple(metrics.values()), run_count=len(broken))
    return RuleCost(
        rule=rule,
        outcome=_derive_outcome(metric),
        bound=derive_bound(metric),
        metric=metric,
        others=tuple(metrics.values()),
        run_count=len(broken),
    )


def _scale_to_one_vnf(run: Summary, vnf_count: int) -> Summary:
    """Scale the summary of a run to one of its VNFs."""
    if vnf_count == 1:
        return run
    return run.replace(measures=tuple(_scale_measure(each, vnf_count) for each in run.measures))


def _scale_measure(measure: Measure, count: int) -> Measure:
    if measure.unit != "pps":
        return measure
    parts = {key: value / count for key in ("value", "low", "high") if (value := getattr(measure, key)) is not None}
    return measure.replace(**parts)


def _compare_measure(
    baseline: Sequence[Summary], broken: Sequence[Summary], key: str, confidence: float
) -> MetricComparison | None:
    """Compare one measure; None where a side lacks it."""
    try:
        (metric,) = compare(baseline, broken, confidence=confidence, metrics=(key,)).metrics
    except ConfigError:
        return None
    return metric


def derive_bound(metric: MetricComparison) -> CostBound:
    """Derive the kind of bound from the sides that the tester limited."""
    limited = (metric.a.at_least, metric.b.at_least)
    return {
        (False, False): CostBound.NONE,
        (True, False): CostBound.AT_LEAST,
        (False, True): CostBound.AT_MOST,
        (True, True): CostBound.NEITHER,
    }[limited]


def _derive_outcome(metric: MetricComparison) -> RuleOutcome:
    if metric.verdict is ComparisonOutcome.UNDECIDED and derive_bound(metric) is not CostBound.NONE:
        return RuleOutcome.LIMITED
    return {
        ComparisonOutcome.WORSE: RuleOutcome.COSTS,
        ComparisonOutcome.BETTER: RuleOutcome.GAINS,
        ComparisonOutcome.EQUIVALENT: RuleOutcome.NOTHING,
        ComparisonOutcome.UNDECIDED: RuleOutcome.NOT_SHOWN,
    }[metric.verdict]


def _make_sort_key(price: RuleCost) -> tuple[int, float, str]:
    if price.outcome is RuleOutcome.NO_LOAD:
        return 0, 0.0, price.rule.key
    if price.cost is None:
        return 3, 0.0, price.rule.key
    return (2 if price.bound is CostBound.NEITHER else 1), -price.cost, price.rule.key


def _count_identical(pricing: RuleCostPlan, prices: Sequence[RuleCost], one_works: bool) -> int | None:
    """Return the largest number of VNFs with a sufficient rate, up to the first number that was not measured."""
    steps = sorted((price for price in prices if price.rule.vnf_count > 1), key=lambda each: each.rule.vnf_count)
    if not one_works or not any(step.run_count for step in steps):
        return None
    count = 1
    for step in _take_measured(steps):
        if step.high is None or 1 - step.high < pricing.share:
            break
        count = step.rule.vnf_count
    return count


def _take_measured(steps: Sequence[RuleCost]) -> Iterator[RuleCost]:
    for step in steps:
        if not step.run_count:
            return
        yield step
