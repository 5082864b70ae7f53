"""The queue: one run at a time, each in its own worker, with its state on disk."""

import errno
import json
import os
import signal
from pathlib import Path

from tests.api.serving import await_over, await_state, await_trial, list_started_runs, serve_app, start
from tests.waiting import await_true


def test_a_run_is_queued_carried_out_and_over(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.post("/api/v1/runs", json={"label": "plain"})
        assert answer.status_code == 202
        created = answer.json()
        assert answer.headers["location"] == f"/api/v1/runs/{created['id']}"
        assert (created["state"], created["asked"]) == ("queued", {"label": "plain"})
        over = await_over(client, created["id"])
        assert (over["state"], over["exit_code"], over["error"], over["place"]) == ("complete", 0, None, None)
        assert over["created_at"] <= over["started_at"] <= over["ended_at"]


def test_one_run_goes_on_at_a_time_and_the_others_know_their_place(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        first = start(client, "wait")
        await_trial(tmp_path, first)
        second, third = start(client, "second"), start(client, "third")
        places = [client.get(f"/api/v1/runs/{run}").json()["place"] for run in (first, second, third)]
        assert places == [None, 1, 2]
        assert list_started_runs(tmp_path) == ["wait"]
        client.post(f"/api/v1/runs/{first}/cancel")
        await_over(client, third)
        assert list_started_runs(tmp_path) == ["wait", "second", "third"]


def test_a_run_states_which_run_it_waits_for(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "blocked")
        await_true(lambda: bool(client.get(f"/api/v1/runs/{run}").json()["waiting"]), lambda: "the run does not wait")
        blocked = client.get(f"/api/v1/runs/{run}").json()
        assert blocked["state"] == "running"
        assert blocked["waiting"] == {
            "run_id": "20260131T120000Z-abcdef",
            "user": "alice",
            "process_id": 4711,
            "since": "2026-01-31T12:00:00Z",
            "resource": "CPU 0",
            "remaining_s": None,
        }
        queued = client.get(f"/api/v1/runs/{start(client, 'next')}").json()
        assert (queued["state"], queued["place"]) == ("queued", 1)
        assert queued["waiting"]["since"] == blocked["started_at"]
        client.post(f"/api/v1/runs/{run}/cancel")
        over = await_over(client, run)
        assert (over["state"], over["waiting"]) == ("cancelled", None)


def test_a_run_that_goes_on_is_cancelled_by_an_interrupt(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "wait")
        await_trial(tmp_path, run)
        assert client.post(f"/api/v1/runs/{run}/cancel").status_code == 202
        over = await_over(client, run)
        assert (over["state"], over["exit_code"], over["error"]) == ("cancelled", 130, "cancelled")


def test_a_worker_that_heeds_no_signal_is_killed(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "stubborn")
        await_trial(tmp_path, run)
        client.post(f"/api/v1/runs/{run}/cancel")
        assert await_over(client, run)["state"] == "cancelled"
        pid = int((tmp_path / "begun").read_text().split()[1])
        assert not Path(f"/proc/{pid}").exists()


def test_a_run_that_waits_is_cancelled_without_having_begun(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        first = start(client, "wait")
        await_state(client, first, "running")
        second = start(client, "second")
        assert client.post(f"/api/v1/runs/{second}/cancel").json()["state"] == "cancelled"
        client.post(f"/api/v1/runs/{first}/cancel")
        await_over(client, first)
        assert "second" not in list_started_runs(tmp_path)


def test_a_run_that_is_over_cannot_be_cancelled(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "plain")
        await_over(client, run)
        answer = client.post(f"/api/v1/runs/{run}/cancel")
        assert answer.status_code == 409
        assert "already over" in answer.json()["detail"]


def test_a_crash_is_one_failed_run_and_the_next_one_works(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        crashed, garbled, failed, fine = (start(client, label) for label in ("crash", "garbage", "fail", "fine"))
        assert await_over(client, fine)["state"] == "complete"
        over = await_over(client, crashed)
        assert (over["state"], over["exit_code"]) == ("failed", 1)
        assert "SIGKILL" in over["error"]
        assert Path(over["error"].rpartition(" ")[2]).read_text() == "about to fall\n"
        assert await_over(client, garbled)["state"] == "failed"
        report = await_over(client, failed)
        assert (report["exit_code"], report["error"]) == (3, "lab: refused by the kernel")


def test_a_worker_that_cannot_be_started_is_a_failed_run(tmp_path: Path) -> None:
    from tests.api import serving as module

    before = module.WORKER
    module.WORKER = (str(tmp_path / "no-such-program"),)
    try:
        with serve_app(tmp_path) as client:
            over = await_over(client, start(client, "plain"))
            assert over["state"] == "failed"
            assert os.strerror(errno.ENOENT) in over["error"]
    finally:
        module.WORKER = before


def test_runs_are_listed_newest_first_page_by_page(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        started = [start(client, f"number{number}") for number in range(5)]
        listed, before = [], None
        while True:
            page = client.get("/api/v1/runs", params={"limit": 2} | ({"before": before} if before else {})).json()
            assert page["total_count"] == 5
            listed += [run["id"] for run in page["runs"]]
            before = page["next"]
            if before is None:
                break
        assert listed == started[::-1]


def test_a_server_that_is_started_again_knows_its_runs_and_goes_on_with_the_queue(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        done = start(client, "plain")
        await_over(client, done)
        stopped = start(client, "wait")
        await_trial(tmp_path, stopped)
        waiting = start(client, "second")
    with serve_app(tmp_path) as client:
        assert client.get(f"/api/v1/runs/{done}").json()["state"] == "complete"
        interrupted = client.get(f"/api/v1/runs/{stopped}").json()
        assert interrupted["state"] == "interrupted"
        assert "server was stopped" in interrupted["error"]
        assert await_over(client, waiting)["state"] == "complete"


def test_a_run_that_a_killed_server_left_is_interrupted_and_its_torn_event_dropped(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "plain")
        await_over(client, run)
    directory = tmp_path / "server" / run
    entry = json.loads((directory / "run.json").read_text())
    (directory / "run.json").write_text(json.dumps(entry | {"state": "running", "ended_at": None, "exit_code": None}))
    with (directory / "events.jsonl").open("a") as file:
        file.write('{"event": "TrialDone", "da')
    with serve_app(tmp_path) as client:
        result = client.get(f"/api/v1/runs/{run}").json()
        assert (result["state"], result["exit_code"]) == ("interrupted", 130)
        events = client.get(f"/api/v1/runs/{run}/events").text
        assert "TrialDone" not in events
        assert json.loads(events.strip().splitlines()[-1].removeprefix("data: "))["state"] == "interrupted"


def test_what_is_no_run_in_the_journal_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "server" / ("0" * 32)).mkdir(parents=True)
    (tmp_path / "server" / ("0" * 32) / "run.json").write_text("{}")
    (tmp_path / "server" / "notes").mkdir()
    (tmp_path / "server" / "notes" / "run.json").write_text("{}")
    with serve_app(tmp_path) as client:
        assert client.get("/api/v1/runs").json()["total_count"] == 0


def test_the_worker_has_a_session_of_its_own(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        run = start(client, "wait")
        await_trial(tmp_path, run)
        pid = int((tmp_path / "begun").read_text().split()[1])
        assert os.getsid(pid) == pid
        os.kill(pid, signal.SIGKILL)
        assert await_over(client, run)["state"] == "failed"


def test_a_results_directory_that_cannot_be_written_refuses_runs_and_does_not_stop_the_server(tmp_path: Path) -> None:
    results = tmp_path / "results"
    with serve_app(results) as client:
        (results / "server").rename(tmp_path / "away")
        (results / "server").write_text("in the way")
        assert client.post("/api/v1/runs", json={"label": "plain"}).status_code == 500
        assert client.get("/api/v1/runs").json()["total_count"] == 0
        (results / "server").unlink()
        (tmp_path / "away").rename(results / "server")
        assert await_over(client, start(client, "plain"))["state"] == "complete"
