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
    summary: str
    """What is to be seen in it, as a sentence: for readers who see no pictures, and to stand beside it."""
    definition: Spec
    """Vega-Lite whose data is named, `{"data": {"name": "trials"}}`, and never inline."""
    data: dict[str, tuple[Row, ...]]
    """Rows by the names that the definition uses."""

    @property
    def spec(self) -> Spec:
        """All of it in one, as any Vega-Lite renderer takes it."""
        return {"$schema": SCHEMA} | self.definition | {"datasets": {name: list(self.data[name]) for name in self.data}}
