"""Figures for Prometheus, parsed by the client library's own parsers."""

from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as prometheus
from tests.running import Listener, make_environment, make_plan
from tests.suts import Step

from nodrop.export.openmetrics import format_openmetrics, write_textfile
from nodrop.model.event import RunDone, RunStarted, TrialDone, TrialProgress
from nodrop.model.result import RunResult
from nodrop.model.run_state import RunState
from nodrop.run.execute import execute


def run(directory: Path) -> tuple[RunResult, Listener]:
    listener = Listener()
    return execute(make_plan(directory), listener, make_environment(Step(1e6))), listener


def values(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in openmetrics(text)
        for sample in family.samples
    }


def test_the_figures_of_a_result_are_those_of_the_result(tmp_path: Path) -> None:
    result, _ = run(tmp_path)
    actual = values(format_openmetrics([result]))
    for goal in result.goals:
        assert goal.lower and goal.upper
        for bound, load_pps in (("lower", goal.lower.load_pps), ("upper", goal.upper.load_pps)):
            labels = {"goal": goal.goal.label, "frame_size": "64", "bound": bound}
            assert actual["nodrop_goal_load_pps", frozenset(labels.items())] == load_pps
    offered = frozenset({"frame_size": "64", "fate": "offered"}.items())
    assert actual["nodrop_run_frames", offered] == sum(trial.offered_count for trial in result.trials)
    assert actual["nodrop_run_duration_seconds", frozenset({("frame_size", "64")})] == result.wall_s


def test_every_unit_is_the_end_of_its_metrics_name(tmp_path: Path) -> None:
    for family in openmetrics(format_openmetrics([run(tmp_path)[0]])):
        assert family.name.endswith(family.unit)


def test_the_text_file_is_read_by_the_parser_of_the_older_format(tmp_path: Path) -> None:
    result, _ = run(tmp_path)
    write_textfile(tmp_path / "nodrop.prom", [result])
    text = (tmp_path / "nodrop.prom").read_text()
    samples = [sample for family in prometheus(text) for sample in family.samples]
    figures = {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}
    assert figures == values(format_openmetrics([result]))
    kinds = {family.type for family in prometheus(text)}
    assert kinds == {"gauge"}


def test_a_running_run_shows_how_far_it_is_and_then_no_more(tmp_path: Path) -> None:
    _, listener = run(tmp_path)
    state = RunState()
    seen: list[tuple[str, dict[tuple[str, frozenset[tuple[str, str]]], float]]] = []
    for event in listener.events:
        state = state.apply(event)
        if isinstance(event, RunStarted | TrialProgress | TrialDone | RunDone):
            seen.append((type(event).__name__, values(format_openmetrics([], state))))
    running = ("nodrop_running", frozenset[tuple[str, str]]())
    assert [each[running] for _, each in seen] == [1.0] * (len(seen) - 1) + [0.0]
    offered = [
        value
        for kind, each in seen
        if kind == "TrialProgress"
        for (name, _), value in each.items()
        if name == "nodrop_running_trial_offered_frames"
    ]
    progress = [event.offered_count for event in listener.events if isinstance(event, TrialProgress)]
    assert offered == progress
    trials = [event.result.index + 1 for event in listener.events if isinstance(event, TrialDone)]
    counted = [
        value
        for kind, each in seen
        if kind == "TrialDone"
        for (name, _), value in each.items()
        if name == "nodrop_running_trials"
    ]
    assert counted == trials


def test_nothing_measured_yet_is_an_exposition_too() -> None:
    assert values(format_openmetrics([]))[("nodrop_running", frozenset())] == 0.0


def test_a_fixed_rate_shows_what_was_asked_sent_and_received(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, rate="10kpps", duration="1s", bidirectional=False)
    result = values(format_openmetrics([execute(plan, Listener(), make_environment(Step(6e3)))]))
    loads = {
        load: result["nodrop_fixed_load_pps", frozenset({"frame_size": "64", "load": load}.items())]
        for load in ("intended", "offered", "received")
    }
    assert loads == {"intended": 1e4, "offered": 1e4, "received": 6e3}
    assert result["nodrop_fixed_loss_ratio", frozenset({("frame_size", "64")})] == 0.4
