"""Progress for a terminal: one small picture, drawn over at most four times a second."""

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
from nodrop.report.interval_lines import Intervals
from nodrop.units import format_pps, format_ratio, format_seconds

REFRESH_S = 0.25
"""Drawing takes CPU time that the measurement may want."""


class LiveProgress:
    """Draws from the events as they come, on no thread and no timer of its own; leaves nothing behind."""

    def __init__(self, console: Console) -> None:
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._state = RunState()
        self._intervals = Intervals()
        self._start_s = time.monotonic()
        self._drawn_s = 0.0

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the picture away."""
        self._live.stop()

    def hear(self, event: Event) -> None:
        """Take in what happened, and draw it if the last picture is old enough."""
        self._state = self._state.apply(event)
        for line in self._intervals.hear(event):
            self._live.console.print(line)
        now_s = time.monotonic()
        if isinstance(event, RunDone) or (isinstance(event, TrialProgress) and now_s - self._drawn_s < REFRESH_S):
            return
        self._drawn_s = now_s
        self._live.update(picture(self._state, now_s - self._start_s), refresh=True)


def picture(state: RunState, elapsed_s: float) -> RenderableType:
    """The running trial, the bounds so far, the time."""
    return Group(*_lines(state, elapsed_s))


def _lines(state: RunState, elapsed_s: float) -> Iterator[RenderableType]:
    left_s = state.remaining_s()
    left = f", ~{format_seconds(round(left_s))} left" if left_s is not None else ""
    if state.plan:
        clock = Table.grid(expand=True)
        clock.add_column()
        clock.add_column(justify="right", no_wrap=True)
        what = f"{_place_text(state.position)}{state.plan.lab.sut}, {describe_traffic(state.plan.traffic)}"
        clock.add_row(Text(what, style="bold"), f"{format_seconds(int(elapsed_s))}{left}")
        yield clock
    if state.trial is None:
        yield _staging(state)
        return
    yield from _trial(state)
    if state.goals:
        yield _bounds(state.goals)


def _staging(state: RunState) -> RenderableType:
    """How far the stage is, or what comes before the first trial."""
    staging = state.stage_progress
    if not staging:
        return Text("bringing up the lab, starting the generator, checking the path", style="dim")
    if not staging.count:
        return Text(staging.text, style="dim", overflow="ellipsis", no_wrap=True)
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_row(
        "cloud",
        ProgressBar(total=staging.count, completed=staging.done_count, width=20),
        f"{staging.done_count} of {staging.count}",
        Text(staging.text, style="dim", overflow="ellipsis", no_wrap=True),
    )
    return row


def _place_text(place: SuitePosition | None) -> str:
    """Which run it is: `A 2 of 5, run 3 of 10: `."""
    if not place:
        return ""
    turn = format_repeat(place.variant, place.repeat, place.repeat_count)
    number = f"{place.number} of {place.count}"
    return f"{turn}, run {number}: " if turn and turn != number else f"{number}: "


def _trial(state: RunState) -> Iterator[RenderableType]:
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


def _bounds(goals: tuple[GoalResult, ...]) -> Table:
    """Lower and upper bound of every goal, closing in."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for found in goals:
        table.add_row(
            Text(format_goal(found.goal), style="bold"),
            format_pps(found.lower.load_pps) if found.lower else "?",
            "to",
            format_pps(found.upper.load_pps) if found.upper else "?",
            "" if found.estimate_pps is None else f"about {format_estimate(found)}",
            Text(f"width {format_width(found)}", style="dim"),
        )
    return table
