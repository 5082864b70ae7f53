"""What each rule of placement is worth: runs that break it beside runs that keep all of them."""

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from pydantic import computed_field

from nodrop.analysis.comparison import compare
from nodrop.analysis.text import format_percent
from nodrop.analysis.types import ComparisonOutcome, MetricComparison, MetricSeries
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.rule_cost import KEPT, PriceRule, Pricing
from nodrop.model.summary import Measure, Summary
from nodrop.model.vmd import Impact

PERCENT = 100
"""Shares in a descriptor are whole percents."""


class RuleOutcome(StrEnum):
    """What the runs say of a rule."""

    COSTS = "costs"
    NOTHING = "costs nothing"
    """Any difference is smaller than what matters, and that is proven."""
    GAINS = "gains"
    """It does better with the rule broken."""
    NOT_SHOWN = "not shown"
    """The difference is within what runs differ by."""
    LIMITED = "tester-limited"
    """The tester was the limit, so that no more than a bound can be said."""
    NO_LOAD = "no load found"
    """With the rule broken no load was found that meets the goal."""
    NOT_MEASURED = "not measured"


class CostBound(StrEnum):
    """What the tester's own limits make of a price."""

    NONE = ""
    AT_LEAST = "at least"
    """Runs that keep the rules are limited by the tester: the VNF may do more there, and the rule cost more."""
    AT_MOST = "at most"
    """Runs that break it are."""
    NEITHER = "neither"
    """Both are: nothing is known of the VNF."""


BOUND_SIGNS = {CostBound.AT_LEAST: "≥ ", CostBound.AT_MOST: "≤ "}
"""How a bound is written in front of a figure."""


class RuleCost(Value):
    """A rule and what it is worth."""

    rule: PriceRule
    said: RuleOutcome
    bound: CostBound = CostBound.NONE
    metric: MetricComparison | None = None
    """Of the goal that prices are of."""
    others: tuple[MetricComparison, ...] = ()
    """The same of further goals."""
    run_count: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cost(self) -> float | None:
        """Share of its rate that the VNF loses; negative where it gains. None: not known."""
        return -self.metric.effect if self.metric else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def low(self) -> float | None:
        """The least it is; None where the tester's limits leave that open."""
        open_end = self.bound in (CostBound.AT_MOST, CostBound.NEITHER)
        return None if self.metric is None or open_end else -self.metric.high

    @computed_field  # type: ignore[prop-decorator]
    @property
    def high(self) -> float | None:
        """The most it is; None where the tester's limits leave that open."""
        open_end = self.bound in (CostBound.AT_LEAST, CostBound.NEITHER)
        return None if self.metric is None or open_end else -self.metric.low


class RuleCostTable(Value):
    """All rules of a suite."""

    pricing: Pricing
    text: str
    """Of the measure that prices are of: `NDR`."""
    passed_over: tuple[str, ...] = ()
    """Goals before it that were not found with all rules kept, so that nothing can be said of them."""
    confidence: float
    kept: MetricSeries | None
    """Runs that keep all rules; None where there are none yet."""
    prices: tuple[RuleCost, ...]
    """Those that were broken, the dearest first; then those not measured."""
    impossible: tuple[PriceRule, ...]
    """Those that this host cannot break."""
    identical_count: int | None = None
    """So many identical VNFs are sure to do well enough beside each other; None: not measured."""


def compute_rule_costs(
    pricing: Pricing, runs: Mapping[str, Sequence[Summary]], confidence: float = 0.95
) -> RuleCostTable:
    """The prices of a suite's rules.

    Args:
        pricing: what was asked.
        runs: complete ones by their variant.
        confidence: of every interval by itself.
    """
    kept = list(runs.get(KEPT, ()))
    goal = _goal(pricing.goals, kept)
    prices = [
        _price(rule, kept, list(runs.get(rule.key, ())), (goal, *_others(pricing, goal)), confidence)
        for rule in pricing.rules
        if not rule.why_not
    ]
    first = next((price.metric for price in prices if price.metric), None)
    return RuleCostTable(
        pricing=pricing,
        text=_text(goal, kept),
        passed_over=tuple(_text(each, kept) for each in pricing.goals[: pricing.goals.index(goal)]),
        confidence=confidence,
        kept=first.a if first else None,
        prices=tuple(sorted(prices, key=_dearest)),
        impossible=tuple(rule for rule in pricing.rules if rule.why_not),
        identical_count=_identical_count(pricing, prices, bool(kept)),
    )


def format_costliest_rule(table: RuleCostTable) -> str:
    """The rule that costs most, in short."""
    dearest = next((price for price in table.prices if price.said in (RuleOutcome.COSTS, RuleOutcome.NO_LOAD)), None)
    if dearest is None:
        return "No rule shows a cost on this host"
    cost = "all" if dearest.cost is None else f"{BOUND_SIGNS.get(dearest.bound, '')}{format_percent(dearest.cost)}"
    return f"Dearest on this host: {dearest.rule.text}, {cost} of {table.text}"


