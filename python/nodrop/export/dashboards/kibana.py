"""Saved objects as Kibana imports them: one JSON object a line, with stable ids, so that importing again replaces them.

They are of release 7.10, the last that Kibana and OpenSearch Dashboards have in common; later ones bring them up to
date as they import them.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nodrop.charts.base import SCHEMA, Spec
from nodrop.export.dashboards.records import FIELD_FORMATS, PANELS, TABLE_COLUMNS, TIME, RecordPanel, RecordRows

Json = dict[str, Any]
INDEX_PATTERN = "resu*"
"""Which indices hold the records, as NFVbench's own dashboards have it."""
ROWS_MAX = 10_000
"""The most that Elasticsearch gives at once."""
MIGRATIONS = {"index-pattern": "7.6.0", "visualization": "7.10.0", "search": "7.9.3", "dashboard": "7.9.3"}
"""Of which release the form of each object is."""
RELEASE = "7.10.2"
PATTERN_ID, SEARCH_ID, DASHBOARD_ID = "nodrop-results", "nodrop-records", "nodrop-dashboard"
COLUMNS = 48
"""Of Kibana's grid."""
INDEX_REFERENCE = "kibanaSavedObjectMeta.searchSourceJSON.index"


class ObjectReference(NamedTuple):
    """What an object says of another one."""

    name: str
    type: str
    id: str


def build_ndjson(index_pattern: str = INDEX_PATTERN) -> str:
    """The file that Kibana imports."""
    return "".join(f"{json.dumps(each, ensure_ascii=False, sort_keys=True)}\n" for each in build_objects(index_pattern))


def build_objects(index_pattern: str = INDEX_PATTERN) -> Iterator[Json]:
    """Everything there is, what is referred to first."""
    yield _index_pattern(index_pattern)
    for panel in PANELS:
        yield _visualization(panel, index_pattern)
    yield _search()
    yield _dashboard(PANELS)


def build_specification(panel: RecordPanel, index_pattern: str = INDEX_PATTERN) -> Spec:
    """A chart over records: its definition, with a query in place of each name of data.

    Kibana sizes a chart by its panel, and titles it, so the definition's own size and title are left out.
    """
    own = {key: value for key, value in panel.definition.items() if key not in ("width", "height", "title", "autosize")}
    spec = _over_records(own, panel.rows, index_pattern)
    assert isinstance(spec, dict)
    return {"$schema": SCHEMA} | spec


def _over_records(part: Any, rows: dict[str, RecordRows], index_pattern: str) -> Any:
    """A piece of a definition with its data and, before all else, what makes its fields of the records'."""
    if isinstance(part, list):
        return [_over_records(each, rows, index_pattern) for each in part]
    if not isinstance(part, dict):
        return part
    changed = {key: _over_records(value, rows, index_pattern) for key, value in part.items()}
    name = part["data"].get("name") if isinstance(part.get("data"), dict) else None
    if name in rows:
        changed["data"] = _data(rows[name], index_pattern)
        changed["transform"] = [*rows[name].transforms, *changed.get("transform", [])]
    return changed


def _data(rows: RecordRows, index_pattern: str) -> Json:
    """What Kibana asks Elasticsearch: the records of the time and filters that its user chose."""
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
    return _object("index-pattern", PATTERN_ID, attributes)


def _visualization(panel: RecordPanel, index_pattern: str) -> Json:
    spec = json.dumps(build_specification(panel, index_pattern), ensure_ascii=False, indent=1)
    state = {"title": panel.title, "type": "vega", "aggs": [], "params": {"spec": spec}}
    attributes = _titled(panel.title, panel.meaning) | {"visState": json.dumps(state), "uiStateJSON": "{}"}
    return _object("visualization", panel.id, attributes)


def _search() -> Json:
    attributes = _titled("nodrop records", "Every record that was shipped, the latest first.") | {
        "columns": list(TABLE_COLUMNS),
        "sort": [[TIME, "desc"]],
        "hits": 0,
    }
    source = _source() | {"indexRefName": INDEX_REFERENCE, "highlightAll": True, "version": True}
    attributes["kibanaSavedObjectMeta"] = {"searchSourceJSON": json.dumps(source)}
    return _object("search", SEARCH_ID, attributes, [ObjectReference(INDEX_REFERENCE, "index-pattern", PATTERN_ID)])


def _dashboard(panels: Sequence[RecordPanel]) -> Json:
    shown = [("visualization", panel.id, panel.width, panel.height) for panel in panels]
    shown.append(("search", SEARCH_ID, COLUMNS, 16))
    placed = list(_placed(shown))
    attributes = _titled("nodrop", "What nodrop and NFVbench measured: rates, latency and loss of every record.") | {
        "hits": 0,
        "optionsJSON": json.dumps({"useMargins": True, "hidePanelTitles": False}),
        "panelsJSON": json.dumps(placed),
        "timeRestore": True,
        "timeFrom": "now-90d",
        "timeTo": "now",
        "refreshInterval": {"pause": True, "value": 0},
    }
    references = [ObjectReference(f"panel_{place}", type_, id_) for place, (type_, id_, _, _) in enumerate(shown)]
    return _object("dashboard", DASHBOARD_ID, attributes, references)


def _placed(shown: Sequence[tuple[str, str, int, int]]) -> Iterator[Json]:
    """Every panel, from left to right and top to bottom."""
    left = top = tallest = 0
    for place, (_, _, width, height) in enumerate(shown):
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


def _titled(title: str, meaning: str) -> Json:
    return {
        "title": title,
        "description": meaning,
        "version": 1,
        "kibanaSavedObjectMeta": {"searchSourceJSON": json.dumps(_source())},
    }


def _source() -> Json:
    return {"query": {"language": "kuery", "query": ""}, "filter": []}


def _object(type_: str, id_: str, attributes: Json, references: Sequence[ObjectReference] = ()) -> Json:
    return {
        "type": type_,
        "id": id_,
        "attributes": attributes,
        "references": [reference._asdict() for reference in references],
        "migrationVersion": {type_: MIGRATIONS[type_]},
    }
