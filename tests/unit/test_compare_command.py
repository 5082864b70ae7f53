"""`nodrop compare` from the user's side."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.recorded import record_run
from tests.suts import Step

from nodrop import store
from nodrop.analysis import Comparison, ComparisonOutcome
from nodrop.cli import main
from nodrop.errors import FailOnError
from nodrop.model.lab_plan import LabPlan
from nodrop.model.suite import Suite, SuiteRun
from nodrop.report.document.comparison import build_comparison_section
from nodrop.report.markdown import render_markdown_sections
from nodrop.store import suites

Compare = Callable[..., tuple[int, str, str]]
FAST, SLOW = (1.000e6, 1.002e6, 0.999e6), (0.950e6, 0.951e6, 0.949e6)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Store three searches of each of two simulated SUTs, alternating, and return their ids."""
    directory, elsewhere = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("elsewhere")
    runs = []
    for repeat, (fast, slow) in enumerate(zip(FAST, SLOW, strict=True), 1):
        for variant, capacity_pps in (("A", fast), ("B", slow)):
            result = record_run(elsewhere, Step(capacity_pps), label={"A": "main", "B": "patch"}[variant])
            at = f"2026-01-01T00:{len(runs):02d}:00Z"
            store.save(result.model_copy(update={"started_at": at}), directory)
            runs.append(
                SuiteRun(frame_size="64", run_id=result.run_id, variant=variant, repeat=repeat, status=result.status)
            )
    suites.save(
        Suite(
            suite_id="20260101T000000Z-aaaaaa",
            started_at="2026-01-01T00:00:00Z",
            wall_s=60.0,
            status=runs[0].status,
            frame_sizes=("64",),
            repeat_count=3,
            runs=tuple(runs),
        ),
        directory,
    )
    return directory


@pytest.fixture
def compare(results: Path, capsys: pytest.CaptureFixture[str]) -> Compare:
    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["compare", *arguments, "--results-dir", str(results)])
        return code, *capsys.readouterr()

    return run


