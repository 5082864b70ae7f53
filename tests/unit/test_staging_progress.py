"""The progress of a stage: as lines, in the log and in the live display."""

import io

from rich.console import Console

from nodrop.model.event import StageProgress
from nodrop.model.run_state import RunState
from nodrop.report.line_progress import LineProgress
from nodrop.report.live_progress import render_progress
from nodrop.report.stage_progress import StageLineFilter


def step(done_count: int, count: int = 40, text: str = "") -> StageProgress:
    return StageProgress(text=text or f"port {done_count} made", done_count=done_count, count=count)


def test_of_many_steps_every_tenth_part_is_a_line() -> None:
    staging = StageLineFilter()
    message = [line for done in range(1, 41) if (line := staging.select_line(step(done)))]
    assert len(message) == 11
    assert message[0] == "port 1 made (1 of 40)"
    assert message[-1] == "port 40 made (40 of 40)"


def test_what_is_no_step_is_always_said() -> None:
    staging = StageLineFilter()
    assert staging.select_line(step(0, 40, "logging in")) == "logging in (0 of 40)"
    assert staging.select_line(step(0, 0, "the cloud is away, waiting")) == "the cloud is away, waiting"


def test_a_stage_that_is_taken_away_is_told_again() -> None:
    staging = StageLineFilter()
    staging.select_line(step(40))
    assert staging.select_line(step(1, 40, "server deleted")) == "server deleted (1 of 40)"


def test_lines_tell_how_far_it_is() -> None:
    out = io.StringIO()
    LineProgress(out).handle(step(40))
    assert out.getvalue() == "cloud: port 40 made (40 of 40)\n"


def test_the_picture_has_a_bar() -> None:
    state = RunState().apply(step(20, 40, "server nodrop-vm-3 is ACTIVE"))
    console = Console(file=io.StringIO(), width=100)
    with console.capture() as seen:
        console.print(render_progress(state, 3.0))
    assert "20 of 40" in seen.get()
    assert "server nodrop-vm-3 is ACTIVE" in seen.get()
