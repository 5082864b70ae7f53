"""A result in NFVbench's form, of either tool, as the tables of NFVbench: for a terminal, as Markdown, as CSV."""

from typing import Literal

from rich.console import Group, RenderableType
from rich.text import Text

from nodrop.report.document.blocks import Code, Section, Table
from nodrop.report.document.csv import add_lead, render_csv
from nodrop.report.markdown import render_markdown_sections
from nodrop.report.nfvbench.summary import list_header_lines
from nodrop.report.nfvbench.tables import build_sections
from nodrop.report.terminal import render_sections

TITLE = "NFVBench Summary"
WrittenForm = Literal["markdown", "csv"]


def render_nfvbench(result: object) -> RenderableType:
    """Return the tables for a terminal of any width."""
    header = map(Text, list_header_lines(result))
    return Group(Text(f"===== {TITLE} =====", style="bold"), *header, "", render_sections(build_sections(result)))


def write_nfvbench(result: object, form: WrittenForm) -> str:
    """Return the same tables as text."""
    if form == "markdown":
        header = Code(text="\n".join(list_header_lines(result)), language="text")
        return render_markdown_sections(TITLE, (Section(name="", title="", blocks=(header,)), *build_sections(result)))
    blocks = ((section, block) for section in build_sections(result) for block in section.blocks)
    return "\n".join(_render_csv(section, block) for section, block in blocks if isinstance(block, Table))


def _render_csv(section: Section, table: Table) -> str:
    """Return a table whose rows start with its caption and the frame size of its section."""
    lead = {"table": table.caption} | ({"frame_size": section.name} if section.name else {})
    return render_csv(add_lead(table, **lead))
