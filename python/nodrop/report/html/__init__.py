"""A report as one HTML file that needs nothing else, and as a part of a page.

The drawings are SVG within the page, the files it holds are links to data, so that all of it works without a script.
"""

import base64
import gzip
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from nodrop import __version__
from nodrop.analysis import Comparison
from nodrop.charts import render, theme
from nodrop.charts.base import Chart
from nodrop.model.result import RunResult
from nodrop.model.suite import Suite
from nodrop.report.document import build_document
from nodrop.report.document.blocks import Attachment, Document

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

HERE = Path(__file__).parent
Drawing = Callable[[Chart], "Markup"]
"""How a chart is drawn; what it gives is not escaped."""


def render_results_page(
    results: Sequence[RunResult], suite: Suite | None = None, comparison: Comparison | None = None
) -> str:
    """The report as one file: opens from disk, fetches nothing, prints."""
    return render_page(build_document(results, suite, comparison))


def render_page(shown: Document, drawing: Drawing | None = None) -> str:
    """A document as one file; charts are drawn here unless somebody else does."""
    values = _values(shown, drawing)
    return _templates().get_template("page.html").render(**values, policy=build_policy(), version=__version__)


def render_fragment(shown: Document, drawing: Drawing | None = None) -> str:
    """A document as a part of a page that brings `read_style` and `read_script`; safe as it is."""
    return _templates().get_template("report.html").render(**_values(shown, drawing))


def read_style() -> str:
    """The style sheet of reports."""
    return (HERE / "style.css").read_text(encoding="utf-8") + theme.build_css()


def read_script() -> str:
    """What a browser adds to a report."""
    return (HERE / "enhance.js").read_text(encoding="utf-8")


def build_policy() -> str:
    """Content security policy of the one file: nothing may be fetched, sent or run but what it brings along."""
    sources = {kind: _source(text) for kind, text in (("style-src", read_style()), ("script-src", read_script()))}
    allowed = "; ".join(f"{kind} {source}" for kind, source in sources.items())
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"


def _values(shown: Document, drawing: Drawing | None) -> dict[str, object]:
    return {"document": shown, "drawing": drawing or _drawing}


def _drawing(chart: Chart) -> "Markup":
    """A chart as SVG, which the renderer has escaped."""
    from markupsafe import Markup

    return Markup(render.render_svg(chart))


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    environment.globals |= {"style": Markup(read_style()), "script": Markup(read_script()), "data_url": _data_url}
    return environment


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_url(file: Attachment) -> str:
    """A file as a link that saves it, compressed when its name says so."""
    content = file.text.encode()
    if file.file_name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    return f"data:{file.media_type};base64,{base64.b64encode(content).decode()}"
