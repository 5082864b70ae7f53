"""Results for people and spreadsheets."""

import io
from collections.abc import Sequence
from typing import Literal

from rich.console import Console, RenderableType

from nodrop.export.nfvbench import nfvbench_result
from nodrop.model.result import RunResult
from nodrop.report.nfvbench import nfvbench_written
from nodrop.report.suite import suite_table
from nodrop.report.terminal import report

Format = Literal["text", "markdown", "csv"]
FORMATS: dict[Format, str] = {"text": "text/plain", "markdown": "text/markdown", "csv": "text/csv"}
COLUMNS = 100


def chosen_format(accept: str | None) -> Format:
    """The first that an Accept header asks for; text, where it names none."""
    kinds = [part.partition(";")[0].strip().lower() for part in (accept or "").split(",")]
    named: list[Format] = [name for kind in kinds for name, media_type in FORMATS.items() if media_type == kind]
    return named[0] if named else "text"


def render(results: Sequence[RunResult], wanted: Format) -> str:
    """The report as text, nodrop's own, or NFVbench's tables as Markdown or CSV."""
    if wanted == "text":
        several = [_text(suite_table(results))] if len(results) > 1 else []
        return "\n".join([*several, *(_text(report(result)) for result in results)])
    return nfvbench_written(nfvbench_result(results), wanted)


def _text(shown: RenderableType) -> str:
    out = io.StringIO()
    Console(file=out, width=COLUMNS, highlight=False, markup=False, emoji=False, color_system=None).print(shown)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())
