"""The clients of xtesting: they send what NFVbench's features send, and read replies as those do."""

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.api.serving import WITHIN_S, Server, run_server
from tests.waiting import await_true

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

CAPACITY_PPS, QUEUE_FRAMES = 4_000, 400
TRIAL_S = 0.2
CONFIG = f"""
sut: vnf-l2
vnf: {{capacity: {CAPACITY_PPS}pps, buffer: {QUEUE_FRAMES}}}
search: {{initial_trial_duration: 0.1s, final_trial_duration: {TRIAL_S}s, width: 30%, max_load: 20kpps,
         disturbed_time: count}}
latency: {{enabled: false}}
engine: {{catch_up: 60s}}
"""
ALWAYS = {"frame_sizes": ["64"], "flow_count": "128", "duration_sec": "0.5"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with run_server(tmp_path_factory.mktemp("server"), config=CONFIG) as running:
        find_folder(running).mkdir()
        yield running


def find_folder(server: Server) -> Path:
    """Return the folder in which the client asks for files: the server could write there, and does not."""
    return server.results_dir.parent / "xtesting"


def run_as_client(server: Server, **keys: object) -> dict[str, Any]:
    """Start a run and poll `/status` without an id until its result comes."""
    assert server.get("/status")["error_message"] == "no pending NFVbench run"
    files = {"log_file": f"{find_folder(server)}/nfvbench.log", "json": f"{find_folder(server)}/nfvbench-fs_64.json"}
    content = json.dumps(ALWAYS | files | keys).encode()
    request = urllib.request.Request(f"{server.url}/start_run", content, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=WITHIN_S) as reply:
        assert reply.status == 200
        assert json.loads(reply.read())["request_id"]

    def find_result() -> dict[str, Any] | None:
        status: dict[str, Any] = server.get("/status")
        return status if status["status"] in ("OK", "ERROR") else None

    result = await_true(find_result, "the run is over")
    assert result and result["status"] == "OK", result
    return result


def find_first(content: Any, key: str) -> Any:
    """Return the first value of a key at any depth, as the features find theirs; None without one."""
    if isinstance(content, dict):
        if key in content:
            return content[key]
        content = list(content.values())
    if isinstance(content, list):
        return next((found for part in content if (found := find_first(part, key)) is not None), None)
    return None


def test_a_quick_test_of_text_values_gives_its_rate(server: Server) -> None:
    result = run_as_client(server, restart="true", no_cleanup="true", label="night", rate="2kpps")
    assert find_first(result, "total_tx_rate") == pytest.approx(2_000)
    assert find_first(find_first(result, "overall"), "avg_delay_usec") > 0
    assert result["result"]["config"]["flow_count"] == 128
    assert not list(find_folder(server).iterdir())


def test_a_characterization_finds_a_rate_of_which_a_share_is_sent_next(server: Server) -> None:
    most = find_first(run_as_client(server, rate="ndr"), "total_tx_rate")
    assert 0 < most <= CAPACITY_PPS + QUEUE_FRAMES / TRIAL_S
    share = find_first(run_as_client(server, rate=f"{int(0.7 * most)}pps"), "total_tx_rate")
    assert share == pytest.approx(0.7 * most, rel=0.01)
