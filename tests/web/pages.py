"""The pages served in this process, with workers that measure nothing."""

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

from fastapi.testclient import TestClient
from tests.api.serving import WORKER

from nodrop.server.pages.routes import WebPages
from nodrop.server.rest.app import make_app
from nodrop.server.rest.journal import Journal
from nodrop.server.rest.run_queue import RunQueue, StopTimeouts
from nodrop.server.rest.server_config import ServerConfig
from nodrop.server.rest.tokens import Tokens

HTML = {"Accept": "text/html,application/xhtml+xml"}


@contextlib.contextmanager
def pages(results_dir: Path, tokens: Tokens | None = None, host: str = "127.0.0.1") -> Iterator[TestClient]:
    base = ServerConfig(results_dir=str(results_dir))
    with Journal(results_dir) as journal:
        runs = RunQueue(journal, base, WORKER, StopTimeouts(after_interrupt_s=0.5, after_terminate_s=0.5))
        runs.resume()
        app = make_app(runs, base, tokens, host, WebPages)
        with TestClient(app, base_url=f"http://{host}", headers=HTML, follow_redirects=False) as client:
            yield client


def form_token(page: str) -> str:
    match = re.search(r'name="form_token" value="([0-9a-f]+)"', page)
    assert match, "the page has no form"
    return match[1]
