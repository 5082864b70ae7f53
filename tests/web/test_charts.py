"""Every chart drawn by Vega's runtime in a browser, under a page's policy, compared with rendering without one."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route
from tests.recorded import record_run
from tests.suts import SmoothCurve
from tests.unit.test_charts import WIDE, build_charts

from nodrop.server import pages

pytestmark = pytest.mark.web

STATIC = Path(pages.__file__).parent / "static"
SITE = "http://charts.test"
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'"
NEAR_PX = 3
"""Browsers measure texts with fonts that are about as wide as the renderer's."""
PAGE = """<!doctype html><title>charts</title>
<script src="/vega.min.js"></script><script src="/vega-interpreter.js"></script><div id="chart"></div>"""
DRAW = """async ({spec, data}) => {
  const view = new vega.View(vega.parse(spec, null, {ast: true}), {
    expr: vega.expressionInterpreter, renderer: "svg", container: "#chart", hover: false,
  });
  for (const [name, rows] of Object.entries(data)) view.data(name, rows);
  await view.runAsync();
  const svg = document.querySelector("#chart svg");
  const size = svg.getAttribute("viewBox").split(" ").slice(2).map(Number);
  const texts = [...svg.querySelectorAll("text")].map((text) => text.textContent);
  const labels = [...svg.querySelectorAll("[aria-label]")].map((mark) => mark.getAttribute("aria-label"));
  view.finalize();
  return {size, texts, labels};
}"""
RENDER = """
import json, re, sys
from xml.etree import ElementTree
from nodrop.charts import render
from nodrop.charts.base import Chart
from nodrop.charts.render import compile_chart
for line in sys.stdin:
    chart = Chart.model_validate_json(line)
    root = ElementTree.fromstring(render.render_svg(chart))
    parts = list(root.iter())
    print(json.dumps({
        "name": chart.name, "spec": compile_chart(chart, "light"), "data": chart.data,
        "size": [float(size) for size in root.get("viewBox").split()[2:]],
        "texts": ["".join(part.itertext()) for part in parts if part.tag.endswith("}text")],
        "labels": [part.get("aria-label") for part in parts if part.get("aria-label")],
    }))
"""


@pytest.fixture
def page(browser: Browser) -> Page:
    context = browser.new_context()
    page = context.new_page()

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(f"{SITE}/")
        headers = {"Content-Security-Policy": POLICY}
        if name:
            route.fulfill(path=STATIC / name, headers=headers)
        else:
            route.fulfill(body=PAGE, content_type="text/html", headers=headers)

    page.route("**/*", answer)
    page.goto(f"{SITE}/")
    return page


def test_a_browser_draws_what_is_drawn_without_one(page: Page, tmp_path: Path) -> None:
    charts = build_charts(record_run(tmp_path, SmoothCurve(9e5), **WIDE))
    lines = "\n".join(chart.model_dump_json() for chart in charts)
    done = subprocess.run([sys.executable, "-c", RENDER], input=lines, text=True, capture_output=True, check=True)
    drawings: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(drawings) == len(charts)
    for drawn in drawings:
        seen = page.evaluate(DRAW, {"spec": drawn["spec"], "data": drawn["data"]})
        assert seen["texts"] == drawn["texts"], drawn["name"]
        assert seen["labels"] == drawn["labels"], drawn["name"]
        assert seen["size"] == pytest.approx(drawn["size"], abs=NEAR_PX), drawn["name"]
