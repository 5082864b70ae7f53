"""The cost of each rule of placement: chart, table, cautions, and the rules that the host cannot break."""

from collections.abc import Iterator

from nodrop.analysis.rule_costs import (
    BOUND_SIGNS,
    CostBound,
    RuleCost,
    RuleCostTable,
    RuleOutcome,
    derive_bound,
    format_costliest_rule,
)
from nodrop.analysis.text import format_percent, format_signed_effect
from nodrop.charts import rule_cost as rule_cost_chart
from nodrop.formatting.messages import format_message
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Card, Cell, Paragraph, Table, Tone, build_figure
from nodrop.units import format_count, format_pps

TONES: dict[RuleOutcome, Tone] = {
    RuleOutcome.COSTS: "bad",
    RuleOutcome.NO_LOAD: "bad",
    RuleOutcome.GAINS: "good",
    RuleOutcome.NOTHING: "good",
    RuleOutcome.NOT_SHOWN: "caution",
    RuleOutcome.LIMITED: "caution",
    RuleOutcome.NOT_MEASURED: "quiet",
}
BOUNDS = {
    CostBound.AT_LEAST: "the tester was the limit with all rules kept, so the rule may be worth more",
    CostBound.AT_MOST: "the tester was the limit with the rule broken, so the rule may be worth less",
    CostBound.NEITHER: "the tester was the limit both ways: the forwarder's cost is unknown",
}
UNKNOWN = "-"
SCATTER_MAX = 0.1
"""The scatter between runs above which a machine is too noisy to measure small costs."""
COST_MIN = -1.0
"""A lower cost, a gain above 100 %, only means that the interval is far too wide."""
CARDS_MAX = 8
IMPOSSIBLE = (cells.make_text_column("rule"), cells.make_prose_column("reason"), cells.make_text_column("clause"))


def build_rule_cost_blocks(table: RuleCostTable) -> tuple[Block, ...]:
    """Return all costs of a suite."""
    return tuple(_build_blocks(table))


def build_rule_cost_cards(table: RuleCostTable) -> tuple[Card, ...]:
    """Return the costliest rules."""
    measured = [cost for cost in table.prices if cost.outcome is not RuleOutcome.NOT_MEASURED][:CARDS_MAX]
    return tuple(
        Card(
            label=cost.rule.text,
            text=format_cost(cost),
            about=cost.outcome.value,
            details=tuple(line for line in (f"between {format_cost_range(cost)}", cost.rule.how) if line),
            tone=TONES[cost.outcome],
        )
        for cost in measured
    )


def format_rule_cost_title(table: RuleCostTable) -> str:
    """Return the title of the table."""
    title = "Cost of each placement rule on this host"
    return f"{title}, for {table.pricing.vm}" if table.pricing.vm else title


def describe_rule_costs(table: RuleCostTable) -> str:
    """Return the costliest rule in a sentence."""
    return f"{format_costliest_rule(table)}."


def format_cost(cost: RuleCost) -> str:
    """Return the share of the rate lost with the rule broken: `58 %`, `≤ 12 %`, `all`."""
    if cost.outcome is RuleOutcome.NO_LOAD:
        return "all"
    return UNKNOWN if cost.cost is None else _format_bounded(cost.cost, cost.bound)


def format_cost_range(cost: RuleCost) -> str:
    """Return the interval of the cost, `51 to 65 %`, without ends that limits of the tester leave open."""
    low, high = cost.low, cost.high
    if cost.metric is None or (low is None and high is None):
        return UNKNOWN
    if high is None:
        return UNKNOWN if low is None or low < COST_MIN else f"{_format_share(low)} or more"
    if low is None:
        return f"{_format_share(high)} or less"
    if low < COST_MIN:
        return f"up to {_format_share(high)}"
    return f"{_format_share(low).removesuffix(' %')} to {_format_share(high)}"


