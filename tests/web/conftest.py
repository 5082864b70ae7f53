"""A browser on a real server: Debian's chromium, driven by Playwright.

A request to any other server, and every error on the console, fails the test.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect, sync_playwright
from tests.api.serving import Server, run_server
from tests.conftest import skip_or_fail
from tests.waiting import stretch

SCREENSHOTS = Path(os.environ.get("NODROP_SCREENSHOTS", Path(__file__).parents[2] / ".ci/screenshots"))
WITHIN_MS = round(stretch(60_000))
WIDE, NARROW = (1280, 800), (390, 844)
Look = tuple[tuple[int, int], str]
LOOKS: list[Look] = [(size, theme) for size in (WIDE, NARROW) for theme in ("light", "dark")]
"""Sizes and themes in which tests view pages."""


class Window(NamedTuple):
    """A browser window with a separate session."""

    page: Page
    context: BrowserContext
    complaints: list[str]
    """Forbidden requests and errors so far."""


Open = Callable[..., Page]
"""Open a window: `open_page(url, size=NARROW, theme="dark", scripts=False)`."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if not program:
        skip_or_fail("chromium is not installed")
    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Run `nodrop serve`, with short runs; yield the server."""
    with run_server(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    windows: list[Window] = []

    def open_window(
        url: str,
        size: tuple[int, int] = WIDE,
        theme: str = "light",
        scripts: bool = True,
        complains: bool = True,
        **more: Any,
    ) -> Page:
        window = _window(browser, url, size, theme, scripts, **more)
        if not complains:  # a browser reports an error if the server goes away
            window = window._replace(complaints=[])
        windows.append(window)
        window.page.goto(url)
        return window.page

    yield open_window
    complaints = [complaint for window in windows for complaint in window.complaints]
    for window in windows:
        window.context.close()
    assert not complaints


def _window(browser: Browser, url: str, size: tuple[int, int], theme: str, scripts: bool, **more: Any) -> Window:
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=theme,  # type: ignore[arg-type]
        java_script_enabled=scripts,
        reduced_motion="reduce",
        **more,
    )
    context.set_default_timeout(WITHIN_MS)
    complaints: list[str] = []
    origin = "/".join(url.split("/")[:3])

    def check(route: Any) -> None:
        if route.request.url.startswith((f"{origin}/", "data:", "blob:")):
            route.fallback()
        else:
            complaints.append(f"requested {route.request.url}")
            route.abort()

    context.route("**/*", check)
    page = context.new_page()

    def collect_errors(message: ConsoleMessage) -> None:
        is_itself = message.location.get("url") == page.url  # an error page, reported with its status
        if message.type == "error" and not is_itself:
            complaints.append(f"{page.url}: {message.text}")

    page.on("console", collect_errors)
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    return Window(page, context, complaints)


def shoot(page: Page, name: str) -> None:
    """Store a screenshot of the complete page."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    size = page.viewport_size
    assert size
    theme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
    page.screenshot(path=SCREENSHOTS / f"{name}-{size['width']}-{theme}.png", full_page=True)


def barriers(page: Page) -> list[str]:
    """Return the serious and critical accessibility violations that axe finds, with their elements."""
    from axe_playwright_python.sync_playwright import Axe

    with contextlib.suppress(Exception):
        page.wait_for_load_state("networkidle", timeout=2000)
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['impact']}: {one['help']}: {node['html'][:160]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]


def sideways(page: Page) -> int:
    """Return by how many pixels a page is wider than its window."""
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width
