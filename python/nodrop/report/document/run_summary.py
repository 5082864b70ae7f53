"""The summary of a run for a screen: the main blocks of its report, in brief."""

from collections.abc import Iterator

from nodrop.formatting import describe_run, describe_traffic, format_sut_name
from nodrop.formatting.messages import format_message
from nodrop.model.result import RunResult
from nodrop.report.calibration import describe_calibration, is_applicable
from nodrop.report.document.blocks import Block, Bullets, Paragraph, Section, Tone
from nodrop.report.document.chains import build_chain_table, describe_chain_losses
from nodrop.report.document.events import build_event_tables
from nodrop.report.document.expectations import build_expectation_blocks
from nodrop.report.document.fixed_rate import (
    build_direction_table,
    describe_fixed_trial,
)
from nodrop.report.document.goal_statements import describe_evidence
from nodrop.report.document.host import describe_provenance
from nodrop.report.document.labels import describe_path_check
from nodrop.report.document.latency import build_brief_latency_table
from nodrop.report.document.loss import describe_key_losses
from nodrop.report.document.path import (
    build_interface_table,
    build_path_check_table,
    build_server_table,
    describe_cloud,
)
from nodrop.report.document.prescribed_trials import build_answer, has_prescribed_trials, list_other_findings
from nodrop.report.document.repeatability import describe_resolution
from nodrop.report.document.search import build_trial_table
from nodrop.report.document.sizes import build_size_table
from nodrop.report.document.status import build_status
from nodrop.report.document.warnings import list_warnings
from nodrop.units import format_seconds


def build_run_summary(result: RunResult, with_trials: bool = False) -> tuple[Section, ...]:
    """Return the summary of a run; with the table of trials on request."""
    sections = (
        _make_section("headline", *_build_headline(result)),
        _make_section("path", *_build_path(result)),
        _make_section("rates", *_build_rates(result)),
        _make_section("expectations", *build_expectation_blocks(result)),
        _make_section("latency", *((build_brief_latency_table(result),) if result.latencies else ())),
        _make_section("trials", *((build_trial_table(result).brief(),) if with_trials and result.trials else ())),
        _make_section("calibration", *_build_calibration(result)),
        _make_section("warnings", *_build_bullets(list_warnings(result), "caution")),
        _make_section(
            "findings",
            *_build_bullets([format_message(each) for each in list_other_findings(result)]),
            title="Other findings",
        ),
        _make_section("provenance", *_build_provenance(result)),
    )
    return tuple(section for section in sections if section.blocks)


def _build_headline(result: RunResult) -> Iterator[Block]:
    plan = result.plan
    yield Paragraph(text=f"{format_sut_name(result)}, {describe_traffic(plan.traffic)}, {describe_run(plan)}")
    yield build_status(result)


def _build_path(result: RunResult) -> Iterator[Block]:
    """Yield the path as checked, for a run without traffic."""
    if not result.plan.no_traffic:
        return
    if facts := result.facts:
        tables = (build_interface_table(facts), build_path_check_table(result, facts))
        yield from (table.brief() for table in tables if table.rows)
        if facts.stage.cloud and facts.stage.cloud.servers:
            yield build_server_table(facts.stage.cloud).brief()
        up = f"lab up after {format_seconds(facts.stage.up_s)}, " if facts.stage.up_s is not None else ""
        yield Bullets(items=(f"{up}run done after {format_seconds(result.wall_s)}",))
    yield Bullets(items=(describe_path_check(result),))


def _build_rates(result: RunResult) -> Iterator[Block]:
    if trial := result.fixed_trial:
        yield build_direction_table(result, trial).brief()
        yield from build_event_tables(trial)
        yield Bullets(items=(describe_fixed_trial(trial),), tone="caution" if trial.lost_count else "plain")
    if has_prescribed_trials(result):
        yield from build_answer(result)
    if result.goals:
        yield build_size_table([result]).brief()
        evidence = (text for texts in describe_evidence(result) for text in texts)
        yield from _build_bullets((*evidence, *describe_resolution(result)))
    yield from _build_bullets((*describe_key_losses(result), *describe_chain_losses(result)))
    if trial and result.plan.lab.chain_count > 1:
        yield build_chain_table(result, trial, "").brief()


def _build_calibration(result: RunResult) -> Iterator[Block]:
    calibration = result.plan.calibration
    if calibration and is_applicable(calibration, result):
        yield Paragraph(text=describe_calibration(calibration), tone="quiet")


def _build_provenance(result: RunResult) -> Iterator[Block]:
    yield from _build_bullets(describe_cloud(result))
    if result.facts:
        yield Paragraph(text=describe_provenance(result.facts), tone="quiet")


def _build_bullets(texts: "Iterator[str] | tuple[str, ...] | list[str]", tone: Tone = "plain") -> Iterator[Bullets]:
    if items := tuple(texts):
        yield Bullets(items=items, tone=tone)


def _make_section(name: str, *blocks: Block, title: str = "") -> Section:
    return Section(name=name, title=title, blocks=blocks)
