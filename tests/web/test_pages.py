"""Every page in a browser: content, layout and accessibility; and the way from a run to a verdict."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect
from tests.api.serving import Server, run_server
from tests.recorded import record_run
from tests.suts import SmoothCurve
from tests.waiting import stretch
from tests.web.conftest import LOOKS, NARROW, Look, Open, barriers, shoot, sideways

from nodrop.stage import registry

pytestmark = pytest.mark.web

HOSTILE = """</title><script>document.title="taken"</script><img src=x onerror=alert(1)>'" {{ 7 * 7 }} ${1}"""
TOKEN = "0123456789abcdef0123456789abcdef"
CAPACITY_PPS = 1e6


class Measured(NamedTuple):
    """A server with results of simulated SUTs: six with a label, the last three slower, and one with a hostile name."""

    server: Server
    nightly: tuple[str, ...]
    hostile: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    directory = tmp_path_factory.mktemp("measured")
    results = directory / "results"
    shares = [1, 1.002, 0.998, 0.948, 0.951, 0.949]
    nightly = tuple(
        record_run(results, SmoothCurve(share * CAPACITY_PPS, 0.002), label="nightly", search__width="1%").run_id
        for share in shares
    )
    hostile = record_run(results, SmoothCurve(CAPACITY_PPS, 0.002), label=HOSTILE, search__width="1%").run_id
    with run_server(directory) as server:
        yield Measured(server, nightly, hostile)


def inspect_page(open_page: Open, url: str, name: str, looks: Sequence[Look] = LOOKS) -> Page:
    """Check layout and accessibility in every size and theme, and store screenshots; return the last page."""
    for size, theme in looks:
        page = open_page(url, size, theme)
        draw_all(page)
        assert sideways(page) <= 0, f"{name} is wider than {size[0]} pixels"
        assert not barriers(page)
        shoot(page, name)
    return page


def draw_all(page: Page) -> None:
    """Scroll to every chart to have it drawn."""
    for place in page.locator("[data-chart]:visible").all():
        place.scroll_into_view_if_needed()
        expect(place.locator("svg")).to_be_visible()
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.usefixtures("require_privilege")
def test_a_run_is_seen_to_go_on_and_to_be_done_without_a_reload(server: Server, open_page: Open) -> None:
    page = open_page(server.url)
    run_id = server.post("/api/v1/runs", {"label": "watched", "rate": "5kpps", "duration": 300})["id"]
    now, done = page.get_by_role("region", name="In progress"), page.get_by_role("region", name="Finished")
    expect(now.get_by_role("link", name="watched")).to_be_visible()
    expect(now.get_by_text("running")).to_be_visible()
    now.get_by_role("button", name="Cancel watched").focus()
    shoot(page, "runs-live")
    expect(page.get_by_role("status")).to_have_text("watched: running")
    server.post("/api/v1/runs", {"label": "short", "rate": "5kpps", "duration": 1})
    server.post(f"/api/v1/runs/{run_id}/cancel", None)
    expect(done.get_by_role("link", name="watched")).to_be_visible()
    expect(done.get_by_role("link", name="short")).to_be_visible()
    expect(page.get_by_role("status")).to_contain_text("short: complete")
    done.get_by_role("link", name="forwarding rate at 5kpps").first.click()  # the newest run is the first
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert "/results/" in page.url


@pytest.mark.usefixtures("require_privilege")
def test_a_run_that_waits_can_be_cancelled_and_the_focus_stays_where_it_was(server: Server, open_page: Open) -> None:
    first_id = server.post("/api/v1/runs", {"label": "first", "rate": "5kpps", "duration": 300})["id"]
    server.post("/api/v1/runs", {"label": "second", "rate": "5kpps", "duration": 60})
    page = open_page(server.url)
    page.get_by_role("button", name="Cancel second").focus()
    expect(page.get_by_role("region", name="In progress").get_by_text("running")).to_be_visible()
    page.wait_for_timeout(2500)  # for the list to be refreshed
    expect(page.get_by_role("button", name="Cancel second")).to_be_focused()
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Finished").get_by_role("link", name="second")).to_be_visible()
    expect(page.get_by_text("cancelled before it began")).to_be_visible()
    server.post(f"/api/v1/runs/{first_id}/cancel", None)


