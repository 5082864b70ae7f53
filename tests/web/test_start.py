"""The form that starts a run."""

import json
import re
import shlex

import pytest
from playwright.sync_api import Page, expect
from tests.api.serving import Server
from tests.web.conftest import LOOKS, Open, barriers, shoot, sideways

from nodrop.server.rest.forbidden_keys import FORBIDDEN

pytestmark = pytest.mark.web


def error_text(page: Page, key: str) -> str:
    return page.locator(f'[id="f-{key}-error"]').inner_text()


def press_tab_to(page: Page, selector: str) -> None:
    for _ in range(60):
        if page.evaluate(f"document.activeElement?.matches({json.dumps(selector)})"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{selector} cannot be reached by keyboard")


def test_the_form_fits_and_has_no_barriers(server: Server, open_page: Open) -> None:
    for size, theme in LOOKS:
        page = open_page(f"{server.url}/start", size, theme)
        assert sideways(page) <= 0
        shoot(page, "start")
        page.fill("#find", "width")
        expect(page.locator('[id="f-search.width"]')).to_be_visible()
        assert not barriers(page)


def test_every_key_a_request_may_set_is_there_with_what_it_means_and_no_other(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start")
    keys = page.eval_on_selector_all("[data-field]", "all => all.map(each => each.dataset.field)")
    assert {"sut", "search.width", "latency.percentiles", "traffic.dscp", "goals"} <= set(keys)
    assert not set(keys) & set(FORBIDDEN)
    assert len(keys) == len(set(keys)) > 100
    assert all(page.eval_on_selector_all('[id$="-help"]', "all => all.map(each => each.textContent.trim().length > 5)"))


@pytest.mark.lab
@pytest.mark.usefixtures("require_privilege")
def test_a_run_is_started_and_watched_by_the_keyboard_alone(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start")
    press_tab_to(page, "#f-rate")
    page.keyboard.type("5kpps")
    press_tab_to(page, "#f-duration")
    page.keyboard.type("2s")
    press_tab_to(page, "#f-label")
    page.keyboard.type("by hand")
    expect(page.locator("#preview .takes")).to_contain_text("about 4 s")
    press_tab_to(page, "button.main")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/runs/[0-9a-f]{32}$"))
    assert page.locator("h1").inner_text() == "by hand"
    expect(page.locator(".state").first).to_have_text("complete")
    page.get_by_role("link", name="Again").click()
    assert [page.input_value(f"#f-{key}") for key in ("rate", "duration", "label")] == ["5kpps", "2s", "by hand"]


def test_what_cannot_be_used_is_told_at_its_field_while_it_is_written(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start")
    page.fill("#f-frame_sizes", "64, IMX")
    page.fill("#f-chains", "2x")
    expect(page.locator("#f-chains")).to_have_attribute("aria-invalid", "true")
    assert "'IMX' is not a frame size" in error_text(page, "frame_sizes")
    expect(page.locator("#preview .takes")).to_contain_text("2 fields need fixing")
    shoot(page, "start-wrong")
    page.fill("#f-frame_sizes", "64, IMIX")
    page.fill("#f-chains", "2")
    expect(page.locator("#preview .takes")).to_contain_text("Takes about")
    assert not error_text(page, "chains")


def test_without_scripts_a_wrong_form_comes_back_as_it_was_filled_in(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start", scripts=False)
    page.fill("#f-rate", "fast")
    page.fill("#f-label", "<script>alert(1)</script>")
    page.locator("button.main").click()
    assert "is not a rate" in error_text(page, "rate")
    assert page.input_value("#f-label") == "<script>alert(1)</script>"
    page.fill("#f-rate", "5kpps")
    page.locator("#check").click()
    assert "Takes about" in page.locator("#preview").inner_text()
    assert server.get("/api/v1/runs")["total_count"] == 0 or not any(
        run["asked"].get("label") == "<script>alert(1)</script>" for run in server.get("/api/v1/runs")["runs"]
    )


def test_a_pasted_configuration_of_nfvbench_counts_and_fields_go_before_it(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start")
    page.get_by_text("Paste a configuration").click()
    page.fill("#f-pasted", "service_chain_count: 3\nrate: 20kpps\nsearch: {width: 3%}\n")
    page.fill("#f-rate", "10kpps")
    expect(page.locator("#preview")).to_contain_text("3 chains")
    expect(page.locator("#preview")).to_contain_text("at 10kpps")
    page.fill("#f-pasted", "search: {widht: 3%}")
    expect(page.locator("#preview")).to_contain_text("search.widht")
    page.fill("#f-pasted", "a: [")
    expect(page.locator("#f-pasted")).to_have_attribute("aria-invalid", "true")


def test_the_same_run_is_told_for_a_shell(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start?sut=bridge&label=it%27s+mine&search.width=3%25&frame_sizes=64,+IMIX")
    page.get_by_text("Equivalent commands").click()
    command, curl = page.locator("#preview pre").all_inner_texts()
    words = shlex.split(command)
    assert words[:2] == ["nodrop", "run"]
    assert {"--sut", "bridge", "search.width=3%", "label=it's mine"} <= set(words)
    words = shlex.split(curl)
    body = {"sut": "bridge", "frame_sizes": [64, "IMIX"], "label": "it's mine", "search": {"width": "3%"}}
    assert json.loads(words[words.index("-d") + 1]) == body


def test_a_key_of_the_servers_host_cannot_be_set_through_the_form(server: Server, open_page: Open) -> None:
    page = open_page(f"{server.url}/start")
    page.get_by_text("Paste a configuration").click()
    page.fill("#f-pasted", "results_dir: /tmp/elsewhere")
    expect(page.locator("#preview")).to_contain_text("names a file on the server's host")
    page.locator("button.main").click()
    expect(page.locator("#preview")).to_contain_text("names a file on the server's host")
    assert page.url.endswith("/start")
