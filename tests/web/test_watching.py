"""A run as its journal tells it: what is known after every event, and after all of them at once."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, make_plan, parts

from nodrop.model.event import Event
from nodrop.run.execute import execute
from nodrop.server.pages.run_presenter import bounds, doing, headline, latencies, numbers, trials
from nodrop.server.pages.run_view import LOG_MAX, Watched
from nodrop.server.rest.event_codec import STATE, encode
from nodrop.server.rest.schemas import RunView, State

QUEUED = RunView(
    id="0" * 32,
    state=State.QUEUED,
    place=3,
    asked={"label": "seen"},
    created_at="2026-01-31T12:00:00+00:00",
    started_at=None,
    ended_at=None,
    exit_code=None,
    error=None,
    run_ids=(),
)
RUNNING = QUEUED.model_copy(update={"state": State.RUNNING, "place": None, "started_at": "2026-01-31T12:00:01+00:00"})
COMPLETE = RUNNING.model_copy(update={"state": State.COMPLETE, "ended_at": "2026-01-31T12:01:00+00:00"})


def told(event: Event) -> tuple[str, dict[str, Any]]:
    """As it comes out of the journal."""
    name, content = encode(event)
    return name, json.loads(json.dumps(content))


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, dict[str, Any]]]:
    listener = Listener()
    execute(make_plan(tmp_path_factory.mktemp("watched")), listener, parts(MILLION))
    return [told(event) for event in listener.events]


def test_everything_a_page_says_can_be_said_after_every_event(events: list[tuple[str, dict[str, Any]]]) -> None:
    seen = Watched(QUEUED)
    assert doing(seen) == "Waits for 2 others in the queue."
    seen.hear(STATE, RUNNING.model_dump(mode="json"))
    heads = []
    for name, content in events:
        seen.hear(name, content)
        heads.append(headline(seen))
        assert doing(seen)
        list(bounds(seen)), list(latencies(seen)), trials(seen), numbers(seen), seen.left_s()
    assert list(dict.fromkeys(heads))[:2] == ["Sets up", "Searches"]
    seen.hear(STATE, COMPLETE.model_dump(mode="json"))
    assert (headline(seen), doing(seen), numbers(seen)) == ("Complete", "", None)


def test_what_was_found_is_what_the_result_has(tmp_path: Path) -> None:
    listener, seen = Listener(), Watched(RUNNING)
    result = execute(make_plan(tmp_path), listener, parts(MILLION))
    for event in listener.events:
        seen.hear(*told(event))
    assert seen.goals == result.goals
    assert [trial.index for trial in seen.trials] == [trial.index for trial in result.trials]
    assert [step.after for step in seen.steps] == [step.after for step in result.steps]
    assert [each["regular"] for each in bounds(seen)] == [found.regular for found in result.goals]


def test_the_log_of_a_long_run_stays_short_and_keeps_its_beginning_and_its_end() -> None:
    seen = Watched(RUNNING)
    for number in range(5 * LOG_MAX):
        seen.hear("Note", {"text": f"note {number}"})
    assert len(seen.log) <= LOG_MAX
    assert seen.log[0].text == "note 0"
    assert seen.log[-1].text == f"note {5 * LOG_MAX - 1}"
