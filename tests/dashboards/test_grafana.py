"""Grafana's dashboards: their JSON follows Grafana's schema, and the queries of their panels return data.

The schema is that of Grafana's SDK, `grafana-foundation-sdk`. PromQL is checked by promtool and run by a real
Prometheus that scraped real metrics; SQL is run by a real PostgreSQL.
"""

import http.server
import json
import re
import socket
import subprocess
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models import dashboard as published
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool
from tests.dashboards.measured import measured
from tests.databases import postgresql as postgresql_server
from tests.running import make_plan

from nodrop import store
from nodrop.export.dashboards import grafana, openmetrics, postgresql
from nodrop.export.openmetrics import CONTENT_TYPE, format_openmetrics
from nodrop.model.event import TrialProgress, TrialStarted
from nodrop.model.run_state import RunState
from nodrop.model.trial import Trial
from nodrop.store.index import open_index

pytestmark = pytest.mark.dashboards

DASHBOARDS = {each.uid: each for each in (openmetrics.build_dashboard(), postgresql.build_dashboard())}
Panels = list[dict[str, Any]]


def content(uid: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(grafana.to_json(DASHBOARDS[uid]))
    return parsed


def list_panels(uid: str) -> Panels:
    return [panel for panel in content(uid)["panels"] if panel["type"] != "row"]


def list_lost_fields(before: Any, after: Any, where: str = "") -> Iterator[str]:
    """Yield the fields that a round trip through Grafana's types lost or changed."""
    if isinstance(before, dict):
        for key, value in before.items():
            if not isinstance(after, dict) or key not in after:
                if value not in (None, [], {}, False, ""):
                    yield f"{where}.{key}"
            else:
                yield from list_lost_fields(value, after[key], f"{where}.{key}")
    elif isinstance(before, list):
        if not isinstance(after, list) or len(after) != len(before):
            yield where
            return
        for place, pair in enumerate(zip(before, after, strict=True)):
            yield from list_lost_fields(*pair, f"{where}[{place}]")
    elif before != after:
        yield f"{where}: {before!r} became {after!r}"


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_field_is_one_that_grafana_publishes(uid: str) -> None:
    register_default_plugins()
    before = content(uid)
    after = json.loads(json.dumps(published.Dashboard.from_json(before), cls=JSONEncoder))
    assert list(list_lost_fields(before, after)) == []


def test_a_field_that_grafana_does_not_know_would_be_found() -> None:
    register_default_plugins()
    before = content("nodrop-openmetrics")
    before["panels"][1]["options"]["legendary"] = True
    before["surprise"] = 1
    after = json.loads(json.dumps(published.Dashboard.from_json(before), cls=JSONEncoder))
    assert {each.split(":")[0] for each in list_lost_fields(before, after)} == {
        ".surprise",
        ".panels[1].options.legendary",
    }


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_panels_do_not_overlap_and_stay_within_the_grid(uid: str) -> None:
    occupied: set[tuple[int, int]] = set()
    for panel in content(uid)["panels"]:
        position = panel["gridPos"]
        cells = {(position["x"] + x, position["y"] + y) for x in range(position["w"]) for y in range(position["h"])}
        assert not cells & occupied, panel["title"]
        assert max(x for x, _ in cells) < 24
        occupied |= cells
    assert len({panel["id"] for panel in content(uid)["panels"]}) == len(content(uid)["panels"])


@pytest.mark.parametrize("uid", DASHBOARDS)
def test_every_panel_says_what_it_shows(uid: str) -> None:
    for panel in list_panels(uid):
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["datasource"]["uid"] == "${datasource}"


def expressions() -> dict[str, str]:
    """Return every PromQL expression, as Grafana sends it with all choices selected."""
    return {
        f"{panel['title']} {target['refId']}": target["expr"].replace("$frame_size", ".*").replace("$goal", ".*")
        for panel in list_panels("nodrop-openmetrics")
        for target in panel["targets"]
    }


def test_every_expression_is_promql(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions().values())]
    file = tmp_path / "rules.yaml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    checked = subprocess.run(
        [require_tool("promtool"), "check", "rules", "--lint=none", file],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_panel_is_answered_by_a_prometheus_that_scraped_a_run(
    require_tool: Callable[[str], Path], tmp_path: Path
) -> None:
    metrics = format_openmetrics(
        [measured(tmp_path, rate="ndr_pdr"), measured(tmp_path, rate="100kpps", frame_sizes=["128"])],
        current_run(tmp_path),
    )
    with serve_metrics(metrics) as target, run_prometheus(require_tool("prometheus"), target) as address:
        wait_for(lambda: query_prometheus(address, "nodrop_running"))
        empty = [name for name, query in expressions().items() if not query_prometheus(address, query)]
    assert empty == []


