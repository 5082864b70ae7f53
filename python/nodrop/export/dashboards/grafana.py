"""Grafana dashboards as JSON, for import or provisioning."""

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from nodrop.model.summary import MeasureUnit

PanelKind = Literal["stat", "timeseries", "bargauge", "barchart", "table"]
DataSource = Literal["prometheus", "grafana-postgresql-datasource"]
"""Grafana's data source types."""
PanelUnit = MeasureUnit | Literal["seconds", "frames", ""]
Json = dict[str, Any]

SCHEMA_VERSION = 39
"""Version of the dashboard's JSON; newer releases of Grafana migrate it."""
COLUMNS = 24
"""Width of Grafana's grid."""
GRAFANA_UNITS: dict[PanelUnit, str] = {
    "pps": "pps",
    "ns": "ns",
    "ratio": "percentunit",
    "seconds": "s",
    "frames": "short",
    "": "none",
}
"""Grafana's names of the units."""
DATASOURCE = "datasource"
"""The variable that selects the data source."""


class Query(NamedTuple):
    """A query of a panel: PromQL or SQL."""

    text: str
    legend: str = ""
    """Legend of the series, with labels such as `{{goal}}`; SQL names its series itself."""
    now: bool = False
    """Whether the query returns only the latest value."""


class GrafanaPanel(NamedTuple):
    """A panel of a dashboard."""

    title: str
    meaning: str
    """The description."""
    kind: PanelKind
    unit: PanelUnit
    queries: tuple[Query, ...]
    width: int = 12
    height: int = 8
    texts: tuple[tuple[str, str], ...] = ()
    """Values and their display texts."""
    units: tuple[tuple[str, PanelUnit], ...] = ()
    """Columns and their units, where they differ from the panel's."""


class Variable(NamedTuple):
    """A variable of a dashboard."""

    name: str
    label: str
    query: str
    """The query of the choices."""
    several: bool = True


class Dashboard(NamedTuple):
    """A dashboard."""

    uid: str
    """Stable id: a new import replaces the dashboard."""
    title: str
    meaning: str
    source: DataSource
    variables: tuple[Variable, ...]
    rows: dict[str, tuple[GrafanaPanel, ...]]
    """Panels by heading."""
    since: str = "now-30d"


def to_json(dashboard: Dashboard) -> str:
    """Format a dashboard as JSON for import."""
    content = {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.meaning,
        "tags": ["nodrop"],
        "timezone": "browser",
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s" if dashboard.source == "prometheus" else "1m",
        "schemaVersion": SCHEMA_VERSION,
        "time": {"from": dashboard.since, "to": "now"},
        "templating": {
            "list": [
                {"name": DATASOURCE, "label": "Data source", "type": "datasource", "query": dashboard.source},
                *(_build_variable(dashboard.source, each) for each in dashboard.variables),
            ]
        },
        "panels": list(_iter_panels(dashboard)),
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _build_variable(source: DataSource, variable: Variable) -> Json:
    prometheus = {"query": variable.query, "refId": variable.name}
    return {
        "name": variable.name,
        "label": variable.label,
        "type": "query",
        "datasource": _build_datasource_reference(source),
        "query": prometheus if source == "prometheus" else variable.query,
        "refresh": 2,
        "multi": variable.several,
        "includeAll": variable.several,
        "current": {"text": ["All"], "value": ["$__all"]} if variable.several else {},
        "sort": 3 if variable.name == "frame_size" else 1,
    }


def _build_datasource_reference(source: DataSource) -> Json:
    return {"type": source, "uid": f"${{{DATASOURCE}}}"}


def _iter_panels(dashboard: Dashboard) -> Iterator[Json]:
    """Yield rows and panels with their grid positions."""
    number = top = 0
    for heading, panels in dashboard.rows.items():
        number += 1
        yield {
            "type": "row",
            "id": number,
            "title": heading,
            "collapsed": False,
            "gridPos": _build_position(0, top, COLUMNS, 1),
            "panels": [],
        }
        top += 1
        left = tallest = 0
        for panel in panels:
            if left + panel.width > COLUMNS:
                left, top, tallest = 0, top + tallest, 0
            number += 1
            yield _build_panel(dashboard.source, panel) | {
                "id": number,
                "gridPos": _build_position(left, top, panel.width, panel.height),
            }
            left, tallest = left + panel.width, max(tallest, panel.height)
        top += tallest


def _build_position(left: int, top: int, width: int, height: int) -> Json:
    return {"x": left, "y": top, "w": width, "h": height}


def _build_panel(source: DataSource, panel: GrafanaPanel) -> Json:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.meaning,
        "datasource": _build_datasource_reference(source),
        "targets": [_build_target(source, panel, number, query) for number, query in enumerate(panel.queries)],
        "fieldConfig": _build_fields(panel),
        "options": OPTIONS[panel.kind],
    }


def _build_target(source: DataSource, panel: GrafanaPanel, number: int, query: Query) -> Json:
    reference = chr(ord("A") + number)
    if source == "prometheus":
        table = {"format": "table"} if panel.kind == "table" else {}
        return {
            "refId": reference,
            "datasource": _build_datasource_reference(source),
            "expr": query.text,
            "legendFormat": query.legend,
            "instant": query.now,
            "range": not query.now,
        } | table
    return {
        "refId": reference,
        "datasource": _build_datasource_reference(source),
        "rawSql": query.text,
        "rawQuery": True,
        "editorMode": "code",
        "format": "time_series" if panel.kind == "timeseries" else "table",
    }


def _build_fields(panel: GrafanaPanel) -> Json:
    defaults: Json = {"unit": GRAFANA_UNITS[panel.unit], "color": {"mode": "palette-classic"}}
    if panel.kind == "timeseries":
        defaults["custom"] = {"drawStyle": "line", "showPoints": "always", "pointSize": 6, "spanNulls": True}
    if panel.unit in ("pps", "ns"):
        defaults["min"] = 0
    if panel.texts:
        options = {value: {"text": text, "index": place} for place, (value, text) in enumerate(panel.texts)}
        defaults["mappings"] = [{"type": "value", "options": options}]
    overrides = [
        {"matcher": {"id": "byName", "options": name}, "properties": [{"id": "unit", "value": GRAFANA_UNITS[unit]}]}
        for name, unit in panel.units
    ]
    return {"defaults": defaults, "overrides": overrides}


_LATEST = {"calcs": ["lastNotNull"], "fields": "", "values": False}
_LEGEND = {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull"]}
_TOOLTIP = {"mode": "multi", "sort": "desc"}
OPTIONS: dict[PanelKind, Json] = {
    "stat": {
        "reduceOptions": _LATEST,
        "orientation": "auto",
        "textMode": "value_and_name",
        "colorMode": "value",
        "graphMode": "none",
        "justifyMode": "auto",
    },
    "timeseries": {"legend": _LEGEND, "tooltip": _TOOLTIP},
    "bargauge": {
        "reduceOptions": _LATEST,
        "orientation": "horizontal",
        "displayMode": "basic",
        "valueMode": "color",
        "namePlacement": "auto",
        "showUnfilled": False,
        "minVizWidth": 8,
        "minVizHeight": 16,
    },
    "barchart": {
        "xField": "what",
        "orientation": "auto",
        "stacking": "none",
        "showValue": "auto",
        "barWidth": 0.9,
        "groupWidth": 0.7,
        "legend": _LEGEND,
        "tooltip": _TOOLTIP,
    },
    "table": {"showHeader": True, "cellHeight": "sm"},
}
