"""Kibana's saved objects: valid by its sources, with existing fields of records, and drawn with real records.

No package registry has Kibana, so no test imports the objects into one. The queries of its charts go to a real
Elasticsearch if `NODROP_ELASTICSEARCH` names one, e.g. `http://127.0.0.1:9200`, otherwise to records in the format of
its responses.
"""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import altair
import jsonschema
import pytest
from tests.dashboards.measured import measured

from nodrop.cli import main
from nodrop.export.dashboards import kibana, records
from nodrop.export.fluentd import records as shipped

pytestmark = pytest.mark.dashboards

OBJECTS = [json.loads(line) for line in kibana.build_ndjson().splitlines()]
BY_ID = {(each["type"], each["id"]): each for each in OBJECTS}
Json = dict[str, Any]
Search = Callable[[str, Json], Json]

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
META = {"type": "object", "properties": {"searchSourceJSON": TEXT}, "required": ["searchSourceJSON"]}
ATTRIBUTES: dict[str, Json] = {
    # elastic/kibana: dashboard_saved_object/schema/v1/v1.ts, which forbids other attributes
    "dashboard": {
        **dict.fromkeys(("title", "description", "timeFrom", "timeTo", "panelsJSON", "optionsJSON"), TEXT),
        "kibanaSavedObjectMeta": META,
        "timeRestore": TRUTH,
        "refreshInterval": {"type": "object", "properties": {"pause": TRUTH, "value": NUMBER}},
        "controlGroupInput": {"type": "object"},
        **dict.fromkeys(("hits", "version"), NUMBER),
    },
    # elastic/kibana: visualizations/server/saved_objects/visualization.ts, schema 8.8.0
    "visualization": {
        **dict.fromkeys(("title", "description", "uiStateJSON", "visState", "savedSearchRefName"), TEXT),
        "version": NUMBER,
        "kibanaSavedObjectMeta": META,
    },
    # elastic/kibana: saved_search/server/saved_objects/schema.ts, schema 8.8.0, the subset of 7.10
    "search": {
        **dict.fromkeys(("title", "description"), TEXT),
        "columns": {"type": "array", "items": TEXT},
        "sort": {"type": "array", "items": {"type": "array", "items": TEXT, "minItems": 2, "maxItems": 2}},
        **dict.fromkeys(("hits", "version"), NUMBER),
        "kibanaSavedObjectMeta": META,
    },
    # elastic/kibana: data_views/server/saved_objects/data_views.ts; OpenSearch Dashboards' index_patterns
    "index-pattern": dict.fromkeys(("title", "timeFieldName", "fields", "fieldFormatMap"), TEXT),
}
NEWEST = {"dashboard": (7, 9, 3), "visualization": (7, 10, 0), "search": (7, 9, 3), "index-pattern": (7, 6, 0)}
"""The last migrations of release 7.10, which refuses later objects, as does OpenSearch Dashboards."""


def test_every_object_has_what_kibana_allows_for_its_type_and_nothing_else() -> None:
    for each in OBJECTS:
        allowed = ATTRIBUTES[each["type"]]
        schema = {"type": "object", "properties": allowed, "required": ["title"], "additionalProperties": False}
        jsonschema.validate(each["attributes"], schema)
        assert set(each) == {"type", "id", "attributes", "references", "migrationVersion"}
        (release,) = each["migrationVersion"].values()
        assert tuple(int(part) for part in release.split(".")) <= NEWEST[each["type"]]


def test_references_lead_somewhere_and_come_after_what_they_lead_to() -> None:
    seen: set[tuple[str, str]] = set()
    for each in OBJECTS:
        for reference in each["references"]:
            assert (reference["type"], reference["id"]) in seen
        seen.add((each["type"], each["id"]))
    assert len(seen) == len(OBJECTS)


def test_every_panel_of_the_dashboard_is_a_reference_and_has_a_place_of_its_own() -> None:
    dashboard = BY_ID["dashboard", "nodrop-dashboard"]
    placed = json.loads(dashboard["attributes"]["panelsJSON"])
    assert [each["panelRefName"] for each in placed] == [each["name"] for each in dashboard["references"]]
    occupied: set[tuple[int, int]] = set()
    for each in placed:
        position = each["gridData"]
        cells = {(position["x"] + x, position["y"] + y) for x in range(position["w"]) for y in range(position["h"])}
        assert not cells & occupied
        assert max(x for x, _ in cells) < 48
        occupied |= cells


def test_the_ids_are_those_of_earlier_releases() -> None:
    """With other ids, a new import would duplicate every object."""
    assert set(BY_ID) == {
        ("index-pattern", "nodrop-results"),
        ("visualization", "nodrop-rate-pps"),
        ("visualization", "nodrop-rate-bps"),
        ("visualization", "nodrop-rate-course"),
        ("visualization", "nodrop-latency"),
        ("search", "nodrop-records"),
        ("dashboard", "nodrop-dashboard"),
    }
    assert kibana.build_ndjson() == kibana.build_ndjson()


def test_the_indices_asked_for_are_those_of_every_object() -> None:
    text = kibana.build_ndjson("mine-*")
    assert "resu*" not in text
    assert text.count("mine-*") == 1 + len(records.PANELS)


def test_the_command_writes_the_objects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "kibana", "-o", str(tmp_path / "nodrop.ndjson")]) == 0
    assert (tmp_path / "nodrop.ndjson").read_text() == kibana.build_ndjson()
    assert main(["export", "kibana"]) == 0
    assert capsys.readouterr().out == kibana.build_ndjson()
    assert main(["export", "grafana", "--source", "postgresql"]) == 0
    assert json.loads(capsys.readouterr().out)["uid"] == "nodrop-results"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[Json]:
    """Return records of simulated runs: searches with three sizes, one of them twice, and a fixed rate."""
    directory = tmp_path_factory.mktemp("results")
    runs = [measured(directory, frame_sizes=[size], label="first") for size in ("64", "1518", "IMIX")]
    runs += [measured(directory, label="second"), measured(directory, rate="100kpps")]
    return shipped.build_records(runs, "2026-01-31T12:00:00")


