"""The parts of a report: values without layout. Texts are plain; each renderer escapes them."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from nodrop.charts.base import Chart
from nodrop.errors import ConfigError
from nodrop.model.base import Value

Tone = Literal["plain", "good", "caution", "bad", "quiet"]
"""The meaning of a text; renderers show it by more than a color."""


class Card(Value):
    """A figure on the first screen."""

    label: str
    """The name of the figure: `NDR`."""
    text: str
    """`312.3 kpps`."""
    about: str = ""
    """The meaning for readers new to the field: `highest rate without any loss`."""
    details: tuple[str, ...] = ()
    """Related figures, one per line."""
    tone: Tone = "plain"


class Paragraph(Value):
    """One or more sentences."""

    kind: Literal["paragraph"] = "paragraph"
    text: str
    tone: Tone = "plain"


class Bullets(Value):
    """A list of sentences."""

    kind: Literal["bullets"] = "bullets"
    items: tuple[str, ...]
    tone: Tone = "plain"
    """`caution` for warnings."""


class Column(Value):
    """A column of a table."""

    title: str
    unit: str = ""
    """The unit of the cells' keys, for programs: `pps`, `s`."""
    is_number: bool = True
    """Whether cells are aligned to the right."""
    is_long: bool = False
    """Whether cells hold sentences, which take the remaining width."""
    is_detail: bool = False
    """Whether the brief form of the table omits the column."""
    is_lead: bool = False
    """Whether each part of a table too wide for its medium repeats the column; without any, the first column is."""
    starts_part: bool = False
    """Whether a part of a table too wide for its medium preferably starts with the column."""
    csv_name: str = ""
    """The heading in CSV files; empty: made of title and unit."""


class Cell(Value):
    """A cell of a table."""

    text: str
    key: int | float | None = None
    """The value in the unit of its column, for sorting and for programs; None: only the text."""
    tone: Tone = "plain"
    share: float | None = Field(default=None, ge=0, le=1)
    """A share to draw as a bar beside the text; the whole column's width is 1."""


class Table(Value):
    """Rows of cells."""

    kind: Literal["table"] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """Units and the method, below the table."""

    @property
    def has_prose(self) -> bool:
        """Whether a column holds sentences; on paper they take the place of the detail columns."""
        return any(column.is_long for column in self.columns)

    def brief(self) -> "Table":
        """Return the table without detail columns, caption and note."""
        positions = [position for position, column in enumerate(self.columns) if not column.is_detail]
        columns = tuple(self.columns[position] for position in positions)
        return Table(
            caption="", columns=columns, rows=tuple(tuple(row[each] for each in positions) for row in self.rows)
        )


class Figure(Value):
    """A chart with its title and summary."""

    kind: Literal["figure"] = "figure"
    chart: Chart


class FactList(Value):
    """Names and values."""

    kind: Literal["facts"] = "facts"
    caption: str
    pairs: tuple[tuple[str, str], ...]


class Code(Value):
    """Verbatim text to be run or read by a program."""

    kind: Literal["code"] = "code"
    text: str
    language: str
    """`yaml`, `sh`."""
    file_name: str = ""
    """The name to save the text by; empty: readers do not save it."""


class Glossary(Value):
    """Terms and their definitions."""

    kind: Literal["terms"] = "terms"
    pairs: tuple[tuple[str, str], ...]


class Fold(Value):
    """Details: closed at first if the medium supports that."""

    kind: Literal["fold"] = "fold"
    title: str
    blocks: tuple["Block", ...]
    is_on_paper: bool = True
    """Whether paper, which cannot fold, has the details."""


Block = Annotated[
    Paragraph | Bullets | Table | Figure | FactList | Code | Glossary | Fold,
    Field(discriminator="kind"),
]


class Section(Value):
    """A part of a report under a heading."""

    name: str
    """A stable name for links: `search`."""
    title: str
    """Empty: no heading."""
    blocks: tuple[Block, ...]


class Attachment(Value):
    """A file embedded in the report."""

    file_name: str
    media_type: str
    text: str
    about: str
    """The text of the link: `everything measured, as JSON`."""


class Document(Value):
    """A report."""

    title: str
    """The measured system and traffic, in short."""
    sentence: str
    """Measurement and result, for readers new to the field."""
    trust: str
    """How far the result can be trusted, in a sentence."""
    trust_tone: Tone
    cards: tuple[Card, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """Time, host and tools, in short."""
    sections: tuple[Section, ...]
    attachments: tuple[Attachment, ...] = ()

    def for_paper(self) -> "Document":
        """Return the document without folds that paper leaves out, and without files."""
        sections = (
            section.replace(blocks=tuple(map(_fit_to_paper, filter(_is_on_paper, section.blocks))))
            for section in self.sections
        )
        kept = tuple(section for section in sections if section.blocks)
        return self.replace(sections=kept, attachments=())

    def charts(self) -> tuple[Chart, ...]:
        """Return all charts, in order."""
        return tuple(chart for section in self.sections for chart in find_charts(section.blocks))


def _is_on_paper(block: Block) -> bool:
    return not isinstance(block, Fold) or block.is_on_paper


def _fit_to_paper(block: Block) -> Block:
    """Return a block without the heading of a fold around a single table, and without details of tables of prose."""
    if isinstance(block, Fold):
        blocks = tuple(map(_fit_to_paper, block.blocks))
        is_table = len(blocks) == 1 and isinstance(blocks[0], Table)
        return blocks[0] if is_table else block.replace(blocks=blocks)
    if isinstance(block, Table) and block.has_prose:
        return block.brief().replace(caption=block.caption, note=block.note)
    return block


def find_charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    """Yield the charts among blocks, in order."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block.chart
        elif isinstance(block, Fold):
            yield from find_charts(block.blocks)


def build_figure(draw: Callable[[], Chart]) -> tuple[Figure, ...]:
    """Return a chart as a block; nothing if the chart has no data and raises ConfigError."""
    try:
        return (Figure(chart=draw()),)
    except ConfigError:
        return ()
