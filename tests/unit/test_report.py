"""The report on a terminal: it fits the width, writes no control characters into a pipe, and never flatters the SUT."""

import io
import itertools
from pathlib import Path
from typing import Any

import pytest
from rich.console import RenderableType
from tests.factories import with_latency
from tests.recorded import record_run
from tests.running import MILLION, Listener, NullStage, make_environment, make_plan
from tests.suts import SlowTester, Step, Sut

from nodrop.cli.console import make_console, print_renderable
from nodrop.formatting import format_small_ratio
from nodrop.model.event import Event, TrialDone, TrialProgress, TrialStarted
from nodrop.model.goal import Flag, Limit
from nodrop.model.message import Message
from nodrop.model.result import LatencyResult, RunResult, Status
from nodrop.model.run_state import RunState
from nodrop.model.trial import (
    Doubt,
    StopClause,
    Trial,
    Validity,
    ValidityStatus,
)
from nodrop.model.trial_event import TrialEvent
from nodrop.report.document.blocks import Table
from nodrop.report.document.loss import build_loss_blocks
from nodrop.report.line_progress import LineProgress, format_trial_line
from nodrop.report.live_progress import LiveProgress, render_progress
from nodrop.report.terminal import render_result
from nodrop.run.execute import execute
from nodrop.units import format_pps


class Terminal(io.StringIO):
    """A terminal that stores its output."""

    def isatty(self) -> bool:
        return True


def run_search(tmp_path: Path, sut: Sut = MILLION, *, shared: bool = False) -> RunResult:
    stage = NullStage(sut_shares_tester_cpu=shared)
    return execute(make_plan(tmp_path), Listener(), make_environment(sut, stage=stage))


