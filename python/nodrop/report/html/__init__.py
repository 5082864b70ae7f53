"""A report as one self-contained HTML file, or as a part of a page.

Charts are inline SVG and attachments are data URLs, so the file works without scripts.
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
"""A function that draws a chart; its result is not escaped."""


def render_results_page(
    results: Sequence[RunResult], suite: Suite | None = None, comparison: Comparison | None = None
) -> str:
    """Return the report of results as one file that opens from disk, fetches nothing, and prints."""
    return render_page(build_document(results, suite, comparison))


def render_page(document: Document, drawing: Drawing | None = None) -> str:
    """Return a document as one file; charts are inline SVG unless `drawing` draws them."""
    values = _build_values(document, drawing)
    return _load_templates().get_template("page.html").render(**values, policy=build_policy(), version=__version__)


def render_fragment(document: Document, drawing: Drawing | None = None) -> str:
    """Return a document as a part of a page that includes `read_style` and `read_script`; already escaped."""
    return _load_templates().get_template("report.html").render(**_build_values(document, drawing))


def read_style() -> str:
    """Return the style sheet of reports."""
    return (HERE / "style.css").read_text(encoding="utf-8") + theme.build_css()


def read_script() -> str:
    """Return the script of reports: sorting and tooltips."""
    return (HERE / "enhance.js").read_text(encoding="utf-8")


def build_policy() -> str:
    """Return the Content Security Policy of the file: no fetching, sending or running of anything not included."""
    sources = {kind: _hash_source(text) for kind, text in (("style-src", read_style()), ("script-src", read_script()))}
    allowed = "; ".join(f"{kind} {source}" for kind, source in sources.items())
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"


def _build_values(document: Document, drawing: Drawing | None) -> dict[str, object]:
    return {"document": document, "drawing": drawing or _draw_svg}


def _draw_svg(chart: Chart) -> "Markup":
    """Return a chart as SVG, escaped by the renderer."""
    from markupsafe import Markup

    return Markup(render.render_svg(chart))


@cache
def _load_templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined)
    environment.globals |= {"style": Markup(read_style()), "script": Markup(read_script()), "data_url": _build_data_url}
    return environment


def _hash_source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _build_data_url(file: Attachment) -> str:
    """Return a data URL of a file, compressed if its name ends in .gz."""
    content = file.text.encode()
    if file.file_name.endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    return f"data:{file.media_type};base64,{base64.b64encode(content).decode()}"