def _build_blocks(table: RuleCostTable) -> Iterator[Block]:
    yield Paragraph(text=_describe_baseline(table))
    yield from build_figure(lambda: rule_cost_chart.build_chart(table))
    names = {other.key: other.text for cost in table.prices for other in cost.others}
    yield Table(
        caption="Cost by rule",
        columns=(
            *(
                cells.make_text_column("rule broken"),
                cells.make_number_column("cost", "ratio"),
                cells.make_number_column("between"),
            ),
            *(
                cells.make_number_column(table.text),
                *(cells.make_number_column(f"cost in {name}") for name in names.values()),
            ),
            *(cells.make_text_column("outcome"), cells.make_prose_column("how it was broken")),
        ),
        rows=tuple(_build_row(cost, tuple(names)) for cost in table.prices),
        note=f"cost: how much lower {table.text} is with that rule broken; between: each interval at "
        f"{table.confidence * 100:g} % confidence; ± 1 % does not matter.",
    )
    if table.impossible:
        rows = tuple(
            tuple(map(cells.make_text_cell, (rule.text, rule.why_not, rule.clause))) for rule in table.impossible
        )
        yield Table(caption="Rules that this host cannot break", columns=IMPOSSIBLE, rows=rows)
    if cautions := tuple(_list_cautions(table)):
        yield Paragraph(text="Cautions:")
        yield Bullets(items=cautions, tone="caution")


def _describe_baseline(table: RuleCostTable) -> str:
    """Return the placement that all others are compared with, and its rate."""
    baseline = table.baseline
    if baseline is None:
        return f"All rules kept: {table.pricing.baseline}; no run found {table.text}."
    least = "at least " if baseline.at_least else ""
    scatter = f", ±{format_percent(baseline.scatter)} between runs" if baseline.scatter else ""
    runs = format_count(len(baseline.points), "run")
    return (
        f"All rules kept: {table.pricing.baseline}. {table.text} {least}{format_pps(baseline.mean)} ({runs}{scatter})."
    )


def _build_row(cost: RuleCost, other_keys: tuple[str, ...]) -> tuple[Cell, ...]:
    costs_by_goal = {other.key: _format_bounded(-other.effect, derive_bound(other)) for other in cost.others}
    return (
        cells.make_text_cell(cost.rule.text),
        Cell(text=format_cost(cost), key=cost.cost),
        cells.make_text_cell(format_cost_range(cost)),
        cells.make_text_cell(_format_rate(cost)),
        *(cells.make_text_cell(costs_by_goal.get(key, "")) for key in other_keys),
        cells.make_text_cell(cost.outcome.value, TONES[cost.outcome]),
        cells.make_text_cell(cost.rule.how),
    )


def _format_rate(cost: RuleCost) -> str:
    """Return the rate with the rule broken."""
    if cost.metric is None:
        return UNKNOWN
    series = cost.metric.b
    return f"{'≥ ' if series.at_least else ''}{format_pps(series.mean)}"


def _list_cautions(table: RuleCostTable) -> Iterator[str]:
    if table.baseline and table.baseline.scatter and table.baseline.scatter > SCATTER_MAX:
        yield (
            f"Runs that keep all rules differ by {format_percent(table.baseline.scatter)}: this machine is noisy "
            "and hides costs much smaller than that."
        )
    for goal in table.passed_over:
        yield f"{goal} was not found in every run with all rules kept and is left out; allow more time (--budget)."
    rules: dict[str, list[str]] = {}
    for cost in table.prices:
        for text in _list_rule_cautions(table, cost):
            rules.setdefault(text, []).append(cost.rule.text)
    yield from (f"{', '.join(names)}: {text}" for text, names in rules.items())
    if table.baseline and table.identical_count is not None:
        yield _describe_identical_vnfs(table, table.identical_count)


def _list_rule_cautions(table: RuleCostTable, cost: RuleCost) -> Iterator[str]:
    if cost.outcome is RuleOutcome.NOT_MEASURED:
        return
    if cost.rule.note:
        yield f"{cost.rule.note}."
    if cost.bound is not CostBound.NONE:
        yield f"{BOUNDS[cost.bound]}."
    if cost.outcome is RuleOutcome.NO_LOAD:
        yield f"no search found a load that meets {table.text} in its time."
    elif cost.metric and len(cost.metric.b.points) < cost.run_count:
        yield f"some runs did not find {table.text}; these may be the slowest ones."
    if cost.metric:
        yield from (format_message(flag) for flag in cost.metric.flags)


def _describe_identical_vnfs(table: RuleCostTable, count: int) -> str:
    share = format_percent(table.pricing.share)
    if count == 1:
        return f"It is not shown that a second identical VNF leaves each at least {share} of the rate of one alone."
    return f"{count} identical VNFs each reach at least {share} of the rate of one alone."


def _format_bounded(cost: float, bound: CostBound) -> str:
    return UNKNOWN if bound is CostBound.NEITHER else f"{BOUND_SIGNS.get(bound, '')}{_format_share(cost)}"


def _format_share(cost: float) -> str:
    return format_signed_effect(cost, "pps").removeprefix("+") if abs(cost) >= 5e-5 else "0 %"