def render_piped(renderable: RenderableType, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    print_renderable(renderable, out)
    return out.getvalue()


def join_lines(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_a_report_fits_the_width_and_nothing_is_cut_off(
    columns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = with_latency(run_search(tmp_path, SlowTester(capacity_pps=1e6, tester_pps=5e5)))
    text = render_piped(render_result(result, with_trials=True), columns, monkeypatch)
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text


def test_a_report_in_a_pipe_has_no_control_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render_piped(render_result(with_latency(run_search(tmp_path)), with_trials=True), 80, monkeypatch)
    assert not [character for character in text if not character.isprintable() and character != "\n"]
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_no_color_is_respected_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    for no_color, has_color in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", no_color)
        out = Terminal()
        print_renderable(render_result(run_search(tmp_path)), out)
        assert ("\x1b[1;32m" in out.getvalue()) is has_color


def test_a_report_tells_loads_bounds_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path, Step(765_432.0))
    lower, upper = result.goals[0].lower, result.goals[0].upper
    assert lower and upper
    lines = render_piped(render_result(result), 80, monkeypatch).splitlines()
    (row,) = [line for line in lines if line.startswith("NDR 0 %  ")]
    assert f"{lower.load_pps / 1e3:.1f} kpps" in row
    assert f"2 x {lower.load_pps / 2e3:.1f} kpps" in row
    assert f"{lower.load_pps * 84 * 8 / 1e6:.1f} Mb/s" in row
    assert row.rstrip().endswith("%")
    assert any(line.startswith("- NDR 0 %") and "limited by the SUT" in line for line in lines)
    assert any("PDR 0.5 %" in line for line in lines)


def test_latency_is_told_per_direction_with_its_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render_piped(render_result(with_latency(run_search(tmp_path))), 80, monkeypatch)
    figures = "9.99 µs   123 µs   120 µs   200 µs  1000 µs  12.3 ms   123 ms"
    assert join_lines(figures) in join_lines(text)
    assert text.count("0→1") == text.count("1→0") == 3
    assert "50 % of PDR" in text


@pytest.mark.parametrize(
    ("shared", "limit"), [(False, "limited by the tester"), (True, "limited by a CPU that tester and SUT share")]
)
def test_where_the_tester_was_the_limit_no_figure_stands_as_the_suts(
    shared: bool, limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_search(tmp_path, SlowTester(capacity_pps=2e6, tester_pps=5e5), shared=shared)
    text = render_piped(render_result(result), 120, monkeypatch)
    goal_lines = [line for line in text.splitlines() if "NDR 0 %" in line]
    assert len(goal_lines) == 2
    assert all("at least" in line for line in goal_lines)
    assert limit in text


def test_a_goal_met_at_the_highest_load_reads_at_least(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = render_piped(render_result(run_search(tmp_path, Step(1e9))), 120, monkeypatch)
    assert "NDR 0 %: at least 4.000 Mpps, limited by the highest load allowed" in text


def test_a_doubtful_trial_that_a_figure_rests_on_is_explained_and_the_others_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_search(tmp_path, SlowTester(capacity_pps=2e6, tester_pps=5e5))
    upper = result.goals[0].upper
    assert upper
    text = join_lines(render_piped(render_result(result), 120, monkeypatch))
    assert f"trial #{upper.trial_index} (NDR upper bound" in text
    assert " %) were not sent in time; they count as lost" in text
    doubted = [trial.index for trial in result.trials if trial.validity.doubts]
    assert doubted[0] == 0
    assert "more trials are suspect but did not affect the results (#0" in text


def test_an_invalid_trial_is_always_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path)
    doubt = Doubt.invalid("tester_drops", dropped_count=3)
    spoiled = result.trials[0].model_copy(
        update={"validity": Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))}
    )
    changed = result.model_copy(update={"trials": (spoiled, *result.trials[1:]), "goals": ()})
    text = join_lines(render_piped(render_result(changed), 120, monkeypatch))
    assert "trial #0 is invalid: the tester dropped 3 frames in its own receive path" in text


def test_latency_of_a_trial_that_lost_frames_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path)
    overloaded = LatencyResult(label="NDR", load_pps=4e6, trial_index=0)
    changed = result.model_copy(update={"latencies": (overloaded, *result.latencies[1:])})
    text = join_lines(render_piped(render_result(changed), 80, monkeypatch))
    assert "latency at NDR: 75 % of the frames were lost in this trial at 4.000 Mpps" in text


def test_an_interrupted_run_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path).model_copy(update={"status": Status.INTERRUPTED})
    assert "interrupted; partial results follow" in render_piped(render_result(result), 80, monkeypatch)


def with_goals(result: RunResult, **changes: Any) -> RunResult:
    """Return the result with another outcome for every goal."""
    return result.model_copy(update={"goals": tuple(each.model_copy(update=changes) for each in result.goals)})


def test_how_sure_a_lower_bound_is_stands_under_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run_search(tmp_path, Step(765_432.0))
    ndr = result.goals[0].lower
    assert ndr
    trials = [trial for trial in result.trials if trial.phase == "search"]
    sent = sum(trial.offered_count for trial in trials if trial.trial.intended_load_pps == ndr.load_pps)
    text = join_lines(render_piped(render_result(result), 80, monkeypatch))
    assert f"No frame of {sent:,} was lost at " in text
    assert f"kpps: loss ratio below {format_small_ratio(2.97 / sent)}" in text
    assert "at 95 % confidence." in text


def test_probabilities_throughput_and_estimates_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = with_goals(
        run_search(tmp_path),
        lower_error_probability=0.02,
        upper_error_probability=0.001,
        conditional_throughput_pps=9e5,
        estimate_pps=1.01e6,
        estimate_sd_pps=2000.0,
    )
    text = join_lines(render_piped(render_result(result), 80, monkeypatch))
    lower, upper = result.goals[0].lower, result.goals[0].upper
    assert lower and upper
    assert (
        f"Confidence: 98 % that most trials at {format_pps(lower.load_pps)} meet the goal, 99.9 % that most trials at "
        f"{format_pps(upper.load_pps)} do not." in text
    )
    assert "Conditional throughput at the lower bound: 900.0 kpps." in text
    assert "Estimate of the search: 1.010 Mpps ± 2.000 kpps." in text


