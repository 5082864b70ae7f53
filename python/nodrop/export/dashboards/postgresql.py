"""A Grafana dashboard over the results index in PostgreSQL. Tables: docs/reference/results.md."""

from nodrop.export.dashboards.grafana import Dashboard, GrafanaPanel, Query, Variable
from nodrop.export.dashboards.labels import LATENCY, LIMIT, LOAD, LOAD_BY_SIZE, LOSS

NAME = "concat_ws(', ', coalesce(r.label, r.sut), r.frame_size || ' bytes')"
"""Name of a series of runs."""
CHOSEN = (
    "$__timeFilter(r.started_at) AND r.frame_size IN (${frame_size:sqlstring}) "
    "AND coalesce(r.label, '') IN (${label:sqlstring})"
)
MEASURED = "FROM nodrop_runs r JOIN nodrop_measures m ON m.run = r.id"
KEY = "m.key = ${measure:sqlstring}"


def build_dashboard() -> Dashboard:
    """Build the dashboard: a measure over all stored runs, and a table of the runs."""
    return Dashboard(
        uid="nodrop-results",
        title="nodrop results",
        meaning="All runs in the results index, including imports from NFVbench and TRex.",
        source="grafana-postgresql-datasource",
        variables=(
            Variable(
                "measure",
                "Measure",
                "SELECT key FROM nodrop_measures WHERE unit = 'pps' GROUP BY key ORDER BY count(*) DESC, key",
                several=False,
            ),
            Variable("label", "Label", "SELECT DISTINCT coalesce(label, '') FROM nodrop_runs ORDER BY 1"),
            Variable("frame_size", "Frame size", "SELECT DISTINCT frame_size FROM nodrop_runs ORDER BY 1"),
        ),
        rows={"Rate": RATE, "Latency and loss": LATENCIES, "Runs": RUNS},
    )


RATE = (
    GrafanaPanel(
        *(LOAD.title, LOAD.meaning, "timeseries", LOAD.unit),
        (
            Query(
                f"SELECT r.started_at AS time, {NAME} AS metric, m.value {MEASURED} "
                f"WHERE {CHOSEN} AND {KEY} AND m.unit = 'pps' ORDER BY 1, 2"
            ),
        ),
        width=14,
        height=10,
    ),
    GrafanaPanel(
        *(LOAD_BY_SIZE.title, LOAD_BY_SIZE.meaning, "barchart", LOAD_BY_SIZE.unit),
        (
            Query(
                f"SELECT what, value FROM (SELECT DISTINCT ON (1) {NAME} AS what, m.value, r.frame_bytes {MEASURED} "
                f"WHERE {CHOSEN} AND {KEY} AND m.unit = 'pps' ORDER BY 1, r.started_at DESC) AS latest "
                "ORDER BY frame_bytes, what"
            ),
        ),
        width=10,
        height=10,
    ),
)
LATENCIES = (
    GrafanaPanel(
        *(LATENCY.title, LATENCY.meaning, "timeseries", LATENCY.unit),
        (
            Query(
                f"SELECT r.started_at AS time, m.text || ', ' || {NAME} AS metric, m.value {MEASURED} "
                f"WHERE {CHOSEN} AND m.key LIKE 'latency\\_%\\_at\\_' || ${{measure:sqlstring}} ORDER BY 1, 2"
            ),
        ),
    ),
    GrafanaPanel(
        *(LOSS.title, LOSS.meaning, "timeseries", LOSS.unit),
        (
            Query(
                f"SELECT r.started_at AS time, m.text || ', ' || {NAME} AS metric, m.value {MEASURED} "
                f"WHERE {CHOSEN} AND m.unit = 'ratio' ORDER BY 1, 2"
            ),
        ),
    ),
)
RUNS = (
    GrafanaPanel(
        *(LIMIT.title, LIMIT.meaning, "barchart", "frames"),
        (
            Query(
                f'SELECT m."limit" AS what, count(*) AS runs {MEASURED} '
                f"WHERE {CHOSEN} AND {KEY} GROUP BY 1 ORDER BY 2 DESC"
            ),
        ),
        width=6,
    ),
    GrafanaPanel(
        *("Runs", "Latest first.", "table", ""),
        (
            Query(
                "SELECT r.started_at, r.run_id, r.source, r.status, r.label, r.sut, r.path, r.frame_size, "
                'm.value AS rate, m.low, m.high, m."limit", r.host, r.kernel, r.version '
                "FROM nodrop_runs r LEFT JOIN nodrop_measures m ON m.run = r.id "
                f"AND {KEY} WHERE {CHOSEN} ORDER BY r.started_at DESC LIMIT 500"
            ),
        ),
        width=18,
        height=10,
        units=(("rate", "pps"), ("low", "pps"), ("high", "pps")),
    ),
)
