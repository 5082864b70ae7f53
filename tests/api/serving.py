"""Servers for tests: one in this process over workers that measure nothing, and the real one, `nodrop serve`."""

import contextlib
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fastapi.testclient import TestClient
from tests.waiting import await_true, stretch

from nodrop.server.rest.app import make_app
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.run_queue import RunQueue, StopTimeouts
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.tokens import Tokens

NODROP = str(Path(sys.executable).with_name("nodrop"))
"""The installed command, as users start the server."""
WORKER = (sys.executable, str(Path(__file__).with_name("worker.py")))
WITHIN_S = stretch(20.0)
QUICK = """
duration: 0.5s
search: {initial_trial_duration: 0.1s, final_trial_duration: 0.2s, width: 30%, max_load: 20kpps}
latency: {enabled: false}
engine: {catch_up: 60s}
"""
"""A base configuration for runs of seconds, which send every frame also beside other work."""


@contextlib.contextmanager
def serve_app(results_dir: Path, tokens: Tokens | None = None, host: str = "127.0.0.1") -> Iterator[TestClient]:
    """Serve the application over workers that behave as the label of a request states."""
    base = ServerConfig(results_dir=str(results_dir))
    with Journal(results_dir) as journal:
        runs = RunQueue(journal, base, WORKER, StopTimeouts(after_interrupt_s=0.5, after_terminate_s=0.5))
        runs.resume()
        with TestClient(make_app(runs, base, tokens, host), base_url=f"http://{host}") as client:
            yield client


def list_started_runs(results_dir: Path) -> list[str]:
    """Return the labels of the runs whose worker began, in order."""
    file = results_dir / "begun"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


def start(client: TestClient, label: str) -> str:
    answer = client.post("/api/v1/runs", json={"label": label})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def await_state(client: TestClient, run_id: str, *states: str) -> dict[str, Any]:
    result: dict[str, Any] = {}

    def reached() -> bool:
        result.update(client.get(f"/api/v1/runs/{run_id}").json())
        return result["state"] in states

    await_true(reached, lambda: f"{result} is not {states}")
    return result


def await_over(client: TestClient, run_id: str) -> dict[str, Any]:
    return await_state(client, run_id, "complete", "failed", "cancelled", "interrupted")


def await_trial(results_dir: Path, run_id: str) -> None:
    """Wait until the worker of a run handles signals."""
    events = results_dir / "server" / run_id / "events.jsonl"
    await_true(lambda: "TrialProgress" in events.read_text(), lambda: "no trial began")


class Server(NamedTuple):
    """A running `nodrop serve`."""

    process: subprocess.Popen[str]
    url: str
    results_dir: Path

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}{path}", timeout=WITHIN_S) as answer:
            return json.loads(answer.read())

    def post(self, path: str, body: Any) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=WITHIN_S) as answer:
            return json.loads(answer.read())

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=stretch(40))


@contextlib.contextmanager
def run_server(directory: Path, *flags: str, config: str = QUICK) -> Iterator[Server]:
    """Run `nodrop serve` on a free port of loopback."""
    (directory / "base.yaml").write_text(config)
    results = directory / "results"
    command = (NODROP, "serve", "--port", "0", "-c", str(directory / "base.yaml"))
    process = subprocess.Popen(
        [*command, "--results-dir", str(results), *flags], stdout=subprocess.PIPE, text=True, cwd=directory
    )
    try:
        assert process.stdout
        line = process.stdout.readline()
        assert "http://" in line, f"{line!r}, exit status {process.poll()}"
        yield Server(process, line.split()[2].rstrip(","), results)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=stretch(40))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout:
            process.stdout.close()
