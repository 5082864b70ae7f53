"""A report as PDF, typeset by Typst from the same document and the same charts.

Texts reach Typst as data, so they cannot contain commands.
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


def render_pdf(document: Document) -> bytes:
    """Return the report as PDF, A4. Raises ConfigError if Typst is not installed."""
    try:
        import typst
    except ImportError:
        raise ConfigError(
            "--format pdf: Typst is not installed; run pip install 'nodrop[pdf]', or use --format html and print the "
            "page from a browser"
        ) from None
    document = document.for_paper()
    with tempfile.TemporaryDirectory(prefix="nodrop-report-") as temporary:
        directory = Path(temporary)
        for number, chart in enumerate(document.charts()):
            (directory / f"chart-{number}.pdf").write_bytes(render.render_pdf(chart))
        content = _name_charts(document.model_dump(mode="json"))
        (directory / "report.json").write_text(json.dumps(content), encoding="utf-8")
        main = directory / TEMPLATE.name
        shutil.copy(TEMPLATE, main)
        content_pdf: bytes = typst.compile(main, root=directory, format="pdf", sys_inputs={"version": __version__})
    return content_pdf


def _name_charts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with file names for charts, numbered in the order of `Document.charts`."""
    blocks = [block for section in reversed(document["sections"]) for block in reversed(section["blocks"])]
    number = 0
    while blocks:
        block = blocks.pop()
        if block["kind"] == "fold":
            blocks += reversed(block["blocks"])
        elif block["kind"] == "figure":
            chart = block["chart"]
            block["chart"] = {"title": chart["title"], "summary": chart["summary"], "file": f"chart-{number}.pdf"}
            number += 1
    return document
