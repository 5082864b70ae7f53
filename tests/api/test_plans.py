"""POST /api/v1/plans: the plan of a body, without a run."""

from pathlib import Path

from tests.api.serving import serve_app


def test_a_body_is_told_in_words_with_the_time_it_takes(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.post("/api/v1/plans", json={"rate": "10kpps", "duration": "5s", "frame_sizes": [64, "IMIX"]})
        assert answer.status_code == 200, answer.text
        report = answer.json()
        assert [run["frame_size"] for run in report["runs"]] == ["64", "IMIX"]
        assert report["runs"][0]["asked"] == "at 10kpps for 5 s"
        assert 10 < report["forecast"]["low_s"] <= report["forecast"]["expected_s"] <= report["forecast"]["high_s"] < 25
        assert client.get("/api/v1/runs").json()["total_count"] == 0


def test_what_cannot_be_used_is_told_key_by_key(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        answer = client.post("/api/v1/plans", json={"sut": "nix", "frame_bytes": 3})
        assert answer.status_code == 422
        assert [sentence.split(": ")[1] for sentence in answer.json()["errors"]] == ["sut", "frame_bytes"]


def test_keys_of_the_host_are_refused_there_too(tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        assert client.post("/api/v1/plans", json={"results_dir": "/tmp/elsewhere"}).status_code == 403
