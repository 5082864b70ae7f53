"""Events of a run: streamed live, from any position on, to nodrop and to any reader of the standard."""

import json
import threading
from pathlib import Path
from typing import Any

from tests.api.serving import await_over, await_trial, serve_app, start
from tests.running import Listener, make_environment, make_plan

from nodrop.formatting.messages import AS_SENTENCES
from nodrop.model.base import Value
from nodrop.model.event import RunDone, TrialDone
from nodrop.run.execute import execute
from nodrop.server.rest.event_codec import decode, encode
from nodrop.server.rest.sse import parse_events


def test_events_begin_with_the_queue_and_end_with_the_run(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "plain")
        answer = client.get(f"/api/v1/runs/{run}/events")
        assert answer.headers["content-type"].startswith("text/event-stream")
        report = list(parse_events(answer.text.splitlines(keepends=True)))
        assert [event.number for event in report] == list(range(1, len(report) + 1))
        states = [event.content["state"] for event in report if event.name == "State"]
        assert states == ["queued", "running", "complete"]
        assert [event.content["index"] for event in report if event.name == "TrialProgress"] == [0, 1, 2]
        assert report[-1].content == client.get(f"/api/v1/runs/{run}").json()


def test_who_heard_some_events_hears_the_others(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "plain")
        await_over(client, run)
        every = list(parse_events(client.get(f"/api/v1/runs/{run}/events").text.splitlines(keepends=True)))
        for after in (0, 1, len(every) - 1):
            answer = client.get(f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": str(after)})
            assert list(parse_events(answer.text.splitlines(keepends=True))) == every[after:]
        end = client.get(f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": str(len(every))})
        assert (end.status_code, end.content) == (204, b"")


def test_events_are_heard_while_the_run_goes_on(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "wait")
        await_trial(tmp_path, run)
        ender = threading.Timer(0.5, lambda: client.post(f"/api/v1/runs/{run}/cancel"))
        ender.start()
        report = list(parse_events(client.get(f"/api/v1/runs/{run}/events").text.splitlines(keepends=True)))
        ender.join()
        assert report[-1].content["state"] == "cancelled"


def test_what_is_no_number_of_an_event_is_refused(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "plain")
        for number in ("one", "-1", "1.5", "9" * 40):
            answer = client.get(f"/api/v1/runs/{run}/events", headers={"Last-Event-ID": number})
            assert answer.status_code == 422


def with_sentences(value: Value) -> dict[str, Any]:
    """Return the content of a value with messages as sentences, the form of the API."""
    return value.model_dump(mode="json", context=AS_SENTENCES)


def test_events_of_a_real_run_come_through_whole_but_for_time_series(tmp_path: Path) -> None:
    listener = Listener()
    execute(make_plan(tmp_path), listener, make_environment())
    for event in listener.events:
        name, content = encode(event)
        back = decode(name, json.loads(json.dumps(content, allow_nan=False)))
        if isinstance(event, RunDone):
            assert back is None
            assert content == {"run_id": event.result.run_id, "status": "complete", "error": None}
        elif isinstance(event, TrialDone):
            assert isinstance(back, TrialDone)
            assert back.result.windows.end_s == ()
            result = back.result.model_copy(update={"windows": event.result.windows})
            assert with_sentences(result) == with_sentences(event.result)
        else:
            assert back is not None
            assert with_sentences(back) == with_sentences(event)
