"""Lines during a fixed-rate trial: one per interval, none twice, and together the entire trial."""

from pathlib import Path

from tests.running import Listener, make_environment, make_plan
from tests.suts import Step

from nodrop.model.event import Event, RunStarted, TrialDone, TrialProgress, TrialStarted
from nodrop.report.interval_lines import IntervalLines
from nodrop.run.execute import execute


def lines_of(tmp_path: Path, progress: list[tuple[float, int, int, int]]) -> list[str]:
    """Return the lines of a run with these progress reports, an interval of one second, and 30 of 3000 frames lost."""
    listener = Listener()
    execute(make_plan(tmp_path, rate="1kpps", duration="3s", interval="1s"), listener, make_environment(Step(990.0)))
    report = [
        TrialProgress(index=0, elapsed_s=elapsed_s, offered_count=offered, received_count=received, lost_count=lost)
        for elapsed_s, offered, received, lost in progress
    ]
    stored = [event for event in listener.events if isinstance(event, RunStarted | TrialStarted | TrialDone)]
    events: list[Event] = [*stored[:2], *report, stored[2]]
    intervals = IntervalLines()
    return [line for event in events for line in intervals.handle(event)]


def test_frames_on_their_way_are_not_dropped_and_the_last_line_has_the_rest(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, [(0.5, 500, 490, 0), (1.0, 1000, 960, 0), (2.0, 2000, 1950, 20)])
    assert [line.strip() for line in lines] == [
        "1.0 s: sent 1,000, received 960, dropped 0 (0 %); since the start 0 of 1,000 dropped",
        "2.0 s: sent 1,000, received 990, dropped 20 (2 %); since the start 20 of 2,000 dropped",
        "3.0 s: sent 1,000, received 1,020, dropped 10 (1 %); since the start 30 of 3,000 dropped",
    ]


def test_after_a_pause_there_is_one_line_for_all_that_was_missed(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, [(2.4, 2400, 2400, 0), (2.45, 2450, 2450, 0), (2.99, 3000, 2970, 30)])
    assert [line.split()[:4] for line in lines] == [["2.4", "s:", "sent", "2,400,"], ["3.0", "s:", "sent", "600,"]]
