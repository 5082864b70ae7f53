"""`nodrop vm price`: the cost of each placement rule on this host."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodrop.cli.choice import Choice
from nodrop.cli.completion_types import DIR, FILE, RESULT
from nodrop.cli.outputs import print_json, require_writable
from nodrop.cli.search_options import collect_overrides, lock_options, search_options
from nodrop.errors import ConfigError, SearchError

if TYPE_CHECKING:
    from nodrop.analysis.rule_costs import RuleCostTable
    from nodrop.model.event import OnEvent
    from nodrop.model.vmd import VmDescriptor
    from nodrop.run.rule_cost import RuleCostRuns
    from nodrop.run.suite import Failure

FORMS = ("text", "md", "json")
EPILOG = """
\b
Examples:
  nodrop vm price                               all rules, three repeats each, in about five minutes
  nodrop vm price --dry-run                     the plan and its duration
  nodrop vm price --rules same-core,small-pages only these rules
  nodrop vm price --repeat 10 -o prices.svg     narrower intervals, and a plot
  nodrop vm price --vmd vm.yaml --impact impact.yaml
                                                the impact of other VMs, for the VM Descriptor
  nodrop vm price latest                        the latest results again
"""


@click.command(epilog=EPILOG, short_help="Measure the cost of placement rules.")
@click.argument("suite", required=False, type=RESULT)
@search_options
@click.option("--vmd", type=FILE, help="VM Descriptor whose large pages the forwarder uses.")
@click.option("--rules", metavar="RULE,...", help="Rules to break, e.g. same-core,cpu-noise.  [default: all]")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Repeats of each measurement.  [default: 3]")
@click.option("--frame-size", metavar="SIZE", help="Bytes with FCS, or IMIX.  [default: 64]")
@click.option("--sut", type=Choice(["vnf-l2", "vnf-l3"]), help="The forwarder.  [default: vnf-l2]")
@click.option("--identical", type=click.IntRange(1, 8), default=4, show_default=True, help="Maximum of identical VNFs.")
@click.option(
    "--share", default="90%", show_default=True, help="Share of its single rate that each of several VNFs has to keep."
)
@click.option("--dry-run", is_flag=True, help="Only show the plan and its duration.")
@click.option("-o", "--plot", type=FILE, help="Also plot: name.svg, name.png, or name.vl.json for Vega-Lite.")
@click.option("--impact", type=FILE, help="Also write the impact of other VMs, for a VM Descriptor.")
@click.option("--format", "form", type=Choice(FORMS), default="text", show_default=True, help="Output format.")
@click.option("--results-dir", type=DIR, help="Directory of results.  [default: results]")
@click.option("-q", "--quiet", is_flag=True, help="Show only the results, no progress.")
@lock_options
def price(suite: str | None, **flags: Any) -> int:
    """Measure the cost of breaking each placement rule on this host.

    A forwarder is measured with all rules kept, and with one broken: on the tester's CPU, on a sibling thread, on
    another NUMA node, in small pages, not pinned, next to noisy neighbors (stress-ng), with interrupts on its CPU,
    next to other forwarders. Runs alternate, so that a drift of the machine cancels out. Rules that this host cannot
    break are listed with the reason.

    With SUITE, show earlier measurements again. According to ETSI GS NFV-PER 001, clauses 6 to 8.
    """
    from nodrop.charts.render import require_suffix

    if flags["plot"]:
        require_suffix(Path(flags["plot"]))
    require_writable(flags["impact"], "--impact")
    if suite is None:
        return _measure_costs(flags)
    _output_table(_read_stored(suite, flags["results_dir"] or "results"), flags)
    return 0


def _read_stored(suite: str, results_dir: str) -> "RuleCostTable":
    from nodrop.run.rule_cost import build_cost_table
    from nodrop.store import suites

    stored = suites.load(suite, results_dir)
    if stored is None:
        raise ConfigError(f"{suite}: not a suite of runs; name a suite printed by nodrop vm price")
    return build_cost_table(stored.suite, stored.results)


def _measure_costs(flags: dict[str, Any]) -> int:
    from nodrop.run.machine_lock import list_resources, measurement_lock
    from nodrop.simulation.duration_estimate import estimate_duration

    planned = _make_plan(flags)
    estimate = estimate_duration(planned.plans)
    broken = [rule for rule in planned.pricing.rules if not rule.why_not]
    click.echo(
        f"nodrop: {len(planned.plans)} runs, {len(broken)} rules broken in turn and none, {estimate.text}", err=True
    )
    if flags["dry_run"]:
        _print_plan(planned)
        return 0
    lock = measurement_lock(
        planned.plans[0].results_dir,
        list_resources(planned.plans),
        alongside=flags["alongside"],
        wait=flags["wait"],
        on_wait=lambda reason: click.echo(f"nodrop: {reason.text()}", err=True),
    )
    with lock:
        return _carry_out(planned, flags)


def _make_plan(flags: dict[str, Any]) -> "RuleCostRuns":
    from nodrop.host.describe import describe_host, open_local_source
    from nodrop.run.rule_cost import plan_rule_costs
    from nodrop.run.rule_cost.plans import RuleCostRequest
    from nodrop.units import parse_ratio

    try:
        share = parse_ratio(flags["share"])
    except ValueError as error:
        raise ConfigError(f"--share: {error}") from None
    size = flags["frame_size"]
    keys = {
        "sut": flags["sut"],
        "repeat": flags["repeat"],
        "frame_sizes": [size] if size else None,
        "results_dir": flags["results_dir"],
    }
    rules = [rule.strip() for rule in (flags["rules"] or "").split(",") if rule.strip()]
    requested = RuleCostRequest(
        sources=flags["files"],
        overrides=collect_overrides(flags, keys),
        rules=rules,
        vm=_read_vm(flags["vmd"]) if flags["vmd"] else None,
        identical_max=flags["identical"],
        share=share,
    )
    return plan_rule_costs(requested, describe_host(open_local_source()))


def _read_vm(file: str) -> "VmDescriptor":
    from nodrop.descriptors import read_vmd

    vm, warnings = read_vmd(Path(file))
    for warning in warnings:
        _warn(f"{file}: {warning}")
    return vm


def _print_plan(planned: "RuleCostRuns") -> None:
    click.echo(f"all rules kept: {planned.pricing.baseline}")
    for rule in planned.pricing.rules:
        explanation = f"cannot be broken here: {rule.why_not}" if rule.why_not else rule.how
        click.echo(f"{rule.key}: {rule.text}; {explanation}")
        if rule.note and not rule.why_not:
            click.echo(f"  {rule.note}")


def _carry_out(planned: "RuleCostRuns", flags: dict[str, Any]) -> int:
    from nodrop.cli.measure import RunOutcome, monitor_runs
    from nodrop.run.rule_cost import build_cost_table, is_worth_running
    from nodrop.run.suite import execute_suite

    outcome = RunOutcome()
    failures: list[Failure] = []
    out = sys.stderr if flags["form"] == "json" else sys.stdout

    def run(on_event: "OnEvent") -> None:
        suite = execute_suite(
            planned.plans,
            on_event,
            pricing=planned.pricing,
            run_filter=lambda plan, results: is_worth_running(planned.pricing, plan, results),
        )
        failures.extend(suite.failures)

    def show() -> None:
        if outcome.suite and outcome.suite.path:
            click.echo(file=out)
            _output_table(build_cost_table(outcome.suite.suite, outcome.results), flags)
            click.echo(f"\nresults: {outcome.suite.path}", file=out)

    note = "; the measurements so far follow"
    interrupted = monitor_runs(
        planned.plans[0], out, flags["quiet"], run, outcome=outcome, show=show, interrupt_note=note
    )
    if interrupted is not None:
        return interrupted
    _print_failures(failures)
    return 0 if any(result.plan.variant == "kept" and result.goals for result in outcome.results) else 5


def _print_failures(failures: "Sequence[Failure]") -> None:
    """Print each failed run; count runs that only missed goals."""
    from nodrop.units import format_count

    unanswered = [failure for failure in failures if isinstance(failure.error, SearchError)]
    for failure in failures:
        if failure not in unanswered:
            _warn(f"{failure.position}: {failure.error}")
    if unanswered:
        runs = format_count(len(unanswered), "run")
        _warn(f"{runs} did not find all goals in their time; allow more (--budget), on a quiet machine")


def _output_table(table: "RuleCostTable", flags: dict[str, Any]) -> None:
    """Print, plot and write the table."""
    if flags["form"] == "json":
        print_json(table.model_dump_json(indent=1) + "\n")
    else:
        _print_report(table, flags["form"])
    if flags["plot"]:
        from nodrop.charts import rule_cost as pictured
        from nodrop.charts.render import write_chart

        write_chart(pictured.build_chart(table), Path(flags["plot"]))
    if flags["impact"]:
        from nodrop.report.impact import format_impact

        Path(flags["impact"]).write_text(format_impact(table), encoding="utf-8")


def _print_report(table: "RuleCostTable", form: str) -> None:
    from nodrop.report.document.blocks import Section
    from nodrop.report.document.rule_cost import build_rule_cost_blocks, format_rule_cost_title

    section = Section(name="prices", title=format_rule_cost_title(table), blocks=build_rule_cost_blocks(table))
    if form == "md":
        from nodrop.report.markdown import render_markdown_sections

        click.echo(render_markdown_sections("", [section]), nl=False)
        return
    from nodrop.cli.console import print_renderable
    from nodrop.report.terminal import render_sections

    print_renderable(render_sections([section]), sys.stdout)


def _warn(sentence: str) -> None:
    click.echo(f"nodrop: {sentence}", err=True)