def test_the_verdict_is_the_first_line_and_all_fits_a_hundred_columns(
    compare: Compare, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    code, out, err = compare("label:main", "label:patch")
    assert (code, err) == (0, "")
    assert out.startswith("B is worse than A: NDR is 5.")
    assert "3 repeats each" in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize("sides", [("20260101T000000Z-aaaaaa",), ("--a", "label:main", "--b", "label:patch")])
def test_a_suite_of_two_set_ups_and_sides_by_name_are_the_same_comparison(
    compare: Compare, sides: tuple[str, ...]
) -> None:
    _, out, _ = compare("label:main", "label:patch", "--format", "json")
    assert compare(*sides, "--format", "json") == (0, out, "")


def test_json_holds_the_comparison_for_programs(compare: Compare) -> None:
    _, out, _ = compare("label:main", "label:patch", "--format", "json", "--metric", "ndr")
    message = Comparison.model_validate_json(out)
    assert message.verdict is ComparisonOutcome.WORSE
    assert [metric.key for metric in message.metrics] == ["ndr"]
    assert json.loads(out)["metrics"][0]["verdict"] == "worse"


def test_flags_in_json_have_code_parameters_and_sentence(compare: Compare) -> None:
    _, out, _ = compare("label:main", "label:main", "--format", "json")
    text = "A run is on both sides, which makes the sides more similar."
    assert {"code": "same_runs", "params": {}, "text": text} in json.loads(out)["flags"]


def test_markdown_holds_its_tables(compare: Compare) -> None:
    _, out, _ = compare("label:main", "label:patch", "--format", "markdown")
    assert out.startswith("✘ B is worse than A: ")
    assert out.count("| NDR |") == 1
    widths = {
        line.count("|") for line in out.splitlines() if line.startswith("| NDR") or line.startswith("| --- | ---:")
    }
    assert len(widths) == 1


def test_what_people_call_their_runs_cannot_break_markdown(compare: Compare) -> None:
    _, out, _ = compare("label:main", "label:patch", "--format", "json")
    message = Comparison.model_validate_json(out)
    marked = message.model_copy(update={"a": message.a.model_copy(update={"name": "a|b <script> *x*"})})
    assert r"a\|b \<script\> \*x\*" in render_markdown_sections("", [build_comparison_section(marked)])


def test_fail_on_ends_with_its_own_code_after_everything_was_said(compare: Compare) -> None:
    code, out, err = compare("label:main", "label:patch", "--fail-on", "worse")
    assert code == FailOnError.exit_code == 8
    assert out.startswith("B is worse")
    assert err.startswith("nodrop: error: --fail-on worse: B is worse than A")
    assert compare("label:patch", "label:main", "--fail-on", "worse,undecided")[0] == 0
    assert compare("label:patch", "label:main", "--fail-on", "better")[0] == 8


def test_one_run_of_each_side_needs_repeats_and_fails_a_gate(compare: Compare) -> None:
    runs = [
        json.loads(compare("label:main", "label:patch", "--format", "json")[1])[side]["run_ids"][0] for side in "ab"
    ]
    code, out, err = compare(*runs, "--metric", "ndr", "--fail-on", "worse")
    assert code == 8
    assert out.startswith("Needs repeats: NDR is 5.")
    assert "95 %:" not in out
    assert "more of each would likely decide it" in err
    assert err.startswith("nodrop: error: --fail-on worse: the comparison could not decide (--allow-undecided passes")
    assert compare(*runs, "--fail-on", "worse", "--allow-undecided")[0] == 0
    metric = json.loads(compare(*runs, "--metric", "ndr", "--format", "json")[1])["metrics"][0]
    assert metric["needs_repeats"]
    assert metric["verdict"] == "undecided"


def test_the_table_has_no_interval_where_repeats_are_needed(compare: Compare) -> None:
    runs = [
        json.loads(compare("label:main", "label:patch", "--format", "json")[1])[side]["run_ids"][0] for side in "ab"
    ]
    rows = [line for line in compare(*runs, "--format", "markdown")[1].splitlines() if line.startswith("| NDR")]
    assert rows
    assert all("| - | needs repeats |" in " ".join(row.split()) for row in rows)


def test_margins_are_by_kind_and_a_share_alone_is_a_rates(compare: Compare) -> None:
    assert compare("label:main", "label:patch", "--margin", "20%")[1].startswith("B is equivalent to A within 20 %")
    out = compare("label:main", "label:patch", "--margin", "rate=2%,latency=30%", "--format", "json")[1]
    assert {metric["unit"]: metric["margin"] for metric in json.loads(out)["metrics"]}["pps"] == 0.02


def test_the_cost_of_a_hypervisor_is_the_difference_from_bare_metal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Source: ETSI GS NFV-PER 001 annex D: 9,330 and 2,530 kpps per interface, here a tenth of them."""
    for variation in (0.999, 1.0, 1.001):
        for label, per_interface_pps in (("bare", 933e3), ("vm", 253e3)):
            record_run(tmp_path, Step(2 * per_interface_pps * variation), label=label)
    assert main(["compare", "label:bare", "label:vm", "--results-dir", str(tmp_path)]) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith("B is worse than A: NDR is 73 % lower")


def test_a_picture_is_drawn_beside_the_text(compare: Compare, tmp_path: Path) -> None:
    file = tmp_path / "comparison.vl.json"
    assert compare("label:main", "label:patch", "--plot", str(file))[0] == 0
    assert json.loads(file.read_text(encoding="utf-8"))["title"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("label:main",), "all runs are of one setup"),
        ((), "expected two sides, got 0 results"),
        (("label:main", "label:patch", "label:main"), "got 3 results"),
        (("--a", "label:main"), "--a and --b must be used together"),
        (("label:main", "label:nobody"), "nobody"),
        (("label:main", "label:patch", "--margin", "much"), "--margin: 'much' is not a ratio"),
        (("label:main", "label:patch", "--margin", "speed=1%"), "--margin: 'speed=1%' is not a ratio"),
        (("label:main", "label:patch", "--confidence", "100%"), "--confidence: '100%' is not"),
        (("label:main", "label:patch", "--fail-on", "slower"), "--fail-on: unknown verdict slower; choose from worse,"),
        (
            ("label:main", "label:patch", "--fail-on", "worsen"),
            "--fail-on: unknown verdict worsen; did you mean worse?",
        ),
        (("label:main", "label:patch", "--allow-undecided"), "--allow-undecided: contradicts --fail-on"),
        (("label:main", "label:patch", "--metric", "mrr"), "metric: mrr is not measured by both A and B"),
        (("label:main", "label:patch", "--plot", "x.gif"), "x.gif"),
    ],
)
def test_what_cannot_be_done_is_refused_in_a_sentence(
    compare: Compare, arguments: tuple[str, ...], message: str
) -> None:
    code, out, err = compare(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("nodrop: error: ") and message in err


def test_the_capacity_a_sut_is_held_to_is_part_of_its_name() -> None:
    lab = LabPlan(sut="vnf-l2", forwarders=(), sut_queue_slots=64, sut_capacity_pps=20_000.0)
    assert "held to 20.00 kpps" in lab.sut_text
