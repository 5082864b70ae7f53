"""The real `nodrop serve`: a separate process, real runs, curl, kill -9."""

import json
import os
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.api.serving import Server, run_server
from tests.waiting import await_true, stretch

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

LONG = {"rate": "1kpps", "duration": "60s"}
"""A run that ends by itself after every test; a search may end early on a disturbed machine."""
Curl = Callable[[str], str]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with run_server(tmp_path) as running:
        yield running


@pytest.fixture
def curl(server: Server, require_tool: Callable[[str], Path]) -> Curl:
    """Run a command line of NFVbench's manual, with another host and port."""
    program = require_tool("curl")

    def run(line: str) -> str:
        for host in ("http://127.0.0.1:7555", "127.0.0.1:7555", "localhost:7556"):
            line = line.replace(host, server.url)
        words = shlex.split(line)
        assert words[0] == "curl"
        done = subprocess.run(
            [program, "-s", *words[1:]],
            capture_output=True,
            text=True,
            timeout=stretch(30),
            check=True,
            cwd=server.results_dir.parent,
        )
        return done.stdout

    return run


def client(server: Server, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodrop", "client", "--url", server.url, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=stretch(90), check=False, **more)


def poll(curl: Curl, line: str) -> dict[str, Any]:
    """Poll as the manual does: until the request is no longer pending."""

    def find_report() -> dict[str, Any] | None:
        report: dict[str, Any] = json.loads(curl(line))
        if report["status"] != "PENDING":
            return report
        assert report["error_message"] == "NFVbench run still pending"
        return None

    report = await_true(find_report, "the request is done")
    assert report
    return report


def test_the_sessions_of_nfvbenchs_manual_end_in_the_replies_they_show(server: Server, curl: Curl) -> None:
    assert curl("curl -G http://127.0.0.1:7555/version").count(".") == 2
    echoed = curl("""curl -XGET '127.0.0.1:7555/echo' -H "Content-Type: application/json" -d '{"nfvbench": "test"}'""")
    assert echoed == '{\n  "nfvbench": "test"\n}\n'

    begin = (
        'curl -H "Accept: application/json" -H "Content-type: application/json" -X POST -d '
        """'{"rate": "10kpps"}' http://127.0.0.1:7555/start_run"""
    )
    started = json.loads(curl(begin))
    assert {key: started[key] for key in ("error_message", "status")} == {
        "error_message": "NFVbench run still pending",
        "status": "PENDING",
    }
    assert json.loads(curl("curl -G http://127.0.0.1:7555/status"))["status"] == "PENDING"
    busy = json.loads(curl(begin))
    assert busy == {"error_message": "there is already an NFVbench request running", "status": "ERROR"}
    report = poll(curl, "curl -G http://127.0.0.1:7555/status")
    assert report["status"] == "OK", report
    result = report["result"]["benchmarks"]["network"]["service_chain"]["PVP"]["result"]
    assert result["bidirectional"] is True
    assert result["result"]["64"]["run_config"]["direction-total"]["orig"]["rate_pps"] == pytest.approx(10_000)
    again = json.loads(curl(f"curl -G http://127.0.0.1:7555/status/{started['request_id']}"))
    assert again == report
    assert json.loads(curl("curl -G http://127.0.0.1:7555/status"))["error_message"] == "no pending NFVbench run"

    no_traffic = (
        'curl -H "Accept: application/json" -H "Content-type: application/json" -X POST -d '
        """'{"no_traffic":true}' http://127.0.0.1:7555/start_run"""
    )
    assert json.loads(curl(no_traffic))["status"] == "PENDING"
    report = poll(curl, "curl -G http://127.0.0.1:7555/status")
    assert report["status"] == "OK", report

    (server.results_dir.parent / "nfvbenchconfig.json").write_text(
        '{"flow_count": 10000, "duration": 1, "rate": "1kpps"}'
    )
    from_file = """curl -XPOST 'localhost:7556/start_run' -H "Content-Type: application/json" -d @nfvbenchconfig.json"""
    assert json.loads(curl(from_file))["status"] == "PENDING"
    assert poll(curl, "curl -G http://127.0.0.1:7555/status")["status"] == "OK"


def test_the_client_follows_a_run_and_ends_with_its_exit_code(server: Server) -> None:
    ran = client(server, "run", "--set", "rate=5kpps", "--set", "duration=0.3s")
    assert ran.returncode == 0, ran.stderr
    assert "path checked" in ran.stdout
    assert "trial 0: 5.000 kpps" in ran.stdout
    assert "complete" in ran.stdout
    run = server.get("/api/v1/runs")["runs"][0]
    assert (run["state"], run["exit_code"]) == ("complete", 0)
    result = json.loads(client(server, "result", run["id"]).stdout)
    assert [result["run_id"]] == run["run_ids"]
    assert result == json.loads((server.results_dir / run["run_ids"][0] / "result.json").read_text())
    (trial,) = server.get(f"/api/v1/runs/{run['id']}/chains")["trials"]
    streams = result["trials"][0]["streams"]
    for key in ("offered_count", "received_count", "lost_count"):
        assert [way[key] for way in trial["chains"]] == [stream[key] for stream in streams]
    assert "complete" in client(server, "result", run["id"], "--format", "text").stdout
    assert client(server, "result", run["id"], "--format", "markdown").stdout.startswith("# NFVBench Summary")
    assert client(server, "status").stdout.startswith(run["id"])
    for name in ("latest", run["id"][-6:]):
        assert json.loads(client(server, "result", name).stdout) == result
        assert client(server, "status", name).stdout.startswith(run["id"])
    many = client(server, "status", "latest~400")
    assert many.returncode == 2
    assert "see 'nodrop client list'" in many.stderr
    metrics = client_text(server, "/metrics")
    assert metrics.endswith("# EOF\n")
    assert "nodrop_" in metrics


def client_text(server: Server, path: str) -> str:
    with urllib.request.urlopen(f"{server.url}{path}", timeout=stretch(20)) as answer:
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        return str(answer.read().decode())


def test_several_frame_sizes_are_one_run_with_a_result_each(server: Server) -> None:
    ran = client(server, "run", "--set", "rate=5kpps", "--set", "duration=0.2s", "--set", "frame_sizes=[64, 1518]")
    assert ran.returncode == 0, ran.stderr
    run = server.get("/api/v1/runs")["runs"][0]
    assert len(run["run_ids"]) == 2
    large = json.loads(client(server, "result", run["id"], "--frame-size", "1518").stdout)
    assert large["plan"]["frame_size"] == "1518"
    which = client(server, "result", run["id"])
    assert which.returncode == 2
    assert "frame_size=1518" in which.stderr
    nfvbench = json.loads(client(server, "result", run["id"], "--format", "nfvbench").stdout)
    result = nfvbench["benchmarks"]["network"]["service_chain"]["PVP"]["result"]["result"]
    assert {"64", "1518"} <= set(result)


def test_a_run_that_is_cancelled_leaves_the_lab_clean_and_the_next_one_works(server: Server) -> None:
    run = server.post("/api/v1/runs", LONG)["id"]
    await_event(server, run, "TrialStarted")
    worker = worker_of(server)
    inside = descendants(worker)
    assert client(server, "cancel", run).returncode == 0
    followed = client(server, "events", run)
    assert followed.returncode == 130
    assert "cancelled" in followed.stderr
    assert server.get(f"/api/v1/runs/{run}")["state"] == "cancelled"
    await_gone({worker, *inside})
    stored = json.loads(client(server, "result", run).stdout)
    assert stored["status"] == "interrupted"
    assert client(server, "run", "-q", "--set", "rate=5kpps", "--set", "duration=0.2s").returncode == 0


def test_a_worker_that_is_killed_is_one_failed_run_and_the_lab_is_gone(server: Server) -> None:
    run = server.post("/api/v1/runs", LONG)["id"]
    await_event(server, run, "TrialStarted")
    worker = worker_of(server)
    inside = descendants(worker)
    assert len(inside) >= 2
    os.kill(worker, signal.SIGKILL)
    followed = client(server, "events", run)
    assert followed.returncode == 1
    assert "SIGKILL" in followed.stderr
    await_gone({worker, *inside})
    assert client(server, "run", "-q", "--set", "rate=5kpps", "--set", "duration=0.2s").returncode == 0


def test_a_server_that_is_killed_takes_its_worker_and_the_lab_along(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        run = server.post("/api/v1/runs", LONG)["id"]
        await_event(server, run, "TrialStarted")
        worker = worker_of(server)
        inside = descendants(worker)
        server.process.kill()
        server.process.wait(timeout=stretch(10))
        await_gone({worker, *inside})
    with run_server(tmp_path) as server:
        result = server.get(f"/api/v1/runs/{run}")
        assert (result["state"], result["error"]) == ("interrupted", "the server ended during this run")


def test_a_server_that_is_stopped_ends_its_run_and_keeps_what_was_measured(tmp_path: Path) -> None:
    with run_server(tmp_path) as server:
        run = server.post("/api/v1/runs", LONG)["id"]
        await_event(server, run, "TrialStarted")
        worker = worker_of(server)
        assert server.stop() == 0
        await_gone({worker})
    with run_server(tmp_path) as server:
        result = server.get(f"/api/v1/runs/{run}")
        assert result["state"] == "interrupted"
        assert len(result["run_ids"]) == 1


def test_a_renderer_that_stands_still_delays_charts_only(server: Server) -> None:
    run = server.post("/api/v1/runs", LONG)["id"]
    await_event(server, run, "RunStarted")
    worker = worker_of(server)
    assert [*server.get(f"/runs/{run}/charts")] == ["rate", "loss"]
    (renderer,) = children_of(server) - {worker}
    os.kill(renderer, signal.SIGSTOP)
    with ThreadPoolExecutor(1) as thread:
        request = thread.submit(server.get, f"/runs/{run}/charts?theme=dark")
        for _ in range(10):
            assert server.get("/health")["running"] == run
        assert not request.done()
        os.kill(renderer, signal.SIGKILL)
        with pytest.raises(urllib.error.HTTPError) as refused:
            request.result()
        assert refused.value.code == 503
    assert [*server.get(f"/runs/{run}/charts?theme=dark")] == ["rate", "loss"]
    renderers = children_of(server) - {worker}
    server.process.kill()
    server.process.wait(timeout=stretch(10))
    await_gone(renderers)


def test_without_a_server_the_client_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodrop", "client", "--url", "http://127.0.0.1:9", "list"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(30), check=False, cwd=tmp_path)
    assert done.returncode == 6
    assert "cannot connect to" in done.stderr


def test_what_the_server_refuses_the_client_says_with_exit_code_2(server: Server) -> None:
    refused = client(server, "run", "--set", "results_dir=/etc")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "results_dir" in refused.stderr
    assert client(server, "run", "--set", "flow_cuont=1").returncode == 2
    assert client(server, "status", "0" * 32).returncode == 2
    assert server.get("/api/v1/runs")["total_count"] == 0


def worker_of(server: Server) -> int:
    (worker,) = children_of(server)
    return worker


def children_of(server: Server) -> set[int]:
    return {pid for pid, parent in parents().items() if parent == server.process.pid}


def descendants(pid: int) -> set[int]:
    result, relations = {pid}, parents()
    while more := {child for child, parent in relations.items() if parent in result} - result:
        result |= more
    return result - {pid}


def parents() -> dict[int, int]:
    result = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            result[int(directory.name)] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    return result


def await_gone(pids: set[int]) -> None:
    def left() -> set[int]:
        return {pid for pid in pids if Path(f"/proc/{pid}").exists()}

    await_true(lambda: not left(), lambda: f"still there: {left()}")


def await_event(server: Server, run: str, name: str) -> None:
    events = server.results_dir / "server" / run / "events.jsonl"
    await_true(lambda: f'"event": "{name}"' in events.read_text(), lambda: f"no {name}")
