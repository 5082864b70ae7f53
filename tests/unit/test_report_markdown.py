"""A report as GitHub-flavored Markdown: foreign text stays text."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from tests.recorded import record_run
from tests.running import MILLION

from nodrop.report.document import build_document
from nodrop.report.document.blocks import Cell, Column, Document, Section, Table
from nodrop.report.markdown import escape_markdown, render_markdown

HOSTILE = "| <script>alert(1)</script> [x](javascript:alert(1)) ![y](z) `a` **b**\n# heading\n- @team"


@pytest.fixture
def render_hostile(tmp_path: Path) -> str:
    result = record_run(tmp_path, MILLION, label=HOSTILE)
    plan = result.plan.model_copy(update={"warnings": (HOSTILE,)})
    return render_markdown(build_document([result.model_copy(update={"plan": plan})]))


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def test_what_others_wrote_stays_text(render_hostile: str) -> None:
    """Parse with markdown-it, a dependency of rich."""
    tokens = MarkdownIt("commonmark").enable("table").parse(render_hostile)
    pieces = [piece for token in tokens for piece in (token, *(token.children or ()))]
    assert not [piece for piece in pieces if piece.type in ("image", "link_open")]
    markup = {piece.content.strip() for piece in pieces if piece.type in ("html_block", "html_inline")}
    assert all(re.fullmatch(r"<br>|</details>|<details><summary>[^<>]*</summary>", each) for each in markup)
    assert not [token for token in tokens if token.type == "heading_open" and token.tag == "h1" and token.map != [0, 1]]
    assert HOSTILE.partition("\n")[0] in "".join(piece.content for piece in pieces if piece.type == "text")


def test_a_text_is_on_one_line() -> None:
    assert escape_markdown("a\r\n\n- b|c") == "a - b\\|c"


def test_rows_have_as_many_cells_as_there_are_columns(render_hostile: str) -> None:
    rows = [line for line in without_code(render_hostile).splitlines() if line.startswith("| ")]
    assert rows
    for table in re.findall(r"((?:^\|.*\n)+)", without_code(render_hostile), flags=re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


def test_a_pipe_in_a_cell_does_not_part_it() -> None:
    table = Table(caption="t", columns=(Column(title="a|b"),), rows=((Cell(text="c|d"),),))
    section = Section(name="s", title="s", blocks=(table,))
    output = Document(title="t", sentence="", trust="", trust_tone="good", cards=(), sections=(section,))
    assert "| c\\|d |" in render_markdown(output)
