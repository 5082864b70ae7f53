"""`nodrop report` in a browser, opened from disk: layout, accessibility, and download of its results."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch
from tests.web.conftest import NARROW, WIDE, Open, barriers, shoot, sideways

pytestmark = pytest.mark.web


class Files(NamedTuple):
    """Reports, as users open them."""

    searched: Path
    both: Path
    """Report of the search and of the run with real packets."""
    result: Path
    """The result file of the search."""


def run_nodrop(*arguments: object) -> None:
    environment = os.environ | {"NODROP_ALONGSIDE": "1"}
    command = [sys.executable, "-m", "nodrop", *map(str, arguments)]
    subprocess.run(command, check=True, timeout=stretch(120), env=environment, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Create reports of a simulated search and of a run with real packets through two chains."""
    place = tmp_path_factory.mktemp("reports")
    model, real = place / "model", place / "real"
    run_nodrop("simulate", "--sut", "smooth-knee", "--results-dir", model)
    run_nodrop("run", "-q", "--rate", "2kpps", "--duration", "1s", *FULL_RATE, "--chains", 2, "--results-dir", real)
    (searched,) = model.glob("*/result.json")
    (sent,) = real.glob("*/result.json")
    reports = Files(place / "searched.html", place / "both.html", searched)
    run_nodrop("report", searched, "-o", reports.searched)
    run_nodrop("report", searched, sent, "-o", reports.both)
    return reports


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "light"), (NARROW, "dark")])
def test_it_fits_and_has_no_barriers(size: tuple[int, int], theme: str, files: Files, open_page: Open) -> None:
    page = open_page(f"file://{files.both}", size=size, theme=theme)
    for fold in page.query_selector_all("summary"):
        fold.click()
    shoot(page, "report")
    assert barriers(page) == []
    assert sideways(page) == 0


def test_without_scripts_nothing_is_missing(files: Files, open_page: Open) -> None:
    with_scripts = open_page(f"file://{files.searched}")
    without = open_page(f"file://{files.searched}", scripts=False)
    sections = [page.locator("section h2").all_inner_texts() for page in (with_scripts, without)]
    assert sections[0] == sections[1]
    assert without.locator("figure svg").count() == with_scripts.locator("figure svg").count() > 0


def test_one_click_gives_back_the_result_without_network(files: Files, open_page: Open) -> None:
    page = open_page(f"file://{files.searched}", offline=True)
    with page.expect_download() as download:
        page.click("a[download='result.json.gz']")
    stored = json.loads(gzip.decompress(download.value.path().read_bytes()))
    assert stored == json.loads(files.result.read_text())


def test_a_click_on_a_heading_sorts_its_table_by_number(files: Files, open_page: Open) -> None:
    page = open_page(f"file://{files.searched}")
    page.click("summary:has-text('trials')")
    table = page.locator("table", has=page.get_by_role("button", name="received"))
    table.get_by_role("button", name="load").click()
    header = table.locator("th[aria-sort=ascending]")
    assert header.inner_text() == "load"
    loads = table.locator("tbody tr td:nth-child(3)").evaluate_all(
        "cells => cells.map(cell => Number(cell.dataset.key))"
    )
    assert len(loads) > 3
    assert loads == sorted(loads)


def test_a_mark_says_what_it_is_under_the_pointer(files: Files, open_page: Open) -> None:
    page = open_page(f"file://{files.searched}")
    mark = page.locator("figure svg [aria-label^='Trial 0']").first
    mark.scroll_into_view_if_needed()
    mark.hover(force=True)
    assert page.locator(".nodrop-tip").inner_text().startswith("Trial 0")


def test_on_paper_folds_are_open(files: Files, open_page: Open) -> None:
    page = open_page(f"file://{files.searched}")
    page.emulate_media(media="print")
    assert page.locator("table", has_text="began at").last.bounding_box()
    assert page.pdf(format="A4").startswith(b"%PDF")
