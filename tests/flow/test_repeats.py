"""Repeats, and alternating setups, over simulated systems under test."""

import io
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.factories import with_latency
from tests.running import Listener, NullStage, make_plan
from tests.suts import Step

from nodrop import store
from nodrop.cli import nodrop
from nodrop.cli.measure import measure
from nodrop.cli.outputs import Outputs
from nodrop.cli.suite_output import render_suite
from nodrop.cli.variant_plans import make_variant_plans
from nodrop.config.load import build_config
from nodrop.config.schema import Config
from nodrop.errors import ConfigError, GeneratorError
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.export.run_metrics import build_families
from nodrop.model.event import RunStarted
from nodrop.model.plan import Plan
from nodrop.model.result import Status
from nodrop.model.run_state import RunState
from nodrop.plan import build_each
from nodrop.report.line_progress import LineProgress
from nodrop.report.live_progress import render_progress
from nodrop.run.execute import RunEnvironment
from nodrop.run.suite import execute_suite, interleave
from nodrop.simulation import SimulatedMeasurer
from nodrop.store import suites
from nodrop.units import format_pps

SHORT = {
    "search.initial_trial_duration": "0.1s",
    "search.final_trial_duration": "1s",
    "search.max_load": "4Mpps",
    "latency.enabled": False,
}


