"""The chart value: a Vega-Lite definition and, separately, its data."""

from typing import Any

from nodrop.model.base import Value

Spec = dict[str, Any]
"""A part of a Vega-Lite definition."""
Row = dict[str, Any]
"""A row of a chart's data."""
NOTE_SIZE = 12
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class Chart(Value):
    """A chart, whose definition can be drawn in a browser, a report or a file, and over data of other sources."""

    name: str
    """Stable name for programs and file names: `funnel`."""
    title: str
    """The heading."""
    subtitle: str = ""
    """The subject in smaller type: SUT, traffic, run; lines separated by newlines."""
    note: str = ""
    """A reading aid that is part of the drawing."""
    summary: str
    """The content as a sentence: a text alternative for readers who cannot see the chart, and a caption."""
    definition: Spec
    """Vega-Lite with named data, `{"data": {"name": "trials"}}`, never inline; without a title, which pages set in
    their own font."""
    data: dict[str, tuple[Row, ...]]
    """Rows by data name."""

    @property
    def spec(self) -> Spec:
        """The complete Vega-Lite specification with title and data, for any renderer."""
        below = [line for text in (self.subtitle, self.note) if text for line in text.split("\n")]
        title = {"text": self.title} | ({"subtitle": below} if below else {})
        return self.untitled | {"title": title, "datasets": {name: list(rows) for name, rows in self.data.items()}}

    @property
    def untitled(self) -> Spec:
        """The definition with the note above it, without title and data, for use under a heading."""
        style = {"fontSize": NOTE_SIZE, "fontWeight": "normal", "offset": 8}
        note: Spec = {"title": {"text": self.note.split("\n")} | style} if self.note else {}
        return {"$schema": SCHEMA} | note | self.definition
