"""The frame that all pages share: its layout, its accessibility and its theme."""

import pytest
from tests.api.serving import Server
from tests.web.conftest import LOOKS, Open, barriers, shoot, sideways

pytestmark = pytest.mark.web

TOKEN = "0123456789abcdef0123456789abcdef"
HTML = {"Accept": "text/html"}


def test_the_first_page_fits_has_no_barriers_and_is_there_in_a_second(server: Server, open_page: Open) -> None:
    for size, theme in LOOKS:
        page = open_page(server.url, size, theme)
        assert page.get_by_role("heading", name="In progress").is_visible()
        assert sideways(page) <= 0
        assert not barriers(page)
        shoot(page, "runs-empty")


def test_the_theme_that_is_chosen_wins_over_the_systems_and_is_remembered(server: Server, open_page: Open) -> None:
    for scripts in (True, False):
        page = open_page(server.url, scripts=scripts)
        page.get_by_role("button", name="Dark colors").click()
        page.wait_for_url(f"{server.url}/")
        page.goto(f"{server.url}/no-such-page")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        page.get_by_role("button", name="Light colors").click()
        assert page.locator("html").get_attribute("data-theme") == "light"