def test_an_estimate_without_bounds_reads_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = {
        "estimate_pps": 1e6,
        "estimate_sd_pps": 5e3,
        "limit": Limit.UNKNOWN,
        "explanation": Message.model_validate("An estimate."),
    }
    result = with_goals(run_search(tmp_path), lower=None, upper=None, **estimate)
    text = render_piped(render_result(result), 80, monkeypatch)
    assert "- NDR 0 %: about 1.000 Mpps ± 5.000 kpps. An estimate." in text
    (row,) = [line for line in text.splitlines() if line.startswith("NDR 0 %  ")]
    assert join_lines(row) == "NDR 0 % about 1.000 Mpps - - - -"


def test_a_flag_is_told_once_for_all_goals_and_not_where_the_limit_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (
        Flag(code="drift", text="The SUT became slower."),
        Flag(code="tester-limited", text="The tester was the limit."),
    )
    result = with_goals(run_search(tmp_path), flags=flags, limit=Limit.TESTER)
    text = render_piped(render_result(result), 80, monkeypatch)
    assert "! NDR, PDR: The SUT became slower.\n" in text
    assert "The tester was the limit." not in text


def test_what_else_was_seen_has_a_section_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = (Flag(code="buffer", text="The SUT holds about 4,096 frames."),)
    text = render_piped(render_result(run_search(tmp_path).model_copy(update={"findings": seen})), 80, monkeypatch)
    assert "\nOther findings\n- The SUT holds about 4,096 frames.\n" in text


@pytest.mark.parametrize(
    ("stopped_by", "words"),
    [
        ("lost_count", "stopped early: enough frames were lost to decide"),
        ("quiet", "stopped early: too few frames were lost to continue"),
        (None, "stopped early"),
    ],
)
def test_a_stopped_trial_says_why_and_each_trial_its_goal_and_rule(
    stopped_by: StopClause | None, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run_search(tmp_path)
    requested = Trial(intended_load_pps=1e6, duration_s=1.0, reason="to see", goal="NDR", rule="look")
    stopped = {"trial": requested, "stopped_early": True, "stopped_by": stopped_by, "duration_s": 0.3}
    trial = result.trials[0].model_copy(update=stopped)
    text = render_piped(
        render_result(result.model_copy(update={"trials": (trial, *result.trials[1:])}), True), 80, monkeypatch
    )
    assert "\n  0 To see (NDR, look). " in text
    assert f"{words[0].upper()}{words[1:]}." in join_lines(text)
    assert "0.3 s" in text
    assert f"for 0.3 s, {words}, loss" in format_trial_line(trial)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.0, "0 %"), (0.005, "0.5 %"), (1.1e-8, "1.1e-8"), (9.96e-5, "1.0e-4"), (1e-4, "0.01 %"), (2.5e-12, "2.5e-12")],
)
def test_small_shares_are_not_written_as_zeros(ratio: float, text: str) -> None:
    assert format_small_ratio(ratio) == text


def test_progress_in_a_pipe_is_one_plain_line_per_event(tmp_path: Path) -> None:
    out, listener = io.StringIO(), Listener()
    result = execute(make_plan(tmp_path), listener, make_environment())
    with LineProgress(out) as progress:
        for event in listener.events:
            progress.handle(event)
    lines = out.getvalue().splitlines()
    assert len(lines) == 3 + len(result.trials)
    assert all(line.isprintable() for line in lines)
    assert lines[3].startswith("trial 0: 4.000 Mpps for ")


