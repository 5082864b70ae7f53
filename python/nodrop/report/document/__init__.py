"""A report as data: its contents and their order, without layout.

`build_document` builds the report of results; report/terminal.py, report/html, report/markdown.py and report/pdf render
it. Each section has a file.
"""

from collections.abc import Sequence

from nodrop.analysis import Comparison
from nodrop.analysis.rule_costs import RuleCostTable
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.model.summary import Summary
from nodrop.report.document.blocks import Block, Card, Document, Fold, Section
from nodrop.report.document.brief import shorten_document
from nodrop.report.document.chains import build_chain_blocks
from nodrop.report.document.comparison import build_comparison_blocks, build_comparison_cards
from nodrop.report.document.expectations import build_expectation_blocks
from nodrop.report.document.glossary import build_glossary_blocks
from nodrop.report.document.headline import assess_trust, build_cards, build_sentence, list_facts
from nodrop.report.document.host import build_host_blocks
from nodrop.report.document.imported import build_imported_blocks
from nodrop.report.document.labels import format_title, name_runs
from nodrop.report.document.latency import build_latency_blocks
from nodrop.report.document.loss import build_loss_blocks
from nodrop.report.document.procedures import view_procedure
from nodrop.report.document.reproduce import build_attachments, build_setup_blocks
from nodrop.report.document.rule_cost import (
    build_rule_cost_blocks,
    build_rule_cost_cards,
    describe_rule_costs,
    format_rule_cost_title,
)
from nodrop.report.document.search import build_search_blocks
from nodrop.report.document.sizes import build_size_blocks
from nodrop.report.document.warnings import build_warning_blocks


def build_document(
    results: Sequence[RunResult],
    suite: Suite | None = None,
    comparison: Comparison | None = None,
    imported: Sequence[Summary] = (),
    costs: RuleCostTable | None = None,
    *,
    is_brief: bool = False,
) -> Document:
    """Return the report of one run, or of several runs next to each other.

    Args:
        results: one or more, each with its steps; frame sizes of a suite are one table.
        suite: the suite of the runs, if any.
        comparison: the comparison of two groups of them.
        imported: additional runs with figures only.
        costs: the costs of placement rules, if the runs measured them.
        is_brief: whether the report is the short one, of about two pages.
    """
    tone, trust = assess_trust(results)
    compared = build_comparison_blocks(comparison, with_outcome=False) if comparison else ()
    costs_title = format_rule_cost_title(costs) if costs else ""
    procedure = view_procedure(suite, results) if suite else None
    sections = (
        _make_section("procedure", procedure.title if procedure else "", procedure.blocks if procedure else ()),
        _make_section("comparison", "B compared with A", compared),
        _make_section("prices", costs_title, build_rule_cost_blocks(costs) if costs else ()),
        *(_build_run_sections(results[0]) if len(results) == 1 else _build_runs_sections(results)),
        _make_section("imported", "Measured by other tools", build_imported_blocks(imported) if imported else ()),
        _make_section("terms", "Terms", build_glossary_blocks()),
    )
    sentence, cards = _build_first_screen(results, comparison, costs)
    if procedure:
        sentence, cards = procedure.sentence, procedure.cards
    document = Document(
        title=procedure.title if procedure else costs_title or format_title(results, comparison),
        sentence=sentence,
        trust=trust,
        trust_tone=tone,
        cards=cards,
        facts=list_facts(results, suite),
        sections=tuple(section for section in sections if section.blocks),
        attachments=build_attachments(results),
    )
    return shorten_document(document, results, comparison) if is_brief else document


def _build_first_screen(
    results: Sequence[RunResult], comparison: Comparison | None, costs: RuleCostTable | None
) -> tuple[str, tuple[Card, ...]]:
    """Return the sentence and the cards."""
    if costs:
        return describe_rule_costs(costs), build_rule_cost_cards(costs)
    if comparison:
        return f"{comparison.sentence.rstrip('.')}.", build_comparison_cards(comparison)
    return build_sentence(results), build_cards(results)


def _build_run_sections(result: RunResult) -> tuple[Section, ...]:
    return (
        _make_section("expectations", "Expectations", tuple(build_expectation_blocks(result))),
        _make_section("cautions", "Cautions", build_warning_blocks(result)),
        _make_section("rates", "Rate compared with the link", build_size_blocks([result])),
        _make_section("search", "Trial" if result.plan.fixed else "Search", build_search_blocks(result)),
        _make_section("latency", "Latency", build_latency_blocks([result])),
        *_build_details(result),
    )


def _build_runs_sections(results: Sequence[RunResult]) -> tuple[Section, ...]:
    """Return the tables of all runs, then each run, folded."""
    return (
        _make_section("rates", "Rates", build_size_blocks(results)),
        _make_section("latency", "Latency", build_latency_blocks(results)),
        *(
            _build_run_section(f"run-{number}", name, result)
            for number, (name, result) in enumerate(zip(name_runs(results), results, strict=True), 1)
        ),
    )


def _build_run_section(name: str, title: str, result: RunResult) -> Section:
    """Return a run as one section: its sections are folds, which paper leaves out."""
    parts = (
        _make_section("expectations", "Expectations", tuple(build_expectation_blocks(result))),
        _make_section("search", "Search", build_search_blocks(result)),
        *_build_details(result),
    )
    folds = tuple(Fold(title=part.title, blocks=part.blocks, is_on_paper=False) for part in parts if part.blocks)
    return _make_section(name, f"{title}: run {result.run_id}", (*build_warning_blocks(result, is_alone=False), *folds))


def _build_details(result: RunResult) -> tuple[Section, ...]:
    return (
        _make_section("losses", "Time and place of frame loss", build_loss_blocks(result)),
        _make_section("chains", "Chains", build_chain_blocks(result)),
        _make_section("host", "Host and path", build_host_blocks(result)),
        _make_section("repeat", "Repeat this measurement", build_setup_blocks(result)),
    )


def _make_section(name: str, title: str, blocks: tuple[Block, ...]) -> Section:
    return Section(name=name, title=title, blocks=blocks)
