"""The report as one HTML file: self-contained, escaped, with its source data embedded."""

import base64
import gzip
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.recorded import record_run
from tests.running import MILLION

from nodrop import store
from nodrop.charts import render
from nodrop.charts.base import Chart
from nodrop.model.result import RunResult
from nodrop.report.html import render_results_page

HOSTILE = """</script></style><img src=x onerror=alert(1)>"'&<svg onload=alert(2)>"""


@pytest.fixture(autouse=True)
def no_drawings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the drawings, which have their own tests: the renderer's threads outlive a test and take others' signals."""
    monkeypatch.setattr(
        render, "render_svg", lambda chart: f"<svg class=drawn>{chart.name}</svg>" if _is(chart) else ""
    )


def _is(chart: Chart) -> bool:
    return bool(chart.spec["datasets"])


class TagCollector(HTMLParser):
    """Tags with their attributes, and whether every opened tag was closed."""

    EMPTY = frozenset({"meta", "link", "img", "br", "input"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def hostile_run(directory: Path) -> RunResult:
    """Return a run in which every text from outside tries to break out of its markup."""
    result = record_run(directory, MILLION, label=HOSTILE, user_info={HOSTILE: HOSTILE})
    assert result.facts
    stage = result.facts.stage.model_copy(update={"sut": HOSTILE, "name": HOSTILE})
    host = result.facts.host.model_copy(update={"name": HOSTILE, "cpu_model": HOSTILE})
    facts = result.facts.model_copy(update={"stage": stage, "host": host})
    plan = result.plan.model_copy(update={"warnings": (HOSTILE,)})
    return result.model_copy(update={"facts": facts, "plan": plan, "error": HOSTILE})


def test_what_others_wrote_is_text_and_never_markup(tmp_path: Path) -> None:
    seen = TagCollector(render_results_page([hostile_run(tmp_path)]))
    assert not seen.open
    assert not [tag for tag, _ in seen.tags if tag == "img"]
    assert [tag for tag, _ in seen.tags].count("script") == 1
    assert not [name for _, attributes in seen.tags for name in attributes if name.startswith("on")]


def test_it_fetches_nothing(tmp_path: Path) -> None:
    seen = TagCollector(render_results_page([record_run(tmp_path, MILLION)]))
    links = [
        value or "" for _, attributes in seen.tags for name, value in attributes.items() if name in ("href", "src")
    ]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links)
    assert not [attributes for _, attributes in seen.tags if "style" in attributes]


def test_its_policy_allows_what_it_brings_along_and_nothing_else(tmp_path: Path) -> None:
    text = render_results_page([record_run(tmp_path, MILLION)])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert policy[1].startswith("default-src &#39;none&#39;; style-src &#39;sha256-")
    assert "unsafe" not in policy[1]


def test_all_links_within_lead_somewhere(tmp_path: Path) -> None:
    seen = TagCollector(render_results_page([record_run(tmp_path, MILLION, frame_bytes=size) for size in (64, 512)]))
    ids = [value for _, attributes in seen.tags for name, value in attributes.items() if name == "id"]
    assert len(ids) == len(set(ids))
    inner = {(attributes.get("href") or "")[1:] for tag, attributes in seen.tags if tag == "a"}
    assert {link for link in inner if not link.startswith("ata:")} <= set(ids)


def test_headings_go_down_step_by_step(tmp_path: Path) -> None:
    seen = TagCollector(render_results_page([record_run(tmp_path, MILLION)]))
    levels = [int(tag[1]) for tag, _ in seen.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_result_can_be_taken_out_of_it_and_read_again(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION, label=HOSTILE)
    (link,) = (
        attributes["href"] or ""
        for tag, attributes in TagCollector(render_results_page([result])).tags
        if tag == "a" and attributes.get("download") == "result.json.gz"
    )
    content = gzip.decompress(base64.b64decode(link.partition("base64,")[2]))
    file = tmp_path / "result.json"
    file.write_bytes(content)
    assert store.load(file) == result
    assert content.decode() == store.to_json(result)


def test_a_password_does_not_travel_with_it(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    plan = result.plan.model_copy(update={"results_index": "postgresql://me:secret@host/db"})
    link = next(
        attributes["href"] or ""
        for tag, attributes in TagCollector(render_results_page([result.model_copy(update={"plan": plan})])).tags
        if attributes.get("download") == "result.json.gz"
    )
    stored = json.loads(gzip.decompress(base64.b64decode(link.partition("base64,")[2])))
    assert stored["plan"]["results_index"] == "postgresql://me:***@host/db"