def test_the_runs_are_listed_at_any_width(server: Server, open_page: Open) -> None:
    inspect_page(open_page, server.url, "runs")


def test_results_are_found_and_two_of_them_compared(measured: Measured, open_page: Open) -> None:
    url = measured.server.url
    inspect_page(open_page, f"{url}/results", "results")
    page = open_page(f"{url}/results")
    page.get_by_label("Search", exact=True).fill("night")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status")).to_have_text("1 to 6 of 6")
    for run_id in measured.nightly[:3]:
        page.get_by_role("checkbox", name=f"A: nightly, {run_id}").check()
    for run_id in measured.nightly[3:]:
        page.get_by_role("checkbox", name=f"B: nightly, {run_id}").check()
    page.get_by_role("button", name="Compare B with A").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("B is worse than A: NDR is 5.")
    page = inspect_page(open_page, page.url, "compare")
    expect(page.get_by_role("table").first).to_contain_text("worse")
    with page.expect_download(timeout=stretch(100_000)) as downloading:  # all charts of six runs
        page.get_by_role("link", name="Download report").click(no_wait_after=True)
    assert "B is worse than A" in downloading.value.path().read_text()


def test_a_search_can_be_narrowed_and_ordered_without_scripts(measured: Measured, open_page: Open) -> None:
    page = open_page(f"{measured.server.url}/results?label=nightly&sort=ndr", scripts=False)
    rows = page.get_by_role("row")
    assert measured.nightly[1] in (rows.nth(1).get_by_role("checkbox").first.get_attribute("value") or "")
    page.get_by_label("From").fill("2099-01-01")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status")).to_have_text("No matching results.")


def test_a_result_is_a_report_with_charts_that_are_drawn_when_looked_at(measured: Measured, open_page: Open) -> None:
    url = f"{measured.server.url}/results/{measured.nightly[0]}"
    page = inspect_page(open_page, url, "result")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.locator("[data-chart] svg").count() >= 2
    bare = open_page(url, scripts=False)
    assert bare.locator("noscript img, picture img").first.get_attribute("alt")


def test_a_report_is_one_file_that_asks_for_nothing_and_has_no_part_in_the_login(
    measured: Measured, open_page: Open, tmp_path: Path
) -> None:
    url = f"{measured.server.url}/results/{measured.nightly[0]}"
    page = open_page(url)
    with page.expect_download() as downloading:
        page.get_by_role("link", name="Download report").click()
    file = tmp_path / downloading.value.suggested_filename
    downloading.value.save_as(file)
    assert file.name == f"nodrop-{measured.nightly[0]}.html"
    assert "<svg" in file.read_text()
    alone = open_page(f"{url}/report.html")
    expect(alone.get_by_role("heading", level=1)).to_be_visible()
    assert alone.evaluate("self.origin") == "null"
    shoot(alone, "report")


def test_programs_have_the_same_as_json(measured: Measured) -> None:
    run_id = measured.nightly[0]
    stored = json.loads((measured.server.results_dir / run_id / "result.json").read_text())
    assert measured.server.get(f"/results/{run_id}/result.json") == stored
    assert "benchmarks" in measured.server.get(f"/results/{run_id}/nfvbench.json")


def test_tags_are_given_and_found_again(measured: Measured, open_page: Open) -> None:
    page = open_page(f"{measured.server.url}/results/{measured.nightly[1]}")
    page.get_by_label("Tags").fill("release-1.4 good")
    page.get_by_role("button", name="Save", exact=True).click()
    page.goto(f"{measured.server.url}/results?tag=good")
    expect(page.get_by_role("status")).to_have_text("1 to 1 of 1")
    page.goto(f"{measured.server.url}/results/{measured.nightly[1]}")
    page.get_by_label("Tags").fill("release-1.4 <b>")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("invalid tag ('<b>')")).to_be_visible()
    page.go_back()
    page.get_by_label("Tags").fill("")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_label("Tags")).to_have_value("")


