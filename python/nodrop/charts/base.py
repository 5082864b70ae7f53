"""What a chart is: a definition in Vega-Lite and, apart from it, its data."""

from typing import Any

from nodrop.model.base import Value

Spec = dict[str, Any]
"""A piece of Vega-Lite."""
Row = dict[str, Any]
"""A row of a chart's data."""
NOTE_SIZE = 12
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class Chart(Value):
    """A chart. The same definition is drawn in a browser, in a report, in a file, or over data of somebody else's."""

    name: str
    """Stable, for programs and file names: `funnel`."""
    title: str
    """What it shows, as a heading."""
    subtitle: str = ""
    """Of what, in smaller letters, lines apart: SUT, traffic, run."""
    note: str = ""
    """How to read it, where its marks do not say so themselves; stays with the drawing wherever that is shown."""
    summary: str
    """What is to be seen in it, as a sentence: for readers who see no pictures, and to stand beside it."""
    definition: Spec
    """Vega-Lite whose data is named, `{"data": {"name": "trials"}}`, and never inline; without a title, which
    pages set in their own letters."""
    data: dict[str, tuple[Row, ...]]
    """Rows by the names that the definition uses."""

    @property
    def spec(self) -> Spec:
        """All of it in one with its title, as any Vega-Lite renderer takes it."""
        below = [line for text in (self.subtitle, self.note) if text for line in text.split("\n")]
        title = {"text": self.title} | ({"subtitle": below} if below else {})
        return self.untitled | {"title": title, "datasets": {name: list(rows) for name, rows in self.data.items()}}

    @property
    def untitled(self) -> Spec:
        """Its definition with the note above it, to stand under a heading; without data."""
        look = {"fontSize": NOTE_SIZE, "fontWeight": "normal", "offset": 8}
        note: Spec = {"title": {"text": self.note.split("\n")} | look} if self.note else {}
        return {"$schema": SCHEMA} | note | self.definition
