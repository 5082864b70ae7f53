"""The page of a run, during and after it: real runs, viewed in a real browser."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.api.serving import NODROP, Server, run_server
from tests.waiting import stretch
from tests.web.conftest import LOOKS, NARROW, WIDE, WITHIN_MS, Open, barriers, shoot, sideways

pytestmark = [pytest.mark.web, pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]
FIXED = {"sut": "bridge", "rate": "5kpps", "duration": "3s"}
LONG = FIXED | {"duration": "300s"}  # a busy machine may take long to draw the first figure
SEARCHES = {"sut": "bridge", "search": {"budget": "120s", "max_load": "5Mpps", "width": "10%"}}
"""Seconds on a quiet machine; the budget is the limit of a busy one, where trials are repeated."""
TIMEOUT_MS = WITHIN_MS


def start_run(server: Server, **request: Any) -> str:
    return f"{server.url}/runs/{server.post('/api/v1/runs', request)['id']}"


def await_state(page: Page, state: str | re.Pattern[str]) -> None:
    expect(page.locator(".state").first).to_have_text(state, timeout=TIMEOUT_MS)


def await_elapsed(page: Page, beyond_s: float) -> float:
    """Wait until a trial has run for this time; return its elapsed time. Polls, as the pages' policy forbids eval."""
    elapsed_s = -1.0
    for _ in range(TIMEOUT_MS // 100):
        if page.locator("progress").count():
            elapsed_s = float(page.locator("progress").get_attribute("value") or 0)
        if elapsed_s > beyond_s:
            return elapsed_s
        page.wait_for_timeout(100)
    raise AssertionError(f"the trial is at {elapsed_s} s, not beyond {beyond_s} s")


def figure(page: Page, name: str) -> str:
    return page.locator("dl.passing > div", has_text=name).locator("dd").inner_text()


def test_a_fixed_rate_is_watched_with_figures_that_grow(server: Server, open_page: Open) -> None:
    url = start_run(server, **LONG, label="watched")
    page = open_page(url)
    expect(page).to_have_title(re.compile("Measuring at a fixed rate"), timeout=TIMEOUT_MS)
    before_s = await_elapsed(page, 0.0)
    await_elapsed(page, before_s + 1)
    assert figure(page, "sent").endswith("kpps")
    expect(page.locator("[data-chart=rate] canvas")).to_be_visible()
    expect(page.locator("[data-chart=bounds]")).to_be_hidden()  # there is no search
    shoot(page, "run-fixed-live")
    server.post(f"/api/v1{url.removeprefix(server.url)}/cancel", None)
    await_state(page, "cancelled")


def test_a_fixed_rate_is_watched_to_its_end(server: Server, open_page: Open) -> None:
    page = open_page(start_run(server, **FIXED))
    await_state(page, "complete")
    expect(page.get_by_role("link", name="Open result")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    assert "Complete" in page.title()


def test_bounds_close_in_on_the_page_of_a_search(server: Server, open_page: Open) -> None:
    url = start_run(server, **SEARCHES, label="bounds")
    page, narrow = open_page(url), open_page(url, NARROW, "dark")
    expect(page.locator("[data-chart=bounds] canvas")).to_be_visible(timeout=TIMEOUT_MS)
    expect(page.locator("[data-piece=trials] tbody tr").nth(2)).to_be_visible(timeout=TIMEOUT_MS)
    assert sideways(page) <= 0
    assert sideways(narrow) <= 0
    for each in (page, narrow):
        shoot(each, "run-live")
        assert not barriers(each)
    await_state(page, re.compile("complete|failed"))  # a busy machine may have no result within the budget
    goals = page.locator("[data-piece=bounds] tbody th")
    assert [text.split("\n")[0].split(" found")[0] for text in goals.all_inner_texts()] == ["NDR 0 %", "PDR 0.5 %"]
    trial_count = page.locator("[data-piece=trials] tbody th").count()
    page.reload()
    expect(page.locator("[data-piece=trials] tbody th")).to_have_count(trial_count)
    for size, theme in LOOKS:
        shoot(open_page(url, size, theme), "run-over")


def test_a_run_is_cancelled_from_its_page(server: Server, open_page: Open) -> None:
    page = open_page(start_run(server, **LONG, label="to be cancelled"))
    expect(page.locator("progress")).to_be_visible(timeout=TIMEOUT_MS)
    questions: list[str] = []
    page.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.accept()))
    page.get_by_role("button", name="Cancel").click()
    await_state(page, "cancelled")
    assert questions
    assert "measurements so far" in questions[0].lower()


def test_a_run_that_waits_says_how_many_are_before_it(server: Server, open_page: Open) -> None:
    first = start_run(server, **LONG)
    second, third = start_run(server, **FIXED), start_run(server, **FIXED)
    page = open_page(third)
    expect(page.locator("[data-piece=doing]")).to_contain_text(re.compile("queue"))
    await_state(page, "queued")
    for url in (third, second, first):
        server.post(f"/api/v1{url.removeprefix(server.url)}/cancel", None)


def test_without_scripts_the_page_is_whole_and_asks_to_be_loaded_again(server: Server, open_page: Open) -> None:
    page = open_page(start_run(server, **FIXED, label="<b>no script</b>"), WIDE, scripts=False)
    assert page.locator("h1").inner_text() == "<b>no script</b>"
    assert page.locator("noscript meta[http-equiv=refresh]").count() or "refresh" in page.content()
    for _ in range(round(stretch(40))):
        if page.locator(".state.complete").count():
            break
        page.wait_for_timeout(1000)
    assert page.locator("[data-piece=trials] tbody th").count() == 1


def test_a_page_finds_its_way_back_when_the_server_was_started_again(tmp_path: Path, open_page: Open) -> None:
    (tmp_path / "first").mkdir()
    with run_server(tmp_path / "first") as server:
        port = server.url.rpartition(":")[2]
        page = open_page(start_run(server, **LONG), complains=False)
        expect(page.locator("progress")).to_be_visible(timeout=TIMEOUT_MS)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        expect(page.locator("#lost")).to_be_visible(timeout=TIMEOUT_MS)
        base = tmp_path / "first"
        again = subprocess.Popen(
            [NODROP, "serve", "--port", port, "--results-dir", str(base / "results")],
            stdout=subprocess.PIPE,
            cwd=base,
        )
        try:
            await_state(page, "interrupted")
            expect(page.locator("#lost")).to_be_hidden()
        finally:
            again.terminate()
            again.wait(stretch(40))


def test_a_stream_that_is_taken_up_again_tells_everything_once(server: Server) -> None:
    url = start_run(server, **FIXED)
    first = subprocess.run(
        ["curl", "-sN", "--max-time", f"{stretch(60):g}", f"{url}/live"], capture_output=True, check=False
    ).stdout
    messages = [json.loads(line[6:]) for line in first.decode().splitlines() if line.startswith("data: ")]
    assert messages[-1]["over"]
    assert (
        sum("trials" in message["pieces"] for message in messages) <= 3
    )  # at first without trials, then with one, possibly again at its end
    last_id = re.findall(r"^id: (\d+)$", first.decode(), re.MULTILINE)[-1]
    again = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Last-Event-ID: {last_id}", f"{url}/live"]
    assert subprocess.run(again, capture_output=True, check=True).stdout == b"204"
