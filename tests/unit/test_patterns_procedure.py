"""The procedure of load patterns: the searches that it requests, and the shares that it reports."""

from collections.abc import Callable

import pytest
from click.testing import CliRunner
from tests.factories import procedure_suite
from tests.recorded import record_run
from tests.suts import Step

from nodrop.cli import nodrop
from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.model.goal import Limit
from nodrop.model.procedure import PatternsPlan
from nodrop.model.result import RunResult, Status
from nodrop.plan.procedures import plan_patterns
from nodrop.procedure.patterns import PatternsProcedure, build_patterns_report, list_cautions
from nodrop.report.document import build_document
from nodrop.report.markdown import render_markdown

Run = Callable[..., RunResult]
CAPACITIES_PPS = {"flat": 1e6, "burst": 5e5, "poisson": 8e5}


def plan(**keys: object) -> PatternsPlan:
    return plan_patterns(build_config((), {"patterns.kinds": ["burst", "poisson"], **keys}))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a function that makes the search of a pattern, which forwards a share of the flat load."""
    recorded = {
        kind: record_run(tmp_path_factory.mktemp(kind), Step(capacity)) for kind, capacity in CAPACITIES_PPS.items()
    }

    def make(kind: str, repeat: int = 1) -> RunResult:
        result = recorded[kind]
        return result.replace(
            run_id=f"20260101T00000{repeat}Z-{kind}", plan=result.plan.replace(variant=kind, repeat=repeat)
        )

    return make


def carry_out(settings: PatternsPlan, run: Run) -> list[RunResult]:
    procedure = PatternsProcedure(settings)
    results: list[RunResult] = []
    while request := procedure.request_run(results):
        assert request.settings == {"pattern.kind": request.variant}
        results.append(run(request.variant, request.repeat))
    return results


def test_flat_load_and_every_pattern_take_turns(run: Run) -> None:
    results = carry_out(plan(repeat=2), run)
    assert [(each.plan.variant, each.plan.repeat) for each in results] == [
        ("flat", 1),
        ("burst", 1),
        ("poisson", 1),
        ("flat", 2),
        ("burst", 2),
        ("poisson", 2),
    ]
    report = build_patterns_report(plan(repeat=2), results)
    burst = report.find_rate("burst", "NDR")
    assert burst and burst.flat_ratios == pytest.approx((0.5, 0.5), rel=0.02)
    assert report.text.startswith("NDR is least under burst, ") and "PDR is least under burst, " in report.text
    assert list(list_cautions(report, results)) == []


def test_one_run_of_each_is_a_caution(run: Run) -> None:
    results = carry_out(plan(), run)
    report = build_patterns_report(plan(), results)
    assert list(list_cautions(report, results)) == [
        "one run of each pattern does not show the scatter between runs; add --repeat 3"
    ]


def test_a_rate_that_is_likely_too_high_is_a_caution(run: Run) -> None:
    burst = run("burst")
    ndr, pdr = burst.goals
    results = [run("flat"), burst.replace(goals=(ndr.replace(lower_error_probability=0.9), pdr))]
    assert next(list_cautions(build_patterns_report(plan(), results), results)) == "burst: NDR likely too high"


def test_a_goal_that_the_lowest_load_misses_is_an_answer(run: Run) -> None:
    burst = run("burst")
    ndr, pdr = burst.goals
    without = burst.replace(goals=(ndr.replace(lower=None, limit=Limit.MIN_LOAD), pdr))
    results = [run("flat"), without, run("poisson")]
    report = build_patterns_report(plan(), results)
    assert report.find_rate("burst", "NDR") is None and report.find_rate("burst", "PDR") is not None
    assert "burst, NDR: missed even at the lowest load" in list(list_cautions(report, results))
    assert PatternsProcedure(plan()).find_shortfall(results) is None


def test_an_undecided_goal_is_no_answer(run: Run) -> None:
    burst = run("burst")
    ndr, pdr = burst.goals
    results = [run("flat"), *[burst.replace(goals=(ndr.replace(lower=None, limit=Limit.UNKNOWN), pdr))] * 4]
    procedure = PatternsProcedure(plan())
    assert procedure.request_run(results) is None
    assert "no search found a rate under burst, poisson" in str(procedure.find_shortfall(results))
    assert "not measured: burst, poisson" in list(list_cautions(build_patterns_report(plan(), results), results))


def test_searches_without_a_rate_are_repeated_three_times(run: Run) -> None:
    failed = run("flat").replace(status=Status.FAILED)
    procedure = PatternsProcedure(plan())
    request = procedure.request_run([failed] * 3)
    assert request and request.variant == "flat"
    assert procedure.request_run([failed] * 4) is None
    assert "no search found a rate under flat, burst, poisson" in str(procedure.find_shortfall([failed] * 4))
    assert build_patterns_report(plan(), [failed]).text == "No pattern was compared with flat load."


def test_the_report_has_a_row_for_each_pattern_and_a_chart(run: Run) -> None:
    results = carry_out(plan(), run)
    suite = procedure_suite(plan(), results)
    document = build_document(results, suite)
    markdown = render_markdown(document)
    assert document.title == "Load patterns"
    assert [card.label for card in document.cards] == ["NDR", "PDR"]
    assert "| pattern | NDR | of flat | PDR | of flat |" in markdown
    assert document.charts()[0].name == "patterns"


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        ((), "7 searches: flat, burst, sawtooth, sinusoid, stair, random, poisson\n"),
        (("--kind", "triangle", "--repeat", "2"), "4 searches, 2 of each: flat, triangle\n"),
    ],
)
def test_a_dry_run_prints_the_searches(flags: tuple[str, ...], text: str) -> None:
    assert CliRunner().invoke(nodrop, ["test", "patterns", "--dry-run", *flags]).output == text


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("patterns.kinds=[flat]", "patterns.kinds: nothing to compare with flat load"),
        ("pattern.kind=burst", "pattern.kind: 'nodrop test patterns' sets it; remove it and use patterns.kinds"),
        ("expect=[loss<1%]", "expect: 'nodrop test patterns' has a verdict of its own; remove it"),
        (
            "trial_events=[1s kill 0]",
            "trial_events: 'nodrop test patterns' sets it; remove it and use 'nodrop run --at'",
        ),
        ("rate=1kpps", "rate: a load pattern is compared by a search, not at 1kpps; write rate: ndr_pdr"),
    ],
)
def test_settings_that_compare_nothing_are_refused(setting: str, message: str) -> None:
    done = CliRunner().invoke(nodrop, ["test", "patterns", "--dry-run", "--set", setting])
    assert isinstance(done.exception, ConfigError) and message in str(done.exception)
