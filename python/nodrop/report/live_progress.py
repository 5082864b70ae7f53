"""Progress for a terminal: a small view redrawn at most four times a second."""

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nodrop.formatting import describe_traffic, format_goal, format_repeat, format_width
from nodrop.formatting.messages import format_message
from nodrop.model.event import Event, RunDone, SuitePosition, TrialProgress
from nodrop.model.goal import GoalResult
from nodrop.model.run_state import RunState
from nodrop.report.document.goal_statements import format_estimate
from nodrop.report.interval_lines import IntervalLines
from nodrop.units import format_pps, format_ratio, format_seconds

REFRESH_S = 0.25
"""The minimum time between two drawings, which take CPU time from the measurement."""


class LiveProgress:
    """Draws events as they arrive, without a thread or timer, and removes the view at the end."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._state = RunState()
        self._interval_lines = IntervalLines()
        self._start_s = time.monotonic()
        self._refreshed_s = 0.0

    def __enter__(self) -> Self:
        """Start drawing."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the view."""
        self._live.stop()

    def handle(self, event: Event) -> None:
        """Apply an event, and redraw if the last drawing is old enough."""
        self._state = self._state.apply(event)
        for line in self._interval_lines.handle(event):
            self._live.console.print(line)
        now_s = time.monotonic()
        if isinstance(event, RunDone) or (isinstance(event, TrialProgress) and now_s - self._refreshed_s < REFRESH_S):
            return
        self._refreshed_s = now_s
        self._live.update(render_progress(self._state, now_s - self._start_s), refresh=True)


def render_progress(state: RunState, elapsed_s: float) -> RenderableType:
    """Return the running trial, the bounds so far, and the time."""
    return Group(*_render_parts(state, elapsed_s))


def _render_parts(state: RunState, elapsed_s: float) -> Iterator[RenderableType]:
    remaining = _format_remaining(state)
    if state.plan:
        clock = Table.grid(expand=True)
        clock.add_column()
        clock.add_column(justify="right", no_wrap=True)
        what = f"{_format_position(state.position)}{state.plan.lab.sut}, {describe_traffic(state.plan.traffic)}"
        clock.add_row(Text(what, style="bold"), f"{format_seconds(int(elapsed_s))}{remaining}")
        yield clock
        for warning in state.plan.warnings:
            yield Text(warning, style="yellow")
    if state.trial is None:
        yield _render_stage(state)
        return
    yield from _render_trial(state)
    if state.goals:
        yield _render_bounds(state.goals)


def _format_remaining(state: RunState) -> str:
    """Return `, ~12 s left`, or that the run takes longer than it was expected to."""
    if state.is_overdue:
        return ", longer than expected"
    remaining_s = state.remaining_s()
    return "" if remaining_s is None else f", ~{format_seconds(max(1, round(remaining_s)))} left"


def _render_stage(state: RunState) -> RenderableType:
    """Return the progress of the stage before the first trial."""
    progress = state.stage_progress
    if not progress:
        return Text("bringing up the lab, starting the generator, checking the path", style="dim")
    if not progress.count:
        return Text(progress.text, style="dim", overflow="ellipsis", no_wrap=True)
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_row(
        "cloud",
        ProgressBar(total=progress.count, completed=progress.done_count, width=20),
        f"{progress.done_count} of {progress.count}",
        Text(progress.text, style="dim", overflow="ellipsis", no_wrap=True),
    )
    return row


def _format_position(position: SuitePosition | None) -> str:
    """Return the position of the run in its suite: `A 2 of 5, run 3 of 10: `."""
    if not position:
        return ""
    repeat = format_repeat(position.variant, position.repeat, position.repeat_count)
    return f"{repeat}, run {position.text}: " if repeat and repeat != position.text else f"{position.text}: "


def _render_trial(state: RunState) -> Iterator[RenderableType]:
    assert state.trial
    trial, now = state.trial.trial, state.window
    elapsed_s = now.elapsed_s if now else 0.0
    loss_ratio = now.lost_count / now.offered_count if now and now.offered_count else 0.0
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_row(
        f"trial {state.trial.index}",
        Text(format_pps(trial.intended_load_pps), style="bold"),
        ProgressBar(total=trial.duration_s, completed=min(elapsed_s, trial.duration_s), width=20),
        f"{elapsed_s:.1f} of {format_seconds(trial.duration_s)}",
        Text(f"loss {format_ratio(loss_ratio)}", style="yellow" if loss_ratio else ""),
    )
    yield row
    outlook = state.trial.outlook
    for what, text in (
        ("", format_message(trial.reason) or state.trial.phase),
        ("without loss: ", format_message(outlook.if_low_loss)),
        ("with loss: ", format_message(outlook.if_high_loss)),
    ):
        if text:
            yield Text(f"{what}{text}", style="dim", overflow="ellipsis", no_wrap=True)


def _render_bounds(goals: tuple[GoalResult, ...]) -> Table:
    """Return the lower and upper bound of every goal."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for goal_result in goals:
        table.add_row(
            Text(format_goal(goal_result.goal), style="bold"),
            format_pps(goal_result.lower.load_pps) if goal_result.lower else "?",
            "to",
            format_pps(goal_result.upper.load_pps) if goal_result.upper else "?",
            "" if goal_result.estimate_pps is None else f"about {format_estimate(goal_result)}",
            Text(f"width {format_width(goal_result)}", style="dim"),
        )
    return table
