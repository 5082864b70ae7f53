"""Views of finished runs, from results as a run stores them."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from tests.api.serving import await_over, serve_app, start
from tests.running import Listener, make_environment, make_plan

from nodrop.run.execute import execute
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.schemas import LifecycleState, RunEntry

ONE, TWO, NONE, AGAIN = "1" * 32, "2" * 32, "3" * 32, "4" * 32


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Serve one run with a result, one with two frame sizes, one without a result, one with two repeats."""
    directory = tmp_path_factory.mktemp("results")
    created = [
        execute(make_plan(directory, frame_sizes=[size], chains=2), Listener(), make_environment()).run_id
        for size in (64, 1518)
    ]
    again = [
        execute(
            make_plan(directory, repeat=2).model_copy(update={"repeat": repeat}), Listener(), make_environment()
        ).run_id
        for repeat in (1, 2)
    ]
    journal = Journal(directory)
    for order, (run_id, result_ids) in enumerate({AGAIN: again, ONE: created[:1], TWO: created, NONE: []}.items()):
        state = LifecycleState.COMPLETE if result_ids else LifecycleState.FAILED
        entry = RunEntry(
            id=run_id, state=state, asked={}, created_at=f"2026-01-31T12:00:0{order}", run_ids=tuple(result_ids)
        )
        journal.save(entry.model_copy(update={"error": None if result_ids else "lab: not available"}))
    with serve_app(directory) as served:
        yield served


def get(client: TestClient, path: str, **more: Any) -> Any:
    answer = client.get(f"/api/v1/runs/{path}", **more)
    assert answer.status_code == 200, answer.text
    return answer


def test_the_result_is_the_file_as_it_was_stored(client: TestClient) -> None:
    result = get(client, f"{ONE}/result").json()
    assert (result["status"], result["plan"]["frame_size"]) == ("complete", "64")


def test_of_several_results_a_frame_size_says_which(client: TestClient) -> None:
    assert get(client, f"{TWO}/result", params={"frame_size": "1518"}).json()["plan"]["frame_size"] == "1518"
    for params in ({}, {"frame_size": "IMIX"}):
        answer = client.get(f"/api/v1/runs/{TWO}/result", params=params)
        assert answer.status_code == 422
        assert "frame_size=64, frame_size=1518" in answer.json()["detail"]


def test_of_several_repeats_a_number_says_which(client: TestClient) -> None:
    assert get(client, f"{AGAIN}/result", params={"repeat": 2}).json()["plan"]["repeat"] == 2
    answer = client.get(f"/api/v1/runs/{AGAIN}/result")
    assert answer.status_code == 422
    assert "frame_size=64&repeat=1, frame_size=64&repeat=2" in answer.json()["detail"]


def test_nfvbenchs_form_is_valid_json_with_every_frame_size(client: TestClient) -> None:
    for path in (f"/api/v1/runs/{TWO}/result/nfvbench", f"/status/{TWO}"):
        text = client.get(path).text
        assert "NaN" not in text
        answer = json.loads(text)
        (chain,) = answer.get("result", answer)["benchmarks"]["network"]["service_chain"].values()
        assert {"64", "1518"} <= set(chain["result"]["result"])


def test_chains_add_up_to_the_streams_of_the_trial(client: TestClient) -> None:
    result = get(client, f"{ONE}/result").json()
    trials = get(client, f"{ONE}/chains").json()["trials"]
    assert len(trials) == len(result["trials"]) > 3
    for report, trial in zip(trials, result["trials"], strict=True):
        assert {(way["chain"], way["tx_port"]) for way in report["chains"]} == {(0, 0), (0, 1), (1, 0), (1, 1)}
        for key in ("intended_count", "offered_count", "received_count"):
            assert sum(way[key] for way in report["chains"]) == sum(stream[key] for stream in trial["streams"])


def test_the_report_is_text_markdown_or_csv(client: TestClient) -> None:
    text = get(client, f"{TWO}/report")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert "NDR 0 %" in text.text
    assert max(map(len, text.text.splitlines())) <= 100
    for markdown in (
        get(client, f"{TWO}/report", headers={"Accept": "text/markdown, text/plain;q=0.5"}),
        get(client, f"{TWO}/report", params={"format": "markdown"}),
    ):
        assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
        assert "| " in markdown.text
    table = get(client, f"{TWO}/report", params={"format": "csv"})
    assert table.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(list(csv.reader(io.StringIO(table.text)))) > 5


@pytest.mark.parametrize("what", ["result", "result/nfvbench", "report", "chains"])
def test_a_run_without_a_result_says_why(what: str, client: TestClient) -> None:
    answer = client.get(f"/api/v1/runs/{NONE}/{what}")
    assert answer.status_code == 409
    assert "lab: not available" in answer.json()["detail"]


def test_metrics_are_of_the_last_result(client: TestClient) -> None:
    answer = client.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(answer.text)}
    loads = families["nodrop_goal_load_pps"].samples
    assert {"64", "1518"} == {sample.labels["frame_size"] for sample in loads}


def test_a_result_that_is_gone_is_gone(tmp_path: Path) -> None:
    gone = RunEntry(
        id=ONE, state=LifecycleState.COMPLETE, asked={}, created_at="2026-01-31T12:00:00", run_ids=("no-such-run",)
    )
    Journal(tmp_path).save(gone)
    with serve_app(tmp_path) as served:
        assert served.get(f"/api/v1/runs/{ONE}/result").status_code == 410
        assert served.get("/metrics").status_code == 200
        assert await_over(served, start(served, "plain"))["state"] == "complete"
        assert served.get(f"/status/{ONE}").json()["status"] == "ERROR"
