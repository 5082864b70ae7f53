"""A result for people, as text or Markdown."""

import io
from collections.abc import Sequence
from typing import Literal

from rich.console import Console

from nodrop.model.result import RunResult
from nodrop.report.text import report

Format = Literal["text", "markdown"]
FORMATS: dict[Format, str] = {"text": "text/plain", "markdown": "text/markdown"}
COLUMNS = 100


def chosen_format(accept: str | None) -> Format:
    """What an Accept header asks for; text, where it does not say Markdown."""
    kinds = [part.partition(";")[0].strip().lower() for part in (accept or "").split(",")]
    return "markdown" if FORMATS["markdown"] in kinds else "text"


def render(results: Sequence[RunResult], wanted: Format) -> str:
    """The report of every result, one after the other."""
    texts = [_text(result) for result in results]
    return "\n".join(f"```\n{text}```\n" for text in texts) if wanted == "markdown" else "\n".join(texts)


def _text(result: RunResult) -> str:
    out = io.StringIO()
    Console(file=out, width=COLUMNS, highlight=False, markup=False, emoji=False, color_system=None).print(
        report(result)
    )
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
