"""Points in the color of a verdict, for the charts of test procedures."""

from typing import NamedTuple

from nodrop.charts import theme
from nodrop.charts.base import Spec


class Verdicts(NamedTuple):
    """Names of the verdicts: the values of the field `kind`."""

    meets: str
    fails: str


def build_points(data_name: str, x: Spec, y: Spec, verdicts: Verdicts) -> Spec:
    """Return a layer of points, each with the text of its field `says`."""
    color: Spec = {
        "field": "kind",
        "type": "nominal",
        "scale": {"domain": list(verdicts), "range": [theme.MEETS, theme.FAILS]},
        "legend": None,
    }
    return {
        "data": {"name": data_name},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.8},
        "encoding": {
            "x": x,
            "y": y,
            "color": color,
            "description": {"field": "says"},
            "tooltip": {"field": "says"},
        },
    }


def build_line(data_name: str, x: Spec, y: Spec) -> Spec:
    """Return a layer with a line through points."""
    return {
        "data": {"name": data_name},
        "mark": {"type": "line", "color": theme.MUTED, "aria": False},
        "encoding": {"x": x, "y": y},
    }


def build_limit(y: Spec, field: str = "limit") -> Spec:
    """Return a layer with a dashed line at a field of the data `limits`."""
    return {
        "data": {"name": "limits"},
        "mark": {"type": "rule", "color": theme.INK, "strokeDash": theme.DASHES[1], "aria": False},
        "encoding": {"y": y | {"field": field}},
    }


def encode_steps(field: str, title: str, values: list[float]) -> Spec:
    """Return the encoding of a quantity along the x axis that has a tick for each step."""
    return {
        "field": field,
        "type": "quantitative",
        "scale": {"zero": False, "padding": 24},
        "axis": {"title": title, "values": values, "labelExpr": "format(datum.value, ',.4~g')"},
    }
