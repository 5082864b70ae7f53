"""Two hundred malformed bodies: each is refused with a reason, and no run begins."""

import json
from pathlib import Path

import pytest
from tests.api.serving import await_over, list_started_runs, serve_app, start
from tests.malformed import bodies

COUNT = 200


@pytest.mark.parametrize("path", ["/start_run", "/api/v1/runs"])
def test_malformed_bodies_are_refused_with_a_sentence_and_begin_nothing(path: str, tmp_path: Path) -> None:
    with serve_app(tmp_path) as client:
        for malformed in bodies(COUNT, seed=2026):
            content = json.dumps(malformed.body)
            answer = client.post(path, content=content, headers={"Content-Type": "application/json"})
            report = answer.json()
            sentence = report["error_message"] if path == "/start_run" else report["detail"]
            no_number = "NaN" in content or "Infinity" in content  # no JSON, so that no key can be named
            if path == "/start_run" and "invalid JSON" not in sentence:
                assert (answer.status_code, report["status"]) == (200, "ERROR"), (malformed, answer.text)
            else:
                assert 400 <= answer.status_code < 500, (malformed, answer.text)
            assert ("not a JSON number" if no_number else malformed.where) in sentence, (malformed, sentence)
            assert "Traceback" not in sentence
        assert client.get("/api/v1/runs").json()["total_count"] == 0
        assert list_started_runs(tmp_path) == []
        assert list((tmp_path / "server").iterdir()) == []
        assert await_over(client, start(client, "plain"))["state"] == "complete"