def current_run(directory: Path) -> RunState:
    result = measured(directory)
    trial = Trial(intended_load_pps=1e6, duration_s=1.0)
    return RunState(
        run_id="now",
        plan=make_plan(directory),
        goals=result.goals,
        trial=TrialStarted(index=3, phase="search", trial=trial),
        window=TrialProgress(index=3, elapsed_s=0.5, offered_count=500_000, received_count=499_000, lost_count=1000),
        trials=result.trials[:3],
    )


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@contextmanager
def serve_metrics(text: str) -> Iterator[str]:
    """Serve the text as /metrics; yield host and port."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def run_prometheus(program: Path, target: str) -> Iterator[str]:
    """Run a Prometheus that scrapes every second; yield its address."""
    port = free_port()
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory, "prometheus.yaml")
        scrape = {"job_name": "nodrop", "scrape_interval": "1s", "static_configs": [{"targets": [target]}]}
        config.write_text(json.dumps({"scrape_configs": [scrape]}))
        process = subprocess.Popen(
            [
                *(program, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}"),
                *(f"--storage.tsdb.path={directory}/data", "--log.level=error"),
            ]
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(20)


def query_prometheus(address: str, query: str) -> list[Any]:
    """Return the result of a Prometheus query; empty while the server is down."""
    try:
        with urllib.request.urlopen(
            f"{address}/api/v1/query?{urllib.parse.urlencode({'query': query})}", timeout=5
        ) as reply:
            result: list[Any] = json.load(reply)["data"]["result"]
    except OSError:
        return []
    return result


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 40
    while not condition():
        assert time.monotonic() < end, "no result in time"
        time.sleep(0.3)


def test_every_panel_is_answered_by_a_postgresql_that_holds_the_index(tmp_path: Path) -> None:
    results = tmp_path / "results"
    for label in (None, "it's new"):
        store.save(measured(tmp_path, label=label), results)
    store.save(measured(tmp_path, rate="100kpps", frame_sizes=["128"]), results)
    with postgresql_server() as url:
        open_index(results, url).close()
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
        with engine.connect() as connection:
            chosen = {name: read_choices(connection, query) for name, query in variables().items()}
            assert chosen["measure"][0] == "ndr"
            answers = {
                panel["title"]: connection.execute(text(expand_sql(target["rawSql"], chosen))).mappings().all()
                for panel in list_panels("nodrop-results")
                for target in panel["targets"]
            }
    assert [title for title, rows in answers.items() if not rows] == []
    for panel in list_panels("nodrop-results"):
        columns = set(answers[panel["title"]][0])
        assert panel["type"] != "timeseries" or columns == {"time", "metric", "value"}
        assert panel["type"] != "barchart" or "what" in columns
        assert {each["matcher"]["options"] for each in panel["fieldConfig"]["overrides"]} <= columns
    assert {row["value"] for row in answers["Highest load that meets a goal"]} == {
        goal.lower.load_pps for goal in measured(tmp_path).goals if goal.goal.label == "NDR" and goal.lower
    }


def variables() -> dict[str, str]:
    """Return the queries for the variables of the SQL dashboard."""
    return {each["name"]: each["query"] for each in content("nodrop-results")["templating"]["list"][1:]}


def read_choices(connection: Connection, query: str) -> list[str]:
    return [str(row[0]) for row in connection.execute(text(query))]


def expand_sql(sql: str, chosen: dict[str, list[str]]) -> str:
    """Return SQL as Grafana sends it, with macros and variables expanded.

    The format `sqlstring` turns several choices into a list of quoted texts, with inner quotes doubled.
    """
    for name, values in chosen.items():
        selected = values[:1] if name == "measure" else values
        quoted = ",".join("'" + value.replace("'", "''") + "'" for value in selected)
        sql = sql.replace(f"${{{name}:sqlstring}}", quoted)
    sql = re.sub(r"\$__timeFilter\(([^)]+)\)", r"\1 BETWEEN '2000-01-01T00:00:00Z' AND '2100-01-01T00:00:00Z'", sql)
    assert "$" not in sql
    return sql
