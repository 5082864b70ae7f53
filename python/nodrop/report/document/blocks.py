"""What a report is made of, whoever draws it: values without any layout. Texts are plain and escaped where they go."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field

from nodrop.charts.base import Chart
from nodrop.model.base import Value

Tone = Literal["plain", "good", "caution", "bad", "quiet"]
"""How something is meant; whoever draws it says so by more than a colour."""


class Card(Value):
    """A figure on the first screen."""

    label: str
    """What it is: `NDR`."""
    text: str
    """`312.3 kpps`."""
    about: str = ""
    """What it means, for somebody who has never seen it: `highest rate without any loss`."""
    details: tuple[str, ...] = ()
    """What belongs to it, a line each."""
    tone: Tone = "plain"


class Paragraph(Value):
    """Some sentences."""

    kind: Literal["paragraph"] = "paragraph"
    text: str
    tone: Tone = "plain"


class Bullets(Value):
    """Sentences one below the other."""

    kind: Literal["bullets"] = "bullets"
    items: tuple[str, ...]
    tone: Tone = "plain"
    """`caution` for warnings."""


class Column(Value):
    """A column of a table."""

    title: str
    unit: str = ""
    """Of the cells' keys, for programs: `pps`, `s`."""
    is_number: bool = True
    """Figures are set to the right, words to the left."""
    is_long: bool = False
    """Sentences, which take the room that is left."""


class Cell(Value):
    """A cell of a table."""

    text: str
    key: float | None = None
    """The figure itself, in the unit of its column: to sort by, and for programs; None: there is none but the text."""
    tone: Tone = "plain"


class Table(Value):
    """Rows of cells."""

    kind: Literal["table"] = "table"
    caption: str
    """What is in it, as a heading."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    """Units and the like, under it."""


class Figure(Value):
    """A chart, with its title and what is to be seen in it."""

    kind: Literal["figure"] = "figure"
    chart: Chart


class Facts(Value):
    """Names and what they are."""

    kind: Literal["facts"] = "facts"
    caption: str
    pairs: tuple[tuple[str, str], ...]


class Code(Value):
    """What is to be taken as it is, to be run or read by a program."""

    kind: Literal["code"] = "code"
    text: str
    language: str
    """`yaml`, `sh`."""
    file_name: str = ""
    """The name to save it by; empty: it is not worth a file."""


class Terms(Value):
    """Words and what they mean."""

    kind: Literal["terms"] = "terms"
    pairs: tuple[tuple[str, str], ...]


class Fold(Value):
    """What is there for those who want it: closed at first where that is possible."""

    kind: Literal["fold"] = "fold"
    title: str
    blocks: tuple["Block", ...]


Block = Annotated[
    Paragraph | Bullets | Table | Figure | Facts | Code | Terms | Fold,
    Field(discriminator="kind"),
]


class Section(Value):
    """A part of a report under a heading."""

    name: str
    """Stable, for links: `search`."""
    title: str
    blocks: tuple[Block, ...]


class Attachment(Value):
    """A file that travels within the report."""

    file_name: str
    media_type: str
    text: str
    about: str
    """What it is, for the link: `everything measured, as JSON`."""


class Document(Value):
    """A report."""

    title: str
    """What was measured, in short."""
    sentence: str
    """What was measured and found, for somebody who knows nothing of it."""
    trust: str
    """How far that can be believed, in a sentence."""
    trust_tone: Tone
    cards: tuple[Card, ...]
    facts: tuple[tuple[str, str], ...] = ()
    """When, where and with what, in short."""
    sections: tuple[Section, ...]
    attachments: tuple[Attachment, ...] = ()

    def charts(self) -> tuple[Chart, ...]:
        """All charts, in order."""
        return tuple(chart for section in self.sections for chart in charts_of(section.blocks))


def charts_of(blocks: Sequence[Block]) -> Iterator[Chart]:
    """The charts among blocks, in order."""
    for block in blocks:
        if isinstance(block, Figure):
            yield block.chart
        elif isinstance(block, Fold):
            yield from charts_of(block.blocks)
