"""The runs of a suite: one table of all runs, and what repeats or two variants have in common."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.analysis import Comparison, compare, diff_setups
from nodrop.analysis.rule_costs import RuleCostTable
from nodrop.analysis.spread import Spread, compute_spreads
from nodrop.errors import ConfigError
from nodrop.formatting import format_goal, format_goal_load, format_measure, format_repeat, format_wire_rate
from nodrop.model.latency import LatencyFigures, compute_trial_latency
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Bullets, Cell, Column, Paragraph, Section, Table
from nodrop.report.document.comparison import build_comparison_blocks
from nodrop.report.document.fixed_rate import list_shortfalls
from nodrop.report.document.procedures import build_procedure_section
from nodrop.report.document.rule_cost import build_rule_cost_blocks, format_rule_cost_title
from nodrop.report.document.run_summary import build_run_summary
from nodrop.report.document.status import STATUS_TEXTS, build_suite_status
from nodrop.store.summaries import summarize_result
from nodrop.units import format_count, format_pps, format_ratio


def build_suite_summary(
    suite: Suite, results: Sequence[RunResult], with_trials: bool = False, costs: RuleCostTable | None = None
) -> tuple[Section, ...]:
    """Return a table of all runs, then either each run or what repeats have in common; of a procedure, its report.

    Args:
        suite: the suite.
        results: the results of its runs, in the same order.
        with_trials: whether to add the summary of each run with its trials.
        costs: the costs of placement rules, if the suite measured them.
    """
    procedure = build_procedure_section(suite, results)
    overview = _build_status(suite, results) if procedure else _build_overview(suite, results)
    sections = [Section(name="suite", title="", blocks=tuple(overview))]
    if with_trials or not (is_repeated(suite) or procedure):
        sections += [section for result in results for section in _build_run(result, with_trials)]
    if procedure:
        sections.insert(1, procedure)
    elif costs:
        title = format_rule_cost_title(costs)
        sections.append(Section(name="prices", title=title, blocks=build_rule_cost_blocks(costs)))
    elif is_repeated(suite) and (blocks := tuple(_build_common(results))):
        sections.append(Section(name="repeats", title="", blocks=blocks))
    return tuple(sections)


def is_repeated(suite: Suite) -> bool:
    """Return whether the suite measured the same traffic more than once."""
    return suite.repeat_count > 1 or any(run.variant for run in suite.runs)


def build_suite_table(results: Sequence[RunResult]) -> Table:
    """Return the rate, loss and latency of every run and goal."""
    percentiles = results[0].plan.percentiles
    is_series = any(result.plan.repeat_count > 1 or result.plan.variant for result in results)
    names = ("min", "mean", *(f"p{each:g}" for each in percentiles), "max")
    return Table(
        caption="",
        columns=(
            cells.make_text_column("run" if is_series else "frame size", is_lead=True),
            Column(title="goal", is_number=False, is_lead=True),
            *(
                cells.make_number_column("rate", "pps"),
                cells.make_number_column("on the wire"),
                cells.make_number_column("loss"),
            ),
            *(Column(title=name, starts_part=name == "min") for name in names),
        ),
        rows=tuple(_build_row(result, load) for result in results for load in _list_loads(result)),
        note="Rates are totals; latency in µs.",
    )


def build_spread_table(spreads: Sequence[Spread]) -> Table:
    """Return median, range and mean of every measure over repeats."""
    several = len({each.frame_size for each in spreads}) > 1
    titles = ("runs", "median", "lowest", "highest", "spread", "95 % interval of the mean")
    rows = (tuple(map(cells.make_text_cell, _list_spread(each))) for each in spreads)
    return Table(
        caption="",
        columns=(
            *((cells.make_text_column("frame size", is_lead=True),) if several else ()),
            cells.make_text_column("measure", is_lead=True),
            *(Column(title=title, is_detail=title in (titles[0], titles[-1])) for title in titles),
        ),
        rows=tuple(row if several else row[1:] for row in rows),
    )


def _build_status(suite: Suite, results: Sequence[RunResult]) -> Iterator[Block]:
    removed = sum(run.removed for run in suite.runs)
    since = f"; {removed} removed since" if removed else ""
    status = build_suite_status(suite, describe_runs(suite), results)
    yield Paragraph(text=f"{suite.suite_id}: {status.text}{since}", tone=status.tone)


def _build_overview(suite: Suite, results: Sequence[RunResult]) -> Iterator[Block]:
    yield from _build_status(suite, results)
    if results:
        yield build_suite_table(results)
    if warnings := tuple(_list_warnings(results)):
        yield Bullets(items=warnings, tone="caution")


def _build_run(result: RunResult, with_trials: bool) -> Iterator[Section]:
    title = f"Frame size {_name_run(result)}: run {result.run_id}"
    first, *details = build_run_summary(result, with_trials)
    yield first.replace(title=title)
    yield from details


def _build_common(results: Sequence[RunResult]) -> Iterator[Block]:
    """Yield the comparison of two variants, or the spread of repeats; over complete runs only."""
    complete = [result for result in results if result.status is Status.COMPLETE]
    try:
        if comparison := compare_variants(results):
            yield from build_comparison_blocks(comparison)
        elif len(complete) > 1:
            yield build_spread_table(compute_spreads([summarize_result(result) for result in complete]))
    except ConfigError as error:
        yield Bullets(items=(f"no comparison: {error}",), tone="caution")


def compare_variants(results: Sequence[RunResult]) -> Comparison | None:
    """Compare the complete runs of variants A and B; None without both.

    Raises: ConfigError where they have no measure in common.
    """
    complete = [result for result in results if result.status is Status.COMPLETE]
    of_a, of_b = ([result for result in complete if result.plan.variant == variant] for variant in ("A", "B"))
    if not (of_a and of_b):
        return None
    summaries = ([summarize_result(result) for result in runs] for runs in (of_a, of_b))
    return compare(*summaries, differences=diff_setups(of_a, of_b))


def describe_runs(suite: Suite) -> str:
    """Return `3 frame sizes`, `5 repeats`, or `8 of 10 runs: 5 repeats of A and B alternating`."""
    if suite.procedure:
        return f"{format_count(len(suite.runs), 'run')} of the {suite.procedure.name} procedure"
    sizes, repeats = len(suite.frame_sizes), suite.repeat_count
    variants = {run.variant for run in suite.runs} - {""}
    if not is_repeated(suite):
        done = "" if len(suite.runs) == sizes else f"{len(suite.runs)} of "
        return f"{done}{format_count(sizes, 'frame size')}"
    times = format_count(repeats, "repeat")
    if suite.pricing:
        runs = format_count(len(suite.runs), "run")
        return f"{runs}: {times} with all rules of placement kept, and with each broken"
    intended = sizes * repeats * (2 if variants else 1)
    done = "" if len(suite.runs) == intended else f"{len(suite.runs)} of "
    alternating = " of A and B alternating" if variants else ""
    at_sizes = f" at {sizes} frame sizes" if sizes > 1 else ""
    return f"{done}{format_count(intended, 'run')}: {times}{alternating}{at_sizes}"


def _name_run(result: RunResult) -> str:
    """Return the frame size of a run and the number of its repeat."""
    plan = result.plan
    repeat = format_repeat(plan.variant, plan.repeat, plan.repeat_count)
    return f"{plan.frame_size}, {repeat}" if repeat else plan.frame_size


def format_short_name(plan: Plan) -> str:
    """Return the same in short: `64`, `64, A2`, `64, #2`."""
    is_one_of_several = plan.repeat_count > 1 or plan.variant
    number = f"{plan.variant}, #{plan.repeat}" if " " in plan.variant else f"{plan.variant or '#'}{plan.repeat}"
    return f"{plan.frame_size}, {number}" if is_one_of_several else plan.frame_size


class _Load(NamedTuple):
    """A load that a run found or was to send."""

    goal: str
    rate: str
    load_pps: float | None
    measured: TrialResult | None
    """The trial with its loss."""
    timed: TrialResult | None
    """The trial with its latency."""


def _list_loads(result: RunResult) -> Iterator[_Load]:
    if trial := result.fixed_trial:
        yield _Load("fixed", format_pps(trial.offered_load_pps), trial.offered_load_pps, trial, trial)
    for goal_result in result.goals:
        bound, label = goal_result.lower, goal_result.goal.label
        measured = result.trials[bound.trial_index] if bound else None
        index = next((each.trial_index for each in result.latencies if each.label == label), None)
        timed = measured if index is None else result.trials[index]
        rate = format_goal_load(goal_result).replace("at least ", "≥ ")
        yield _Load(format_goal(goal_result.goal), rate, bound.load_pps if bound else None, measured, timed)
    if not result.goals and not result.fixed_trial:
        yield _Load(result.status.value, "", None, None, None)


def _build_row(result: RunResult, load: _Load) -> tuple[Cell, ...]:
    percentiles, measured = result.plan.percentiles, load.measured
    ratio = measured.lost_count / measured.offered_count if measured and measured.offered_count else 0.0
    latency = compute_trial_latency(load.timed, percentiles) if load.timed else None
    return (
        cells.make_text_cell(format_short_name(result.plan)),
        cells.make_text_cell(load.goal),
        Cell(text=load.rate or "-", key=load.load_pps),
        cells.make_text_cell(format_wire_rate(load.load_pps, result.plan.traffic) if load.load_pps else ""),
        cells.make_ratio_cell(ratio if measured else None, "caution" if ratio else "plain"),
        *_build_latency_cells(latency, percentiles),
    )


def _build_latency_cells(latency: LatencyFigures | None, percentiles: tuple[float, ...]) -> tuple[Cell, ...]:
    if latency is None:
        return (cells.NOTHING,) * (3 + len(percentiles))
    values = (latency.min_ns, latency.mean_ns, *map(latency.percentiles_ns.get, percentiles), latency.max_ns)
    return tuple(
        cells.NOTHING if value is None else Cell(text=_format_microseconds(value), key=value) for value in values
    )


def _format_microseconds(duration_ns: float) -> str:
    """Return microseconds with three significant digits or all before the point."""
    value = duration_ns / 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _list_spread(each: Spread) -> tuple[str, ...]:
    mean = ""
    if each.mean_low is not None and each.mean_high is not None:
        mean = f"{format_measure(each.mean_low, each.unit)} to {format_measure(each.mean_high, each.unit)}"
    return (
        each.frame_size,
        each.text,
        str(each.count),
        f"{'≥ ' if each.at_least else ''}{format_measure(each.median, each.unit)}",
        format_measure(each.lowest, each.unit),
        format_measure(each.highest, each.unit),
        format_relative_deviation(each),
        mean,
    )


def format_relative_deviation(each: Spread) -> str:
    """Format the standard deviation relative to the mean: `2.1 %`; empty for a single run."""
    if each.deviation is None:
        return ""
    middle = (each.mean_low or 0.0) / 2 + (each.mean_high or 0.0) / 2
    return format_ratio(each.deviation / middle) if middle else "0 %"


def _list_warnings(results: Sequence[RunResult]) -> Iterator[str]:
    """Yield failures and shortfalls, run by run."""
    for result in results:
        if result.error:
            yield f"{_name_run(result)}: {STATUS_TEXTS[result.status].partition(';')[0]}: {result.error}"
        yield from (f"{_name_run(result)}: {line}" for line in list_shortfalls(result))