@pytest.fixture(autouse=True)
def ids_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return ids that sort by time: a model answers within one second, real runs begin seconds apart."""
    ids = (f"20260101T{number:06}Z-abcdef" for number in itertools.count())
    monkeypatch.setattr(store, "make_run_id", lambda: next(ids))


def config(tmp_path: Path, overlay: dict[str, Any] | None = None, **keys: Any) -> Config:
    requested = SHORT | {"results_dir": str(tmp_path)} | {key.replace("__", "."): value for key, value in keys.items()}
    return build_config((), requested, overlays=(json.dumps(overlay),) if overlay else ())


def make_environment(b_pps: float = 0.95e6, broken: str = "") -> RunEnvironment:
    """Simulate a SUT that forwards a little more each time, and more as B; measuring it as `B2` may fail."""
    steps: Iterator[int] = itertools.count()

    class Broken(SimulatedMeasurer):
        def measure(self, *_: Any) -> Any:
            raise GeneratorError("engine lost")

    def make(plan: Plan, _stage: object) -> SimulatedMeasurer:
        kind = Broken if f"{plan.variant}{plan.repeat}" == broken else SimulatedMeasurer
        drift = 1 + 0.001 * next(steps)
        return kind(plan.traffic, Step((b_pps if plan.variant == "B" else 1e6) * drift))

    return RunEnvironment(lambda _plan, _run_id, _on_progress: NullStage(), make)


def plan_variants(tmp_path: Path, **keys: Any) -> tuple[Plan, ...]:
    a = build_each(config(tmp_path, **keys))
    return interleave(a, build_each(config(tmp_path, {"flow_count": 1000}, **keys)))


def text_of(outcome: Any, monkeypatch: pytest.MonkeyPatch, columns: int = 100) -> str:
    from nodrop.cli.console import print_renderable

    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    print_renderable(render_suite(outcome.suite, outcome.results), out)
    return out.getvalue()


def test_repeats_go_over_all_frame_sizes_each_time(tmp_path: Path) -> None:
    plans = build_each(config(tmp_path, repeat=2, frame_sizes=[64, "IMIX"]))
    assert [(plan.repeat, plan.frame_size) for plan in plans] == [(1, "64"), (1, "IMIX"), (2, "64"), (2, "IMIX")]
    assert {plan.repeat_count for plan in plans} == {2}


def test_without_traffic_once_is_enough(tmp_path: Path) -> None:
    assert len(build_each(config(tmp_path, repeat=3, no_traffic=True))) == 1


def test_set_ups_in_turn_begin_with_the_one_that_drift_would_favor_less(tmp_path: Path) -> None:
    plans = plan_variants(tmp_path, repeat=8)
    assert "".join(plan.variant for plan in plans) == "ABBABAABBAABABBA"
    # A steady drift adds as much to A as to B after two repeats, one with steady growth after four.
    for count, power in ((2, 1), (4, 2), (8, 3)):
        sums = {"A": 0, "B": 0}
        for position, plan in enumerate(plans[: 2 * count]):
            sums[plan.variant] += position**power
        assert sums["A"] == sums["B"]


def test_frame_sizes_alternate_within_a_repeat(tmp_path: Path) -> None:
    plans = plan_variants(tmp_path, repeat=2, frame_sizes=[64, 128])
    assert [f"{plan.variant}{plan.repeat} {plan.frame_size}" for plan in plans] == [
        *("A1 64", "B1 64", "A1 128", "B1 128"),
        *("B2 64", "A2 64", "B2 128", "A2 128"),
    ]


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        ({"frame_sizes": [64, 128]}, "frame_sizes: 1 for A but 2 for B"),
        ({"repeat": 3}, "repeat: 2 for A but 3 for B"),
        ({"results_dir": "elsewhere"}, "results_dir: .* for A but elsewhere for B"),
        ({"ship": {"log_file": "b.log"}}, "ship: differs between A and B"),
    ],
)
def test_what_both_have_to_share_is_refused_in_b(overlay: dict[str, Any], message: str, tmp_path: Path) -> None:
    a, b = build_each(config(tmp_path, repeat=2)), build_each(config(tmp_path, overlay, repeat=2))
    with pytest.raises(ConfigError, match=message):
        interleave(a, b)


def test_an_overlay_wins_over_flags(tmp_path: Path) -> None:
    assert config(tmp_path, {"sut": "bridge"}, sut="vnf-l3").sut == "bridge"


def test_what_differs_is_said_and_b_is_labeled_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = config(tmp_path, label="nightly")
    plans = make_variant_plans(a, config(tmp_path, {"sut": "bridge", "engine": {"queue_slots": 64}}, label="nightly"))
    assert "B differs from A in sut: vnf-l2 -> bridge, engine.queue_slots: 32768 -> 64" in capsys.readouterr().err
    assert plans[0].label == "nightly B"
    assert make_variant_plans(a, config(tmp_path, {"label": "new"}))[0].label == "new"


def test_the_suite_says_which_repeat_of_which_each_run_is(tmp_path: Path) -> None:
    listener = Listener()
    outcome = execute_suite(plan_variants(tmp_path, repeat=2), listener, make_environment())
    assert [(run.variant, run.repeat) for run in outcome.suite.runs] == [("A", 1), ("B", 1), ("B", 2), ("A", 2)]
    assert (outcome.suite.repeat_count, outcome.suite.frame_sizes) == (2, ("64",))
    places = [event.place for event in listener.events if isinstance(event, RunStarted) and event.place]
    assert [(place.number, place.variant, place.repeat) for place in places] == [
        (1, "A", 1),
        (2, "B", 1),
        (3, "B", 2),
        (4, "A", 2),
    ]
    result = suites.load("latest", tmp_path)
    assert result and result.suite == outcome.suite


def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = measure(plan_variants(tmp_path, repeat=2), Outputs(), True, environment=make_environment(broken="B2"))
    captured = capsys.readouterr()
    assert code == GeneratorError.exit_code
    assert "frame size 64, B 2 of 2: engine lost" in captured.err
    result = suites.load("latest", tmp_path)
    assert result and [run.status for run in result.suite.runs].count(Status.COMPLETE) == 3


def test_progress_says_which_repeat_it_is(tmp_path: Path) -> None:
    out, progress = io.StringIO(), RunState()
    seen: list[str] = []

    def hear(event: Any) -> None:
        nonlocal progress
        lines.handle(event)
        progress = progress.apply(event)
        if isinstance(event, RunStarted):
            from rich.console import Console

            console = Console(width=100, file=io.StringIO(), force_terminal=False)
            console.print(render_progress(progress, 0.0))
            seen.append(console.file.getvalue().splitlines()[0])  # type: ignore[attr-defined]

    lines = LineProgress(out)
    execute_suite(plan_variants(tmp_path, repeat=2), hear, make_environment())
    starts = [line for line in out.getvalue().splitlines() if line.startswith("run ")]
    assert "(3 of 4, frame size 64, B 2 of 2)" in starts[2]
    assert seen[2].startswith("B 2 of 2, run 3 of 4: ")


@pytest.mark.parametrize("columns", [100, 140])
def test_repeats_end_with_their_spread(columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = build_each(config(tmp_path, repeat=5, frame_sizes=[64, "IMIX"]))
    outcome = execute_suite(plans, Listener(), make_environment())
    output = text_of(outcome, monkeypatch, columns)
    assert max(map(len, output.splitlines())) <= columns and "…" not in output
    assert "10 runs: 5 repeats at 2 frame sizes" in output
    assert "IMIX, #5" in output
    loads = sorted(
        result.goals[0].lower.load_pps
        for result in outcome.results
        if result.plan.frame_size == "64" and result.goals[0].lower
    )
    row = next(line for line in output.splitlines() if line.split()[:2] == ["64", "NDR"] and " 5 " in line)
    assert [f"{loads[at] / 1e6:.3f}" for at in (2, 4)] == [row.split()[3], row.split()[7]]


def test_set_ups_in_turn_end_with_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = execute_suite(plan_variants(tmp_path, repeat=4), Listener(), make_environment())
    assert "worse" in text_of(outcome, monkeypatch)
    message = CliRunner().invoke(nodrop, ["show", "latest", "--results-dir", str(tmp_path)]).output
    assert "8 runs: 4 repeats of A and B alternating" in message and "worse" in message


def screen_of(outcome: Any, monkeypatch: pytest.MonkeyPatch, columns: int) -> list[str]:
    from nodrop.cli.console import print_renderable

    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    results = [with_latency(result) for result in outcome.results]
    print_renderable(render_suite(outcome.suite, results, is_screen=True), out)
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_repeats_fit_a_screen_that_ends_with_their_range(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = execute_suite(build_each(config(tmp_path, repeat=3)), Listener(), make_environment())
    lines = screen_of(outcome, monkeypatch, columns)
    assert len(lines) <= 22
    assert max(map(len, lines)) <= columns
    loads_pps = sorted(each.goals[0].lower.load_pps for each in outcome.results if each.goals[0].lower)
    low, median, high = map(format_pps, loads_pps)
    answer = " ".join(lines[-2:] if columns < 200 else lines[-1:])
    assert f"NDR: {median}, {low} to {high} in 3 repeats; repeatability" in answer
    (row,) = [line for line in lines if line.startswith("NDR ")]
    assert all(text in row for text in (low, median, high))


@pytest.mark.parametrize("columns", [100, 200])
@pytest.mark.parametrize("sizes", [[64], [64, 128, "IMIX"]])
def test_set_ups_in_turn_fit_a_screen_that_ends_with_the_verdict(
    columns: int, sizes: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = execute_suite(plan_variants(tmp_path, repeat=3, frame_sizes=sizes), Listener(), make_environment())
    lines = screen_of(outcome, monkeypatch, columns)
    assert len(lines) <= 22
    assert max(map(len, lines)) <= columns
    answer = next(index for index, line in enumerate(lines) if line.startswith("B is worse than A: NDR"))
    assert answer >= len(lines) - 3
    assert any("flow" in line and line.startswith("B differs in: ") for line in lines)


def test_set_ups_without_a_common_run_have_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = execute_suite(plan_variants(tmp_path, repeat=1), Listener(), make_environment(broken="B1"))
    lines = screen_of(outcome, monkeypatch, 100)
    assert lines[-1] == "No comparison: a setup has no complete run."
    assert any("B1: engine lost" in line for line in lines)


def test_nfvbenchs_form_has_the_repeat_in_the_middle(tmp_path: Path) -> None:
    outcome = execute_suite(build_each(config(tmp_path, repeat=3)), Listener(), make_environment())
    form = build_nfvbench_result(outcome.results)["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]
    loads = sorted(result.goals[0].lower.load_pps for result in outcome.results if result.goals[0].lower)
    assert form["64"]["ndr"]["rate_pps"] == pytest.approx(loads[1], abs=1)


def test_nfvbenchs_form_of_two_set_ups_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds one setup, but the runs are of several"):
        measure(
            plan_variants(tmp_path, repeat=2),
            Outputs(nfvbench_json=str(tmp_path / "n.json")),
            True,
            environment=make_environment(),
        )
    assert not list(tmp_path.glob("*/result.json"))


def test_metrics_have_every_label_once(tmp_path: Path) -> None:
    outcome = execute_suite(plan_variants(tmp_path, repeat=2), Listener(), make_environment())
    for family in build_families(outcome.results):
        labels = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(labels) == len(set(labels))


def test_a_single_run_is_no_repeat(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    assert (plan.variant, plan.repeat, plan.repeat_count) == ("", 1, 1)