def requested_fields(spec: Json) -> set[str]:
    return set(spec["data"]["url"]["body"]["_source"])


def test_every_field_a_panel_asks_for_is_one_that_records_have(real: list[Json]) -> None:
    record_fields = {name for record in real for name in record} | {"warning"}
    percentiles = {name for name in record_fields if name.startswith("lat_percentile_")}
    assert percentiles
    for panel in records.PANELS:
        requested = requested_fields(kibana.build_specification(panel))
        assert {name for name in requested if not name.startswith("lat_percentile_")} <= record_fields
        assert not any(name.startswith("lat_percentile_") for name in requested) or requested & percentiles
    assert set(records.TABLE_COLUMNS) <= record_fields
    assert set(records.FIELD_FORMATS) <= record_fields
    assert records.TIME in record_fields


def test_every_field_used_in_a_panel_is_one_it_asks_for() -> None:
    for panel in records.PANELS:
        spec = kibana.build_specification(panel)
        text = json.dumps(spec)
        used = {part.split("']")[0] for part in text.split("_source['")[1:]}
        assert used <= requested_fields(spec)


@pytest.mark.parametrize("panel", records.PANELS, ids=lambda panel: str(panel.id))
def test_a_panel_is_valid_vega_lite_once_its_data_is_there(panel: records.RecordPanel, search: Search) -> None:
    schema = json.loads((Path(altair.__file__).parent / "vegalite/v5/schema/vega-lite-schema.json").read_text())
    jsonschema.validate(with_results(kibana.build_specification(panel), search), schema)


@pytest.mark.parametrize(
    ("id_", "texts"),
    [
        ("nodrop-rate-pps", ["first, NDR 0 %", "second, PDR 0.5 %", "64", "IMIX", "1518", "(Mpps)"]),
        ("nodrop-rate-bps", ["theoretical maximum", "first, NDR 0 %", "(Gb/s)"]),
        ("nodrop-rate-course", ["first, NDR 0 %, IMIX", "second, NDR 0 %, 64 bytes"]),
        ("nodrop-latency", ["first, NDR 0 %, 64 bytes", "75 %", "99 %", "latency (µs)"]),
    ],
)
def test_a_panel_shows_every_series_of_the_records(id_: str, texts: list[str], search: Search, tmp_path: Path) -> None:
    panel = next(each for each in records.PANELS if each.id == id_)
    drawn = svg(with_results(kibana.build_specification(panel), search) | {"width": 500, "height": 300}, tmp_path)
    assert [text for text in texts if text not in drawn] == []
    assert drawn.count('role="graphics-symbol"') >= 8


def svg(spec: Json, directory: Path) -> str:
    """Draw a specification in a separate process, as the renderer's threads never end."""
    file = directory / "chart.vl.json"
    file.write_text(json.dumps(spec))
    program = (
        "import json, sys; from nodrop.charts.render import render_spec; "
        "sys.stdout.buffer.write(render_spec(json.load(open(sys.argv[1])), '.svg'))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], check=True, capture_output=True, timeout=60)
    return done.stdout.decode()


def with_results(part: Any, search: Search) -> Any:
    """Replace the queries of a specification by their results, like Kibana. Source: es_query_parser.ts."""
    if isinstance(part, list):
        return [with_results(each, search) for each in part]
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("url"), dict):
        url = part["url"]
        assert url["%context%"] is True
        moments = {"gte": "2000-01-01T00:00:00.000Z", "lte": "2100-01-01T00:00:00.000Z"}
        time_range = {"range": {url["%timefield%"]: moments | {"format": "strict_date_optional_time"}}}
        query = {"bool": {"must": [time_range], "filter": [], "should": [], "must_not": []}}
        hits = search(url["index"], url["body"] | {"query": query})
        return {key: value for key, value in part.items() if key != "url"} | {"values": hits}
    return {key: with_results(value, search) for key, value in part.items()}


@pytest.fixture(scope="module")
def search(real: list[Json]) -> Iterator[Search]:
    """Yield a function that answers queries over the records."""
    address = os.environ.get("NODROP_ELASTICSEARCH")
    if not address:
        yield lambda index, body: search_records(real, index, body)
        return
    lines = [json.dumps(line) for record in real for line in ({"index": {}}, record)]
    send_request(f"{address}/resultnodrop-test/_bulk?refresh=true", "\n".join([*lines, ""]), "application/x-ndjson")
    yield lambda index, body: send_request(f"{address}/{index}/_search", json.dumps(body))
    send_request(f"{address}/resultnodrop-test", None, method="DELETE")


def search_records(real: list[Json], index: str, body: Json) -> Json:
    """Return hits like Elasticsearch: the requested fields only, sorted by time, in milliseconds."""
    assert fnmatch("resultnodrop-test", index)
    ((field, _),) = body["sort"][0].items()
    hits = [
        {
            "_source": {name: record[name] for name in body["_source"] if name in record},
            "sort": [int(1000 * datetime.fromisoformat(record[field]).timestamp())],
        }
        for record in real
    ]
    return {"hits": {"hits": sorted(hits, key=lambda hit: hit["sort"])}}


def send_request(url: str, body: str | None, kind: str = "application/json", method: str | None = None) -> Json:
    data = body.encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers={"Content-Type": kind}, method=method)
    with urllib.request.urlopen(request, timeout=30) as reply:
        response: Json = json.load(reply)
    assert not response.get("errors"), response
    return response