def test_a_trend_shows_where_it_changed(measured: Measured, open_page: Open) -> None:
    page = inspect_page(open_page, f"{measured.server.url}/trend?label=nightly", "trend")
    expect(page.get_by_text("% lower").first).to_be_visible()
    page.get_by_role("link", name="Compare before and after").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("B is worse than A")


def test_hostile_names_are_only_text(measured: Measured, open_page: Open) -> None:
    url = measured.server.url
    for path in ("/results", f"/results/{measured.hostile}", f"/compare?a={measured.hostile}&b={measured.nightly[0]}"):
        page = open_page(f"{url}{path}")
        draw_all(page)
        expect(page.get_by_text("{{ 7 * 7 }}").first).to_be_attached()
        assert page.title() != "taken"
        assert page.locator("img[src=x]").count() == 0
    for path in (f"/results?text={HOSTILE}", f"/trend?label={HOSTILE}", f"/compare?a={HOSTILE}", f"/{HOSTILE}"):
        page = open_page(f"{url}{path}")
        assert page.title() != "taken"
        assert page.locator("img[src=x]").count() == 0


@pytest.mark.usefixtures("require_privilege")
def test_the_state_of_the_machine_is_shown_and_checked(measured: Measured, open_page: Open) -> None:
    page = open_page(f"{measured.server.url}/state")
    expect(page.get_by_text("nodrop serve").first).to_be_visible()
    page.get_by_role("button", name="Run self-test").click(no_wait_after=True)
    expect(page.get_by_role("rowheader", name="AF_PACKET", exact=True)).to_be_visible(timeout=stretch(60_000))
    with dead_lab(f"page-{os.getpid()}"):
        inspect_page(open_page, f"{measured.server.url}/state", "state")


@contextlib.contextmanager
def dead_lab(name: str) -> Iterator[None]:
    """Make a persistent lab in the state with the longest description."""
    command = [sys.executable, "-m", "nodrop", "lab"]
    subprocess.run(
        [*command, "up", "--sut", "bridge", "--name", name], check=True, capture_output=True, timeout=stretch(60)
    )
    try:
        record = registry.read_record(name)
        assert record
        os.kill(record.keeper.pid, signal.SIGKILL)
        yield
    finally:
        subprocess.run([*command, "down", "--name", name], check=True, capture_output=True, timeout=stretch(60))


def test_pages_without_anything_to_show_say_what_to_do(measured: Measured, open_page: Open) -> None:
    for path, name in (("/compare", "compare-empty"), ("/trend", "trend-empty"), ("/no-such-page", "missing")):
        inspect_page(open_page, f"{measured.server.url}{path}", name, LOOKS[:1])


def test_one_logs_in_with_a_token_and_stays_so(tmp_path: Path, open_page: Open) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(TOKEN)
    tokens.chmod(0o600)
    with run_server(tmp_path, "--token-file", str(tokens)) as server:
        page = inspect_page(open_page, f"{server.url}/results?label=x", "login", (LOOKS[0], LOOKS[3]))
        page.get_by_label("Token").fill("f" * 32)
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("Unknown token")
        page.get_by_label("Token").fill(TOKEN)
        page.get_by_role("button", name="Log in").click()
        assert page.url == f"{server.url}/results?label=x"
        page.goto(f"{server.url}/state")
        page.get_by_role("button", name="Log out").click()
        page.goto(f"{server.url}/state")
        expect(page.get_by_label("Token")).to_be_visible()


def test_a_keyboard_gets_past_the_navigation_and_sees_where_it_is(server: Server, open_page: Open) -> None:
    page = open_page(server.url, NARROW)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.goto(server.url)
    for _ in range(3):
        page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
