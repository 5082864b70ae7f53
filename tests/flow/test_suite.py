"""Several frame sizes, measured one after the other, over simulated systems under test."""

import io
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.factories import with_latency
from tests.running import MILLION, Listener, NullStage, make_environment

from nodrop import store
from nodrop.cli import nodrop
from nodrop.cli.console import print_renderable
from nodrop.cli.measure import measure
from nodrop.cli.outputs import Outputs
from nodrop.config.load import build_config
from nodrop.errors import ConfigError, GeneratorError, SearchError
from nodrop.model.event import RunStarted, SuiteDone
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult
from nodrop.plan import build_each, build_plan
from nodrop.report.document.screen import format_rounded_pps
from nodrop.report.document.suite import build_suite_table
from nodrop.report.document.suite_screen import build_suite_screen
from nodrop.report.line_progress import LineProgress
from nodrop.report.terminal import render_blocks, render_sections
from nodrop.run.execute import RunEnvironment
from nodrop.run.suite import execute_suite
from nodrop.simulation import SimulatedMeasurer
from nodrop.store import suites


@pytest.fixture(autouse=True)
def ids_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return ids that sort by time: a model answers within one second, real runs begin seconds apart."""
    ids = (f"20260101T{number:06}Z-abcdef" for number in itertools.count())
    monkeypatch.setattr(store, "make_run_id", lambda: next(ids))


def plans_for(tmp_path: Path, **keys: Any) -> tuple[Plan, ...]:
    short = {"rate": "10kpps", "duration": "1s", "results_dir": str(tmp_path)}
    return build_each(build_config((), short | {key.replace("__", "."): value for key, value in keys.items()}))


def fail_at(frame_size: str, error: BaseException) -> RunEnvironment:
    """Return an environment whose measurer raises at a frame size."""

    class Failing(SimulatedMeasurer):
        def measure(self, *_: Any) -> TrialResult:
            raise error

    def make(plan: Plan, _stage: object) -> SimulatedMeasurer:
        kind = Failing if plan.frame_size == frame_size else SimulatedMeasurer
        return kind(plan.traffic, MILLION)

    return RunEnvironment(lambda _plan, _run_id, _on_progress: NullStage(), make)


@pytest.mark.parametrize(
    ("written", "names", "mean_bytes"),
    [
        # The mean of 7 x 64, 4 x 594 and 1 x 1518 bytes is 361.83.
        ([64, "IMIX", 1518], ["64", "IMIX", "1518"], [64, 361.83, 1518]),
        ("64,imix,9000", ["64", "IMIX", "9000"], [64, 361.83, 9000]),
        (["64", 64, "1518"], ["64", "1518"], [64, 1518]),
        # RFC 6985: a 64, f 1280, g 1518.
        (["aaafg"], ["aaafg"], [(3 * 64 + 1280 + 1518) / 5]),
        ([], ["64"], [64]),
    ],
)
def test_every_size_has_a_plan_of_its_name(
    written: object, names: list[str], mean_bytes: list[float], tmp_path: Path
) -> None:
    plans = plans_for(tmp_path, frame_sizes=written)
    assert [plan.frame_size for plan in plans] == names
    assert [plan.traffic.frame_bytes for plan in plans] == pytest.approx(mean_bytes, abs=0.01)


def test_large_frames_have_links_that_carry_them(tmp_path: Path) -> None:
    small, large = plans_for(tmp_path, frame_sizes=[64, 9000])
    assert small.lab.mtu_bytes == 1500
    assert large.lab.mtu_bytes >= 9000 - 4 - 14


def test_a_mix_of_ones_own_is_what_imix_stands_for(tmp_path: Path) -> None:
    plans = plans_for(tmp_path, frame_sizes=[64, "IMIX"], traffic__imix={128: 1, 256: 1})
    assert [plan.traffic.frame_bytes for plan in plans] == [64, 192]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"frame_sizes": [64], "frame_bytes": 128}, "frame_sizes and frame_bytes: each sets the sizes of all frames"),
        ({"frame_sizes": [64], "traffic.genome": "aab"}, r"frame_sizes and traffic\.genome: each sets"),
        ({"frame_sizes": [64], "traffic.imix": {64: 1}}, r"frame_sizes and traffic\.imix: each sets"),
        ({"frame_sizes": [63]}, "63 is not a frame size; write bytes with FCS, 64 to 9216"),
        ({"frame_sizes": ["abc9"]}, "'abc9' is not a frame size"),
    ],
)
def test_sizes_that_cannot_be_are_refused(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        build_each(build_config((), keys))


def test_a_command_that_measures_one_size_says_so() -> None:
    with pytest.raises(ConfigError, match=r"frame_sizes: several sizes where one is possible \(64, 128\)"):
        build_plan(build_config((), {"frame_sizes": [64, 128]}))


def test_without_traffic_one_size_is_enough(tmp_path: Path) -> None:
    assert len(plans_for(tmp_path, frame_sizes=[64, 128], no_traffic=True)) == 1


def test_each_run_has_its_result_and_says_which_of_how_many_it_is(tmp_path: Path) -> None:
    listener = Listener()
    outcome = execute_suite(plans_for(tmp_path, frame_sizes=[64, "IMIX"]), listener, make_environment())
    places = [event.place for event in listener.events if isinstance(event, RunStarted)]
    assert [(place.number, place.count, place.suite_id) for place in places if place] == [
        (1, 2, outcome.suite.suite_id),
        (2, 2, outcome.suite.suite_id),
    ]
    over = listener.events[-1]
    assert isinstance(over, SuiteDone) and over.suite == outcome.suite and over.path
    assert (outcome.suite.status, outcome.failures) == (Status.COMPLETE, ())
    assert [(run.frame_size, run.status) for run in outcome.suite.runs] == [
        ("64", Status.COMPLETE),
        ("IMIX", Status.COMPLETE),
    ]
    assert [store.load(run.run_id, tmp_path) for run in outcome.suite.runs] == list(outcome.results)


def test_a_suite_is_found_by_file_directory_id_and_as_the_latest(tmp_path: Path) -> None:
    outcome = execute_suite(plans_for(tmp_path, frame_sizes=[64, 128]), Listener(), make_environment())
    suite_id = outcome.suite.suite_id
    for expected in (tmp_path / suite_id / "suite.json", tmp_path / suite_id, suite_id, "latest"):
        assert suites.load(expected, tmp_path) == (outcome.suite, outcome.results)
    assert suites.load(outcome.results[0].run_id, tmp_path) is None
    assert store.load("latest", tmp_path) == outcome.results[-1]
    with pytest.raises(ConfigError, match="a suite of several runs; name one of the runs in"):
        store.load(suite_id, tmp_path)


def test_a_run_by_itself_after_a_suite_is_the_latest(tmp_path: Path) -> None:
    outcome = execute_suite(plans_for(tmp_path, frame_sizes=[64, 128]), Listener(), make_environment())
    alone = outcome.results[0].model_copy(update={"run_id": "29990101T000000Z-ffffff"})
    store.save(alone, tmp_path)
    assert suites.load("latest", tmp_path) is None


def test_a_size_that_fails_keeps_no_other_from_being_measured(tmp_path: Path) -> None:
    plans = plans_for(tmp_path, frame_sizes=[64, 128, 256])
    outcome = execute_suite(plans, Listener(), fail_at("128", GeneratorError("engine lost")))
    assert [run.status for run in outcome.suite.runs] == [Status.COMPLETE, Status.FAILED, Status.COMPLETE]
    assert (outcome.suite.status, outcome.suite.error) == (Status.FAILED, "128: engine lost")
    assert [(failure.frame_size, str(failure.error)) for failure in outcome.failures] == [("128", "engine lost")]


def test_an_interrupted_suite_keeps_what_was_measured(tmp_path: Path) -> None:
    plans = plans_for(tmp_path, frame_sizes=[64, 128, 256])
    with pytest.raises(KeyboardInterrupt):
        execute_suite(plans, Listener(), fail_at("128", KeyboardInterrupt("stopped by SIGINT")))
    result = suites.load("latest", tmp_path)
    assert result
    assert [run.status for run in result.suite.runs] == [Status.COMPLETE, Status.INTERRUPTED]
    assert (result.suite.status, result.suite.error) == (Status.INTERRUPTED, "stopped by SIGINT")
    assert len(result.results[0].trials) == 1


def test_a_killed_suite_is_on_disk_as_interrupted(tmp_path: Path) -> None:
    seen: list[Suite] = []

    def look(event: object) -> None:
        if isinstance(event, RunStarted) and event.place and event.place.number == 2:
            result = suites.load(event.place.suite_id, tmp_path)
            assert result
            seen.append(result.suite)

    execute_suite(plans_for(tmp_path, frame_sizes=[64, 128]), look, make_environment())
    assert [(suite.status, len(suite.runs)) for suite in seen] == [(Status.INTERRUPTED, 1)]


@pytest.mark.parametrize("columns", [100, 140])
@pytest.mark.parametrize("rate", ["10kpps", "ndr_pdr"])
def test_the_summary_has_every_size_and_fits_the_width(
    rate: str, columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [64, "IMIX", 1518]
    outcome = execute_suite(
        plans_for(tmp_path, frame_sizes=sizes, rate=rate, search__max_load="2Mpps" if rate == "ndr_pdr" else None),
        Listener(),
        make_environment(),
    )
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    print_renderable(render_blocks([build_suite_table(tuple(map(with_latency, outcome.results)))]), out)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= columns
    assert "…" not in out.getvalue()
    rows = 1 if rate == "10kpps" else 2
    assert [line.split()[0] for line in lines if line.startswith(("64", "IMIX", "1518"))] == [
        str(size) for size in sizes for _ in range(rows)
    ]


def test_the_lines_of_a_run_say_its_frame_size(tmp_path: Path) -> None:
    out = io.StringIO()
    execute_suite(plans_for(tmp_path, frame_sizes=[64, 128]), LineProgress(out).handle, make_environment())
    starts = [line for line in out.getvalue().splitlines() if line.startswith("run ")]
    assert ["(1 of 2, frame size 64)" in starts[0], "(2 of 2, frame size 128)" in starts[1]] == [True, True]


def test_the_exit_code_is_that_of_the_size_that_failed_and_it_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = plans_for(tmp_path, frame_sizes=[64, 128, 256])
    file = tmp_path / "all.json"
    code = measure(plans, Outputs(str(file)), True, environment=fail_at("128", GeneratorError("engine lost")))
    assert code == GeneratorError.exit_code
    assert "nodrop: error: frame size 128: engine lost\n" in capsys.readouterr().err
    content = json.loads(file.read_text())
    assert [run["frame_size"] for run in content["suite"]["runs"]] == ["64", "128", "256"]
    assert [len(result["trials"]) for result in content["results"]] == [1, 0, 1]


def test_a_goal_that_is_met_nowhere_is_named_with_its_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = {"rate": "ndr", "search__max_load": "2Mpps", "search__min_load": "1.5Mpps"}
    code = measure(
        plans_for(tmp_path, frame_sizes=[64, 128], **keys), Outputs(), True, environment=make_environment(MILLION)
    )
    assert code == SearchError.exit_code
    errors = capsys.readouterr().err.splitlines()
    assert [line.partition(": even the lowest load")[0] for line in errors] == [
        "nodrop: error: frame size 64",
        "nodrop: error: frame size 128",
    ]


def test_nodrop_show_prints_a_suite_and_the_reports_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    outcome = execute_suite(plans_for(tmp_path, frame_sizes=[64, 128]), Listener(), make_environment())
    message = CliRunner().invoke(nodrop, ["show", "latest", "--results-dir", str(tmp_path)]).output
    assert f"{outcome.suite.suite_id}: complete, 2 frame sizes" in message
    for result in outcome.results:
        assert f"Frame size {result.plan.frame_size}: run {result.run_id}" in message
    as_json = CliRunner().invoke(nodrop, ["show", "latest", "--json", "--results-dir", str(tmp_path)]).output
    assert json.loads(as_json)["suite"] == outcome.suite.model_dump(mode="json")


def render_suite_screen(suite: Suite, results: Sequence[RunResult], columns: int = 100) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=columns).print(render_sections(build_suite_screen(suite, results)))
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_sizes_fit_a_screen_that_ends_with_a_row_for_each(tmp_path: Path, columns: int) -> None:
    plans = plans_for(tmp_path, rate="ndr_pdr", frame_sizes=[64, 512, "IMIX"])
    outcome = execute_suite(plans, Listener(), make_environment(MILLION))
    results = [with_latency(result) for result in outcome.results]
    lines = render_suite_screen(outcome.suite, results, columns)
    assert len(lines) <= 22
    assert max(map(len, lines)) <= columns
    for line, result in zip(lines[-3:], results, strict=True):
        assert line.startswith(result.plan.frame_size)
        for goal_result in result.goals:
            assert goal_result.lower and goal_result.upper
            width = 1.0 - goal_result.lower.load_pps / goal_result.upper.load_pps
            assert format_rounded_pps(goal_result.lower.load_pps, width) in line


def test_fixed_rates_of_sizes_have_sent_received_and_lost_frames(tmp_path: Path) -> None:
    plans = plans_for(tmp_path, rate="2Mpps", frame_sizes=[64, 128])
    outcome = execute_suite(plans, Listener(), make_environment(MILLION))
    lines = render_suite_screen(outcome.suite, outcome.results)
    for line, result in zip(lines[-2:], outcome.results, strict=True):
        trial = result.fixed_trial
        assert trial and trial.lost_count
        assert line.startswith(result.plan.frame_size)
        assert f"{trial.lost_count:,}" in line


def test_a_caution_of_all_sizes_is_there_once_and_that_of_one_names_it(tmp_path: Path) -> None:
    plans = plans_for(tmp_path, rate="ndr", frame_sizes=[64, 128])
    outcome = execute_suite(plans, Listener(), make_environment(MILLION))
    first, second = [
        result.model_copy(update={"plan": result.plan.model_copy(update={"warnings": ("the CPUs are slow",)})})
        for result in outcome.results
    ]
    second = second.model_copy(update={"error": "the VNF ended"})
    text = "\n".join(render_suite_screen(outcome.suite, [first, second]))
    assert "128: the VNF ended" in text
    assert text.count("the CPUs are slow") == 1
