"""What a chart is: a definition in Vega-Lite and, apart from it, its data."""

from typing import Any

from nodrop.model.base import Value

Spec = dict[str, Any]
"""A piece of Vega-Lite."""
Row = dict[str, Any]
"""A row of a chart's data."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


class Chart(Value):
    """A chart. The same definition is drawn in a browser, in a report, in a file, or over data of somebody else's."""

    name: str
    """Stable, for programs and file names: `funnel`."""
    title: str
    """What it shows, as a heading."""
    subtitle: str = ""
    """Of what, in smaller letters, lines apart: SUT, traffic, run."""
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
        title = {"text": self.title} | ({"subtitle": self.subtitle.split("\n")} if self.subtitle else {})
        datasets = {name: list(rows) for name, rows in self.data.items()}
        return {"$schema": SCHEMA, "title": title} | self.definition | {"datasets": datasets}
