"""The impact section of a VM Descriptor, from measured costs of placement rules."""

from nodrop.analysis.rule_costs import RuleCostTable, derive_impact
from nodrop.model.vmd import Impact
from nodrop.report.document.rule_cost import format_cost, format_cost_range


def format_impact(table: RuleCostTable) -> str:
    """Return the impact section as YAML; option 2 is a comment if option 1 is known."""
    first, second = derive_impact(table, 1), derive_impact(table, 2)
    lines = [
        f"# Cost of other VMs to this one, measured by nodrop on this host: {table.text}, "
        f"{table.confidence * 100:g} % confidence.",
        f"# {table.pricing.baseline}",
    ]
    for cost in table.prices:
        if cost.rule.antagonist or cost.rule.vnf_count > 1:
            lines.append(
                f"# {cost.rule.text}: {format_cost(cost)} ({format_cost_range(cost)}), {cost.outcome}; {cost.rule.how}"
            )
            if cost.rule.note:
                lines.append(f"#   {cost.rule.note}")
    if first:
        lines += _format_option(first)
    if second:
        comment = "# " if first else ""
        lines += [f"{comment}{line}" for line in _format_option(second)]
    return "\n".join(lines) + "\n"


def _format_option(impact: Impact) -> list[str]:
    lines = ["impact:", f"  option: {impact.option}"]
    if impact.degradation_max_ratio:
        lines.append("  degradation_max_ratio:")
        lines += [f"    {kind}: {ratio:g}" for kind, ratio in impact.degradation_max_ratio.items()]
    if impact.identical_max_count is not None:
        lines.append(f"  identical_max_count: {impact.identical_max_count}")
    return lines