def derive_impact(table: RuleCostTable, option: int) -> Impact | None:
    """What goes into a VM Descriptor; None where it was not measured.

    Option 1 promises the most that each antagonist was seen to cost, at the confidence of the table. Source: ETSI GS
    NFV-PER 001 clause 8.2.2.5.
    """
    if option == 2:
        return None if table.identical_count is None else Impact(option=2, identical_max_count=table.identical_count)
    worst = {
        price.rule.antagonist: _promise(price)
        for price in table.prices
        if price.rule.antagonist and (price.metric or price.said is RuleOutcome.NO_LOAD)
    }
    return Impact(option=1, degradation_max_ratio=dict(sorted(worst.items()))) if worst else None


def _goal(goals: Sequence[str], kept: Sequence[Summary]) -> str:
    """The first that was found each time all rules were kept, else the one found most often."""
    found = {goal: sum(any(each.key == goal for each in run.measures) for run in kept) for goal in goals}
    return next((goal for goal in goals if found[goal] == len(kept)), max(goals, key=found.__getitem__))


def _others(pricing: Pricing, goal: str) -> Iterator[str]:
    return (each for each in pricing.goals if each != goal)


def _text(goal: str, runs: Sequence[Summary]) -> str:
    """A goal for people."""
    return next((each.text for run in runs for each in run.measures if each.key == goal), goal.upper())


def _promise(price: RuleCost) -> float:
    """The most it may cost, rounded up to a percent: all of it where nothing is left or the end is open."""
    if price.said is RuleOutcome.NO_LOAD or price.high is None:
        return 1.0
    return min(1.0, max(0, math.ceil(price.high * PERCENT - 1e-9)) / PERCENT)


def _price(
    rule: PriceRule, kept: Sequence[Summary], broken: Sequence[Summary], goals: Sequence[str], confidence: float
) -> RuleCost:
    goal = goals[0]
    if not broken or not any(measure.key == goal for run in kept for measure in run.measures):
        return RuleCost(rule=rule, said=RuleOutcome.NOT_MEASURED)
    each = [_of_one(run, rule.vnf_count) for run in broken]
    metrics = {key: verdict for key in goals if (verdict := _compared(kept, each, key, confidence))}
    metric = metrics.pop(goal, None)
    if metric is None:
        return RuleCost(rule=rule, said=RuleOutcome.NO_LOAD, others=tuple(metrics.values()), run_count=len(broken))
    return RuleCost(
        rule=rule,
        said=_said(metric),
        bound=derive_bound(metric),
        metric=metric,
        others=tuple(metrics.values()),
        run_count=len(broken),
    )


def _of_one(run: Summary, vnf_count: int) -> Summary:
    """The run as one of its VNFs has it."""
    if vnf_count == 1:
        return run
    return run.model_copy(update={"measures": tuple(_shared(each, vnf_count) for each in run.measures)})


def _shared(measure: Measure, count: int) -> Measure:
    if measure.unit != "pps":
        return measure
    parts = {key: value / count for key in ("value", "low", "high") if (value := getattr(measure, key)) is not None}
    return measure.model_copy(update=parts)


def _compared(
    kept: Sequence[Summary], broken: Sequence[Summary], key: str, confidence: float
) -> MetricComparison | None:
    """One measure; None where a side does not have it."""
    try:
        (metric,) = compare(kept, broken, confidence=confidence, metrics=(key,)).metrics
    except ConfigError:
        return None
    return metric


def derive_bound(metric: MetricComparison) -> CostBound:
    """What the tester's limits leave of a difference."""
    limited = (metric.a.at_least, metric.b.at_least)
    return {
        (False, False): CostBound.NONE,
        (True, False): CostBound.AT_LEAST,
        (False, True): CostBound.AT_MOST,
        (True, True): CostBound.NEITHER,
    }[limited]


def _said(metric: MetricComparison) -> RuleOutcome:
    if metric.verdict is ComparisonOutcome.UNDECIDED and derive_bound(metric) is not CostBound.NONE:
        return RuleOutcome.LIMITED
    return {
        ComparisonOutcome.WORSE: RuleOutcome.COSTS,
        ComparisonOutcome.BETTER: RuleOutcome.GAINS,
        ComparisonOutcome.EQUIVALENT: RuleOutcome.NOTHING,
        ComparisonOutcome.UNDECIDED: RuleOutcome.NOT_SHOWN,
    }[metric.verdict]


def _dearest(price: RuleCost) -> tuple[int, float, str]:
    if price.said is RuleOutcome.NO_LOAD:
        return 0, 0.0, price.rule.key
    if price.cost is None:
        return 3, 0.0, price.rule.key
    return (2 if price.bound is CostBound.NEITHER else 1), -price.cost, price.rule.key


def _identical_count(pricing: Pricing, prices: Sequence[RuleCost], one_works: bool) -> int | None:
    """The most that are sure to do well enough, of those numbers that were tried without a gap."""
    steps = sorted((price for price in prices if price.rule.vnf_count > 1), key=lambda each: each.rule.vnf_count)
    if not one_works or not any(step.run_count for step in steps):
        return None
    count = 1
    for step in _measured(steps):
        if step.high is None or 1 - step.high < pricing.share:
            break
        count = step.rule.vnf_count
    return count


def _measured(steps: Sequence[RuleCost]) -> Iterator[RuleCost]:
    for step in steps:
        if not step.run_count:
            return
        yield step
