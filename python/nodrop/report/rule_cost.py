"""Prices of rules for people: a table, what to know of it, and what this host cannot break."""

from collections.abc import Iterator, Sequence
from typing import Literal

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.analysis.rule_costs import SIGNS, Bound, Price, PriceTable, Said, bound_of, impact
from nodrop.analysis.text import percent_text, signed_text
from nodrop.model.rule_cost import PriceRule
from nodrop.model.vmd import Impact
from nodrop.report.comparison import escaped, markdown_row
from nodrop.units import format_pps

STYLES = {
    Said.COSTS: "bold red",
    Said.NO_LOAD: "bold red",
    Said.GAINS: "bold green",
    Said.NOTHING: "green",
    Said.NOT_SHOWN: "yellow",
    Said.LIMITED: "yellow",
    Said.NOT_MEASURED: "dim",
}
BOUNDS = {
    Bound.AT_LEAST: "the tester was the limit with all rules kept, so the rule may be worth more",
    Bound.AT_MOST: "the tester was the limit with the rule broken, so the rule may be worth less",
    Bound.NEITHER: "the tester was the limit both ways: nothing is known of the forwarder",
}
OPEN = "-"
RESTLESS = 0.1
"""Scatter from run to run from which on a machine is too busy to price anything."""
UNHEARD_OF = -1.0
"""A cost below that, a gain of more than all, is only an interval that is far too wide."""
TITLE = "What each rule is worth on this host"
IMPOSSIBLE = "What this host cannot break"
KNOW = "What to know"
HOW = "How each was broken"


def price_report(table: PriceTable) -> RenderableType:
    """All of it, for a terminal."""
    parts: list[RenderableType] = [Text(title_text(table), style="bold"), Text(kept_text(table)), "", _table(table)]
    parts.append(Text(method_text(table), style="dim"))
    for heading, lines in _sections(table):
        parts += ["", Text(heading, style="bold"), _listed(lines)]
    if notes := list(known_lines(table)):
        parts += ["", Text(KNOW, style="bold"), *(Text(f"! {line}", style="yellow") for line in notes)]
    return Group(*parts)


def price_markdown(table: PriceTable) -> str:
    """All of it, to be pasted into an issue or a design."""
    return "\n".join(_markdown(table)) + "\n"


def title_text(table: PriceTable) -> str:
    """What it is of."""
    return f"{TITLE}, for {table.pricing.vm}" if table.pricing.vm else TITLE


def kept_text(table: PriceTable) -> str:
    """The placement that all others are compared with, and what it forwards."""
    kept = table.kept
    if kept is None:
        return f"All rules kept: {table.pricing.baseline}; no run found {table.text}."
    least = "at least " if kept.at_least else ""
    scatter = f", from run to run ±{percent_text(kept.scatter)}" if kept.scatter else ""
    return (
        f"All rules kept: {table.pricing.baseline}. "
        f"{table.text} {least}{format_pps(kept.mean)} ({_runs_text(len(kept.points))}{scatter})."
    )


def cost_text(price: Price) -> str:
    """What breaking it takes away: `58 %`, `≤ 12 %`, `all`."""
    if price.said is Said.NO_LOAD:
        return "all"
    return OPEN if price.cost is None else _bounded(price.cost, price.bound)


def span_text(price: Price) -> str:
    """Between what the cost is: `51 to 65 %`; an end that the tester's limits leave open is left out."""
    low, high = price.low, price.high
    if price.metric is None or (low is None and high is None):
        return OPEN
    if high is None:
        return OPEN if low is None or low < UNHEARD_OF else f"{_share_text(low)} or more"
    if low is None:
        return f"{_share_text(high)} or less"
    if low < UNHEARD_OF:
        return f"up to {_share_text(high)}"
    return f"{_share_text(low).removesuffix(' %')} to {_share_text(high)}"


def method_text(table: PriceTable) -> str:
    """How to read the table."""
    return (
        f"cost: how much less {table.text} is with that rule broken, between: at {table.confidence * 100:g} % "
        "confidence, each by itself; ± 1 % does not matter"
    )


def known_lines(table: PriceTable) -> Iterator[str]:
    """What a reader has to know before believing a price."""
    if table.kept and table.kept.scatter and table.kept.scatter > RESTLESS:
        yield (
            f"Runs that keep all rules differ by {percent_text(table.kept.scatter)} among themselves: this machine is "
            "not quiet, and no price much smaller than that can be seen."
        )
    for goal in table.passed_over:
        yield f"{goal} was not found each time with all rules kept, so nothing is said of it; allow it more time."
    of: dict[str, list[str]] = {}
    for price in table.prices:
        for line in _known(table, price):
            of.setdefault(line, []).append(price.rule.text)
    for line, rules in of.items():
        yield f"{', '.join(rules)}: {line}"
    if table.kept and table.identical_count is not None:
        yield identical_text(table)


def _known(table: PriceTable, price: Price) -> Iterator[str]:
    if price.said is Said.NOT_MEASURED:
        return
    if price.rule.note:
        yield f"{price.rule.note}."
    if price.bound is not Bound.NONE:
        yield f"{BOUNDS[price.bound]}."
    if price.said is Said.NO_LOAD:
        yield f"no load was found that meets {table.text} in the time that each search has."
    elif price.metric and len(price.metric.b.points) < price.run_count:
        yield f"not every run found {table.text}; those that did not may be the ones that went worst."
    if price.metric:
        yield from (flag.text for flag in price.metric.flags)


