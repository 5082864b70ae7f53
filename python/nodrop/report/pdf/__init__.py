"""A report as PDF, set by Typst from the same document and the same charts.

Texts reach Typst as data and never as its language, so nothing in them can be taken for a command.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from nodrop import __version__
from nodrop.charts import render
from nodrop.errors import ConfigError
from nodrop.report.document.blocks import Document

TEMPLATE = Path(__file__).parent / "report.typ"


def render_pdf(shown: Document) -> bytes:
    """The report as PDF, A4. Raises ConfigError where Typst is not installed."""
    try:
        import typst
    except ImportError:
        raise ConfigError(
            "--format pdf asked, Typst is not installed; install nodrop with it (pip install 'nodrop[pdf]'), or ask "
            "for html and print that from a browser"
        ) from None
    with tempfile.TemporaryDirectory(prefix="nodrop-report-") as directory:
        place = Path(directory)
        for number, chart in enumerate(shown.charts()):
            (place / f"chart-{number}.pdf").write_bytes(render.render_pdf(chart))
        content = _numbered(shown.model_dump(mode="json", exclude={"attachments"}))
        (place / "report.json").write_text(json.dumps(content), encoding="utf-8")
        main = place / TEMPLATE.name
        shutil.copy(TEMPLATE, main)
        made: bytes = typst.compile(main, root=place, format="pdf", sys_inputs={"version": __version__})
    return made


def _numbered(shown: dict[str, Any]) -> dict[str, Any]:
    """Charts by their number in the document, in the order of `Document.charts`."""
    blocks = [block for section in reversed(shown["sections"]) for block in reversed(section["blocks"])]
    number = 0
    while blocks:
        block = blocks.pop()
        if block["kind"] == "fold":
            blocks += reversed(block["blocks"])
        elif block["kind"] == "figure":
            chart = block["chart"]
            block["chart"] = {"title": chart["title"], "summary": chart["summary"], "file": f"chart-{number}.pdf"}
            number += 1
    return shown
