"""Kibana saved objects as NDJSON, with stable ids, so that a new import replaces them.

The format is that of release 7.10, the last that Kibana and OpenSearch Dashboards share; later releases migrate the
objects during import.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nodrop.charts.base import SCHEMA, Spec
from nodrop.export.dashboards.records import FIELD_FORMATS, PANELS, TABLE_COLUMNS, TIME, RecordPanel, RecordRows

Json = dict[str, Any]
INDEX_PATTERN = "resu*"
"""Index pattern of the records, as in NFVbench's own dashboards."""
ROWS_MAX = 10_000
"""Most rows that Elasticsearch returns in one response."""
MIGRATIONS = {"index-pattern": "7.6.0", "visualization": "7.10.0", "search": "7.9.3", "dashboard": "7.9.3"}
"""Release of the format of each object type."""
RELEASE = "7.10.2"
PATTERN_ID, SEARCH_ID, DASHBOARD_ID = "nodrop-results", "nodrop-records", "nodrop-dashboard"
COLUMNS = 48
"""Width of Kibana's grid."""
INDEX_REFERENCE = "kibanaSavedObjectMeta.searchSourceJSON.index"


class ObjectReference(NamedTuple):
    """A reference from one object to another."""

    name: str
    type: str
    id: str


def build_ndjson(index_pattern: str = INDEX_PATTERN) -> str:
    """Format all objects as NDJSON for import."""
    return "".join(f"{json.dumps(each, ensure_ascii=False, sort_keys=True)}\n" for each in build_objects(index_pattern))


def build_objects(index_pattern: str = INDEX_PATTERN) -> Iterator[Json]:
    """Yield all objects, referenced objects first."""
    yield _index_pattern(index_pattern)
    for panel in PANELS:
        yield _build_visualization(panel, index_pattern)
    yield _build_search()
    yield _build_dashboard(PANELS)


def build_specification(panel: RecordPanel, index_pattern: str = INDEX_PATTERN) -> Spec:
    """Build a chart definition over records, with a query in place of each data name.

    Kibana sets size and title by the panel, so the definition's own size and title are omitted.
    """
    definition = {
        key: value for key, value in panel.definition.items() if key not in ("width", "height", "title", "autosize")
    }
    spec = _read_records(definition, panel.rows, index_pattern)
    assert isinstance(spec, dict)
    return {"$schema": SCHEMA} | spec


def _read_records(part: Any, rows: dict[str, RecordRows], index_pattern: str) -> Any:
    """Replace data names in a definition by queries, and prepend the transforms that derive the fields."""
    if isinstance(part, list):
        return [_read_records(each, rows, index_pattern) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {key: _read_records(value, rows, index_pattern) for key, value in part.items()}
    name = part["data"].get("name") if isinstance(part.get("data"), dict) else None
    if name in rows:
        changed["data"] = _build_query(rows[name], index_pattern)
        changed["transform"] = [*rows[name].transforms, *changed.get("transform", [])]
    return changed


def _build_query(rows: RecordRows, index_pattern: str) -> Json:
    """Build the query to Elasticsearch: the records of the selected time range and filters."""
    return {
        "url": {
            "%context%": True,
            "%timefield%": TIME,
            "index": index_pattern,
            "body": {"size": ROWS_MAX, "_source": list(rows.fields), "sort": [{TIME: {"order": "asc"}}]},
        },
        "format": {"property": "hits.hits"},
    }


def _index_pattern(title: str) -> Json:
    formats = {name: {"id": "number", "params": {"pattern": pattern}} for name, pattern in FIELD_FORMATS.items()}
    attributes = {"title": title, "timeFieldName": TIME, "fields": "[]", "fieldFormatMap": json.dumps(formats)}
    return _build_object("index-pattern", PATTERN_ID, attributes)


def _build_visualization(panel: RecordPanel, index_pattern: str) -> Json:
    spec = json.dumps(build_specification(panel, index_pattern), ensure_ascii=False, indent=1)
    state = {"title": panel.title, "type": "vega", "aggs": [], "params": {"spec": spec}}
    attributes = _build_title(panel.title, panel.meaning) | {"visState": json.dumps(state), "uiStateJSON": "{}"}
    return _build_object("visualization", panel.id, attributes)


def _build_search() -> Json:
    attributes = _build_title("nodrop records", "All shipped records, latest first.") | {
        "columns": list(TABLE_COLUMNS),
        "sort": [[TIME, "desc"]],
        "hits": 0,
    }
    source = _build_source() | {"indexRefName": INDEX_REFERENCE, "highlightAll": True, "version": True}
    attributes["kibanaSavedObjectMeta"] = {"searchSourceJSON": json.dumps(source)}
    return _build_object(
        "search", SEARCH_ID, attributes, [ObjectReference(INDEX_REFERENCE, "index-pattern", PATTERN_ID)]
    )


def _build_dashboard(panels: Sequence[RecordPanel]) -> Json:
    panels_by_size = [("visualization", panel.id, panel.width, panel.height) for panel in panels]
    panels_by_size.append(("search", SEARCH_ID, COLUMNS, 16))
    placed = list(_iter_placed_panels(panels_by_size))
    attributes = _build_title("nodrop", "Results of nodrop and NFVbench: rates, latency and loss of every record.") | {
        "hits": 0,
        "optionsJSON": json.dumps({"useMargins": True, "hidePanelTitles": False}),
        "panelsJSON": json.dumps(placed),
        "timeRestore": True,
        "timeFrom": "now-90d",
        "timeTo": "now",
        "refreshInterval": {"pause": True, "value": 0},
    }
    references = [
        ObjectReference(f"panel_{place}", type_, id_) for place, (type_, id_, _, _) in enumerate(panels_by_size)
    ]
    return _build_object("dashboard", DASHBOARD_ID, attributes, references)


def _iter_placed_panels(panels: Sequence[tuple[str, str, int, int]]) -> Iterator[Json]:
    """Yield the panels from left to right and top to bottom."""
    left = top = tallest = 0
    for place, (_, _, width, height) in enumerate(panels):
        if left + width > COLUMNS:
            left, top, tallest = 0, top + tallest, 0
        yield {
            "version": RELEASE,
            "gridData": {"x": left, "y": top, "w": width, "h": height, "i": str(place)},
            "panelIndex": str(place),
            "embeddableConfig": {},
            "panelRefName": f"panel_{place}",
        }
        left, tallest = left + width, max(tallest, height)


def _build_title(title: str, meaning: str) -> Json:
    return {
        "title": title,
        "description": meaning,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(_build_source())},
    }


def _build_source() -> Json:
    return {"query": {"language": "kuery", "query": ""}, "filter": []}


def _build_object(type_: str, id_: str, attributes: Json, references: Sequence[ObjectReference] = ()) -> Json:
    return {
        "type": type_,
        "id": id_,
        "attributes": attributes,
        "references": [reference._asdict() for reference in references],
        "migrationVersion": {type_: MIGRATIONS[type_]},
    }
