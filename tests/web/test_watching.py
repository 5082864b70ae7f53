"""A live run rebuilt from the events of its journal: its texts after every event, and its final state."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_environment, make_plan

from nodrop.formatting.messages import AS_SENTENCES
from nodrop.model.event import Event
from nodrop.model.goal import GoalResult
from nodrop.run.execute import execute
from nodrop.server.pages.run_presenter import (
    describe_activity,
    format_headline,
    get_current_figures,
    list_bounds,
    list_latencies,
    list_trials,
)
from nodrop.server.pages.run_view import LOG_MAX, LiveRun
from nodrop.server.rest.event_codec import encode
from nodrop.server.rest.event_names import STATE
from nodrop.server.rest.schemas import LifecycleState, RunView

pytestmark = pytest.mark.web

QUEUED = RunView(
    id="0" * 32,
    state=LifecycleState.QUEUED,
    place=3,
    asked={"label": "seen"},
    created_at="2026-01-31T12:00:00+00:00",
    started_at=None,
    ended_at=None,
    exit_code=None,
    error=None,
    run_ids=(),
)
RUNNING = QUEUED.model_copy(
    update={"state": LifecycleState.RUNNING, "place": None, "started_at": "2026-01-31T12:00:01+00:00"}
)
COMPLETE = RUNNING.model_copy(update={"state": LifecycleState.COMPLETE, "ended_at": "2026-01-31T12:01:00+00:00"})


def journaled(event: Event) -> tuple[str, dict[str, Any]]:
    """Return an event as read from the journal."""
    name, content = encode(event)
    return name, json.loads(json.dumps(content))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, dict[str, Any]]]:
    listener = Listener()
    execute(make_plan(tmp_path_factory.mktemp("watched")), listener, make_environment(MILLION))
    return [journaled(event) for event in listener.events]


def test_everything_a_page_says_can_be_said_after_every_event(events: list[tuple[str, dict[str, Any]]]) -> None:
    live = LiveRun(QUEUED)
    assert describe_activity(live) == "Waiting for 2 runs ahead in the queue."
    live.handle(STATE, RUNNING.model_dump(mode="json"))
    headlines = []
    for name, content in events:
        live.handle(name, content)
        headlines.append(format_headline(live))
        assert describe_activity(live)
        (
            list(list_bounds(live)),
            list(list_latencies(live)),
            list_trials(live),
            get_current_figures(live),
            live.remaining_s(),
        )
    assert list(dict.fromkeys(headlines))[:2] == ["Setting up", "Searching"]
    live.handle(STATE, COMPLETE.model_dump(mode="json"))
    assert (format_headline(live), describe_activity(live), get_current_figures(live)) == ("Complete", "", None)


def with_sentences(goal: GoalResult) -> dict[str, Any]:
    return goal.model_dump(mode="json", context=AS_SENTENCES)


def test_what_was_found_is_what_the_result_has(tmp_path: Path) -> None:
    listener, live = Listener(), LiveRun(RUNNING)
    result = execute(make_plan(tmp_path), listener, make_environment(MILLION))
    for event in listener.events:
        live.handle(*journaled(event))
    assert [with_sentences(goal) for goal in live.state.goals] == [with_sentences(goal) for goal in result.goals]
    assert [trial.index for trial in live.state.trials] == [trial.index for trial in result.trials]
    assert [step.after for step in live.decisions] == [step.after for step in result.steps]
    assert [each["regular"] for each in list_bounds(live)] == [goal.regular for goal in result.goals]


def test_the_log_of_a_long_run_stays_short_and_keeps_its_beginning_and_its_end() -> None:
    live = LiveRun(RUNNING)
    for number in range(5 * LOG_MAX):
        live.handle("Note", {"text": f"note {number}"})
    assert len(live.log) <= LOG_MAX
    assert live.log[0].text == "note 0"
    assert live.log[-1].text == f"note {5 * LOG_MAX - 1}"