def identical_text(table: PriceTable) -> str:
    """How many identical VNFs do well enough."""
    share = percent_text(table.pricing.share)
    if table.identical_count == 1:
        return f"That a second identical VNF leaves each at least {share} of what one does alone is not shown."
    return f"{table.identical_count} identical VNFs do at least {share} each of what one does alone."


def impact_text(table: PriceTable) -> str:
    """The impact section of a VM Descriptor, as YAML; option 2 as a comment where option 1 is there too."""
    first, second = impact(table, 1), impact(table, 2)
    lines = [
        f"# What other VMs cost this one, measured by nodrop on this host: {table.text}, "
        f"{table.confidence * 100:g} % confidence.",
        f"# {table.pricing.baseline}",
    ]
    for price in table.prices:
        if price.rule.antagonist or price.rule.vnf_count > 1:
            lines.append(
                f"# {price.rule.text}: {cost_text(price)} ({span_text(price)}), {price.said}; {price.rule.how}"
            )
            if price.rule.note:
                lines.append(f"#   {price.rule.note}")
    if first:
        lines += _impact_lines(first)
    if second:
        comment = "# " if first else ""
        lines += [f"{comment}{line}" for line in _impact_lines(second)]
    return "\n".join(lines) + "\n"


def _impact_lines(found: Impact) -> list[str]:
    lines = ["impact:", f"  option: {found.option}"]
    if found.degradation_max_ratio:
        lines.append("  degradation_max_ratio:")
        lines += [f"    {kind}: {ratio:g}" for kind, ratio in found.degradation_max_ratio.items()]
    if found.identical_max_count is not None:
        lines.append(f"  identical_max_count: {found.identical_max_count}")
    return lines


def _sections(table: PriceTable) -> Iterator[tuple[str, Sequence[tuple[str, str]]]]:
    broken = [(price.rule.text, price.rule.how) for price in table.prices]
    if broken:
        yield HOW, broken
    if table.impossible:
        yield IMPOSSIBLE, [(rule.text, _why_not(rule)) for rule in table.impossible]


def _why_not(rule: PriceRule) -> str:
    return f"{rule.why_not} (clause {rule.clause})"


def _listed(lines: Sequence[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for text, said in lines:
        table.add_row(text, Text(said, style="dim"))
    return table


def _headings(table: PriceTable) -> tuple[str, ...]:
    return "rule broken", "cost", "between", table.text, *_other_names(table), ""


def _other_names(table: PriceTable) -> tuple[str, ...]:
    names = dict.fromkeys((other.key, other.text) for price in table.prices for other in price.others)
    return tuple(f"cost in\n{text}" for _, text in names)


def _others(table: PriceTable, price: Price) -> tuple[str, ...]:
    keys = dict.fromkeys(other.key for each in table.prices for other in each.others)
    costs = {other.key: _bounded(-other.effect, bound_of(other)) for other in price.others}
    return tuple(costs.get(key, OPEN) for key in keys)


def _bounded(cost: float, bound: Bound) -> str:
    return OPEN if bound is Bound.NEITHER else f"{SIGNS.get(bound, '')}{_share_text(cost)}"


def rate_text(price: Price) -> str:
    """What is left with the rule broken."""
    if price.metric is None:
        return OPEN
    series = price.metric.b
    return f"{'≥ ' if series.at_least else ''}{format_pps(series.mean)}"


def _cells(table: PriceTable, price: Price) -> tuple[str, ...]:
    rate = rate_text(price)
    return price.rule.text, cost_text(price), span_text(price), rate, *_others(table, price), price.said.value


def _table(table: PriceTable) -> Table:
    shown = Table(box=SIMPLE_HEAD, header_style="dim", pad_edge=False)
    for position, heading in enumerate(headings := _headings(table)):
        justify: Literal["left", "right"] = "left" if position in (0, len(headings) - 1) else "right"
        shown.add_column(heading, justify=justify, no_wrap=True)
    for price in table.prices:
        *cells, said = _cells(table, price)
        shown.add_row(*cells, Text(said, style=STYLES[price.said]))
    return shown


def _markdown(table: PriceTable) -> Iterator[str]:
    yield from (f"### {escaped(title_text(table))}", "", escaped(kept_text(table)), "")
    headings = _headings(table)
    yield markdown_row([heading.replace("\n", " ") for heading in headings])
    yield f"|---|{'--:|' * (len(headings) - 2)}---|"
    for price in table.prices:
        yield markdown_row(_cells(table, price))
    yield from ("", escaped(method_text(table)))
    for heading, lines in _sections(table):
        yield from ("", f"#### {heading}", "", *(f"- {escaped(text)}: {escaped(said)}" for text, said in lines))
    if notes := list(known_lines(table)):
        yield from ("", f"#### {KNOW}", "", *(f"- {escaped(line)}" for line in notes))


def _share_text(cost: float) -> str:
    return signed_text(cost, "pps").removeprefix("+") if abs(cost) >= 5e-5 else "0 %"


def _runs_text(count: int) -> str:
    return "one run" if count == 1 else f"{count} runs"