def test_the_live_picture_is_drawn_at_most_four_times_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener()
    execute(make_plan(tmp_path), listener, make_environment())
    now_s = 100.0
    monkeypatch.setattr("nodrop.report.live_progress.time.monotonic", lambda: now_s)
    progress = LiveProgress(make_console(Terminal()))
    drawn: list[float] = []
    monkeypatch.setattr(progress._live, "update", lambda *_, **__: drawn.append(now_s))
    started = next(event for event in listener.events if isinstance(event, TrialStarted))
    progress.handle(started)
    for _ in range(100):
        now_s += 0.02
        progress.handle(TrialProgress(index=0, elapsed_s=0.1, offered_count=10, received_count=9))
    gaps = [later - earlier for earlier, later in itertools.pairwise(drawn)]
    assert min(gaps) >= 0.25
    assert 5 <= len(drawn) <= 9


def test_the_live_picture_shows_load_loss_bounds_and_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listener = Listener()
    execute(make_plan(tmp_path, search__algorithm="mlrsearch-01"), listener, make_environment(Step(765_432.0)))
    progress = state_half_way(listener.events)
    progress = progress.apply(
        TrialProgress(index=5, elapsed_s=0.05, offered_count=1000, received_count=985, lost_count=10)
    )
    text = render_piped(render_progress(progress, 61.0), 80, monkeypatch)
    assert max(map(len, text.splitlines())) <= 80
    assert "loss 1 %" in text
    assert "1 min 01 s" in text
    assert "left" in text
    assert "without loss: NDR" in text
    assert "with loss: " in text
    for each in progress.goals:
        assert each.lower and f"{each.lower.load_pps / 1e3:.1f} kpps" in text


def state_half_way(events: list[Event]) -> RunState:
    """Return the state of a run at the start of its sixth trial."""
    progress = RunState()
    for event in events:
        progress = progress.apply(event)
        if isinstance(event, TrialStarted) and event.index == 5:
            break
    return progress


def test_the_time_left_counts_down_to_nothing(tmp_path: Path) -> None:
    listener, progress = Listener(), RunState()
    execute(make_plan(tmp_path), listener, make_environment())
    assert progress.remaining_s() is None
    guesses = []
    for event in listener.events:
        progress = progress.apply(event)
        if isinstance(event, TrialDone):
            guesses.append(progress.remaining_s())
    first, last = guesses[0], guesses[-1]
    assert first is not None and last is not None
    assert first > 3.0
    assert last == 0.0
    shown = [guess for guess in guesses if guess is not None]
    assert shown == sorted(shown, reverse=True)


def test_a_search_whose_end_never_comes_is_said_to_take_longer_than_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listener, progress = Listener(), RunState()
    execute(make_plan(tmp_path), listener, make_environment())
    started = next(event for event in listener.events if isinstance(event, TrialStarted))
    done = next(event for event in listener.events if isinstance(event, TrialDone))
    progress = progress.apply(listener.events[0])
    texts, remaining = [], []
    for index in range(30):  # each trial promises the end in 10 s
        started = started.model_copy(
            update={"index": index, "outlook": started.outlook.model_copy(update={"left_s": 10.0})}
        )
        progress = progress.apply(started)
        texts.append(render_piped(render_progress(progress, 0.0), 80, monkeypatch))
        remaining.append(progress.remaining_s())
        progress = progress.apply(done.model_copy(update={"result": done.result.model_copy(update={"index": index})}))
    shown = [each for each in remaining if each is not None]
    assert shown == sorted(shown, reverse=True)
    assert remaining[-1] is None
    assert "longer than expected" in texts[-1]
    assert "left" in texts[0]


def test_a_report_lists_the_events_of_a_trial_below_its_chart(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(3000.0), rate="10kpps", duration=1)
    events = (TrialEvent(name="kill 0", begin_s=0.3, end_s=0.3),)
    result = result.replace(trials=tuple(trial.replace(events=events) for trial in result.trials))
    captions = [block.caption for block in build_loss_blocks(result) if isinstance(block, Table)]
    assert captions[0] == "Events"
