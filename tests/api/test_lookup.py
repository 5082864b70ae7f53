"""/api/v1/results: stored results of any measurer, looked up and tagged."""

from pathlib import Path

from tests.api.serving import serve_app
from tests.recorded import record_run
from tests.suts import Step

from nodrop.store.checksums import check_file
from nodrop.store.imported import import_file

NFVBENCH = Path(__file__).parents[1] / "nfvbench/fixed.json"


def test_results_are_found_by_filters_in_pages(tmp_path: Path) -> None:
    first = record_run(tmp_path, Step(1e6), label="nightly", latency__enabled=False)
    second = record_run(tmp_path, Step(2e6), label="nightly", latency__enabled=False)
    import_file(NFVBENCH, tmp_path)
    with serve_app(tmp_path) as client:
        every = client.get("/api/v1/results").json()
        assert every["total_count"] == 3
        assert every["next_offset"] is None
        page = client.get("/api/v1/results", params={"label": "night*", "limit": 1, "sort": "ndr"}).json()
        assert [row["summary"]["run_id"] for row in page["results"]] == [second.run_id]
        assert (page["total_count"], page["next_offset"]) == (2, 1)
        page = client.get("/api/v1/results", params={"label": "night*", "limit": 1, "sort": "ndr", "offset": 1}).json()
        assert [row["summary"]["run_id"] for row in page["results"]] == [first.run_id]
        assert page["next_offset"] is None
        assert (
            client.get("/api/v1/results", params={"source": "nfvbench", "since": "2001-01-01"}).json()["total_count"]
            == 1
        )
        assert client.get("/api/v1/results", params={"since": "2026-01-01T00:00:00Z"}).json()["total_count"] == 2
        for odd in ({"since": "yesterdayish"}, {"limit": 0}, {"path": "XYZ"}, {"chains": "many"}):
            assert client.get("/api/v1/results", params=odd).status_code == 422


def test_a_result_is_given_as_a_row_and_as_its_file(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(1e6), latency__enabled=False)
    with serve_app(tmp_path) as client:
        row = client.get(f"/api/v1/results/{result.run_id}").json()
        assert row["summary"]["measures"][0]["key"] == "ndr"
        file = client.get(f"/api/v1/results/{result.run_id}/file")
        assert file.content == (tmp_path / result.run_id / "result.json").read_bytes()
        for address in ("gone", "gone/file", "..%2f..%2fetc%2fpasswd/file"):
            assert client.get(f"/api/v1/results/{address}").status_code == 404


def test_tags_are_given_and_taken(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(1e6), latency__enabled=False)
    address = f"/api/v1/results/{result.run_id}/tags"
    with serve_app(tmp_path) as client:
        assert client.post(address, json={"add": ["good", "old"]}).json() == {"tags": ["good", "old"]}
        assert client.post(address, json={"add": ["new"], "remove": ["old"]}).json() == {"tags": ["good", "new"]}
        assert client.get("/api/v1/results", params={"tag": ["good", "new"]}).json()["total_count"] == 1
        assert client.get("/api/v1/results", params={"tag": ["good", "old"]}).json()["total_count"] == 0
        refused = client.post(address, json={"add": ["two words"]})
        assert refused.status_code == 422
        assert "up to 64 letters" in refused.json()["detail"]
        assert client.post("/api/v1/results/gone/tags", json={"add": ["x"]}).status_code == 404
    assert check_file(tmp_path / result.run_id / "result.json").state == "intact"
