"""NFVbench's endpoints, over workers that measure nothing: words and order of its replies."""

import contextlib
from pathlib import Path

import pytest
import yaml
from tests.api.serving import await_over, await_trial, list_started_runs, serve_app, start
from tests.running import Listener, make_environment, make_plan
from tests.suts import LossFloor

import nodrop
from nodrop import store
from nodrop.cli import main
from nodrop.errors import SearchError
from nodrop.run.execute import execute

JSON = {"Content-Type": "application/json"}
PENDING = "NFVbench run still pending"


def test_the_version_is_told_as_text(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.get("/version")
        assert answer.text == nodrop.__version__
        assert answer.headers["content-type"].startswith("text/html")


def test_echo_gives_the_body_back(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.request("GET", "/echo", json={"nfvbench": "test"})
        assert answer.json() == {"nfvbench": "test"}


def test_without_a_run_there_is_no_status(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        assert client.get("/status").json() == {"error_message": "no pending NFVbench run", "status": "ERROR"}


def test_an_unknown_id_is_not_found_with_status_200(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.get("/status/42cccb7effdc43caa47f722f0ca8ec96")
        assert answer.status_code == 200
        assert answer.json() == {
            "error_message": "results not found",
            "request_id": "42cccb7effdc43caa47f722f0ca8ec96",
            "status": "NOT_FOUND",
        }


def test_a_run_is_pending_and_a_second_one_is_refused_meanwhile(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        started = client.post("/start_run", json={"label": "wait"}).json()
        pending = {"error_message": PENDING, "request_id": started["request_id"], "status": "PENDING"}
        assert started == pending
        assert len(started["request_id"]) == 32
        await_trial(tmp_path, started["request_id"])
        assert client.get("/status").json() == pending
        assert client.get(f"/status/{started['request_id']}").json() == pending
        again = client.post("/start_run", json={"label": "second"})
        assert again.status_code == 200
        assert again.json() == {"error_message": "there is already an NFVbench request running", "status": "ERROR"}
        client.post(f"/api/v1/runs/{started['request_id']}/cancel")
        await_over(client, started["request_id"])
        assert list_started_runs(tmp_path) == ["wait"]


def test_a_failed_run_is_told_as_a_sentence_and_the_next_one_begins(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        for _ in range(2):
            run = client.post("/start_run", json={"label": "fail"}).json()["request_id"]
            await_over(client, run)
            failed = {
                "error_message": "lab: refused by the kernel",
                "request_id": run,
                "status": "ERROR",
            }
            assert client.get("/status").json() == failed
            assert client.get("/status").json()["error_message"] == "no pending NFVbench run"
            assert client.get(f"/status/{run}").json() == failed


@pytest.mark.parametrize(("loss_ratio", "status"), [(0.001, "OK"), (0.1, "ERROR")])
def test_a_search_that_found_a_load_for_one_of_its_goals_has_a_result(
    loss_ratio: float, status: str, tmp_path: Path
) -> None:
    with contextlib.suppress(SearchError):
        execute(make_plan(tmp_path), Listener(), make_environment(LossFloor(1e6, loss_ratio)))
    result = store.load("latest", tmp_path)
    assert [goal.lower is None for goal in result.goals] == [True, status == "ERROR"]
    with serve_app(tmp_path) as client:
        run = client.post("/start_run", json={"label": f"incomplete {result.run_id}"}).json()["request_id"]
        await_over(client, run)
        reply = client.get(f"/status/{run}").json()
    assert reply["status"] == status
    if status == "OK":
        (chain,) = reply["result"]["benchmarks"]["network"]["service_chain"].values()
        measured = chain["result"]["result"]
        assert measured["64"]["pdr"]["rate_pps"] > 0 == measured["64"]["ndr"]["rate_pps"]
        assert "NDR: no load was found that meets it" in measured["warning"]
    else:
        assert reply["error_message"] == "no load meets NDR"


def test_the_end_that_was_told_by_id_is_not_told_again_without_one(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        first, second = start(client, "fail"), start(client, "fail")
        await_over(client, second)
        assert client.get(f"/status/{second}").json()["status"] == "ERROR"
        assert client.get("/status").json()["request_id"] == first
        assert client.get("/status").json()["error_message"] == "no pending NFVbench run"


@pytest.mark.parametrize(("unidir", "bidirectional"), [(True, False), ("false", True), (None, None)])
def test_unidir_of_a_request_is_the_direction_of_the_traffic(
    unidir: object, bidirectional: bool | None, tmp_path: Path
) -> None:
    with serve_app(tmp_path) as client:
        body = {"unidir": unidir, "traffic": {"profile": "traffic_profile_64B"}}
        run = client.post("/start_run", json=body).json()["request_id"]
        expected = {} if bidirectional is None else {"bidirectional": bidirectional}
        assert await_over(client, run)["asked"]["traffic"] == body["traffic"] | expected
        refused = client.post("/start_run", json={"unidir": "left"}).json()
        assert refused == {"status": "ERROR", "error_message": "unidir: should be true or false ('left')"}


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 400, "line 1"),
        (b"", 400, "invalid JSON"),
        (b'{"rate": NaN}', 400, "NaN"),
        (b'{"rate": 1, "rate": 2}', 400, "duplicate"),
        (b'{"duration": 1e999}', 400, "too large"),
        (b"\xff\xfe", 400, "UTF-8"),
        (b"[" * 100_000, 400, "levels"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, 400, "levels"),
        (b"[]", 422, "not a JSON object"),
        (b'"ndr"', 422, "not a JSON object"),
        (b'{"sut": "toaster"}', 422, "toaster"),
        (b'{"flow_cuont": 10}', 422, "flow_count"),
    ],
)
def test_a_body_that_cannot_be_used_is_a_sentence_in_both_forms(
    content: bytes, status: int, message: str, tmp_path: Path
) -> None:
    with serve_app(tmp_path) as client:
        nfvbench = client.post("/start_run", content=content, headers=JSON)
        actual = client.post("/api/v1/runs", content=content, headers=JSON)
        # NFVbench's clients read no message but that of a reply with 200.
        assert (nfvbench.status_code, actual.status_code) == (200 if status == 422 else status, status)
        assert nfvbench.json() == {"status": "ERROR", "error_message": actual.json()["detail"]}
        assert message in actual.json()["detail"]
        assert "Traceback" not in nfvbench.text
        assert client.get("/api/v1/runs").json()["total_count"] == 0


def test_nothing_asked_is_the_default_run(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        for content in (b"{}", b"null"):
            run = client.post("/start_run", content=content, headers=JSON).json()["request_id"]
            assert await_over(client, run)["state"] == "complete"


def test_nfvbenchs_whole_default_configuration_is_a_body_that_names_nothing_of_the_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["config", "default", "--nfvbench"]) == 0
    default = yaml.safe_load(capsys.readouterr().out)
    assert len(default) > 70
    with serve_app(tmp_path) as client:
        answer = client.post("/start_run", json=default)
        assert answer.status_code == 200, answer.text
        assert answer.json()["status"] == "PENDING"


@pytest.mark.parametrize(
    "body",
    [
        {"flow_count": 10000},
        {"flow_count": 10000, "service_chain": "PVVP", "traffic": {"profile": "traffic_profile_IMIX"}},
        {"duration": 5, "rate": "1Mpps"},
        {"restart": True},
        {"no_traffic": True},
        {"rate": "10kpps"},
    ],
)
def test_the_bodies_of_nfvbenchs_manual_are_taken(body: dict[str, object], tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        assert client.post("/start_run", json=body).json()["status"] == "PENDING"
