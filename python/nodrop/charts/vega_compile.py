"""Charts as Vega, the form a browser draws: it then needs Vega's runtime alone, and compiles nothing itself."""

import functools
import json
from typing import Any, cast

from nodrop.charts.base import Chart
from nodrop.charts.render import VEGA_LITE
from nodrop.charts.theme import Theme, apply_theme


def compile_chart(chart: Chart, theme: Theme) -> dict[str, Any]:
    """A chart's definition in a theme, without data: it is put in under the names the chart has for it."""
    return cast(dict[str, Any], json.loads(_compiled(json.dumps(chart.untitled), theme)))


@functools.lru_cache(64)
def _compiled(definition: str, theme: Theme) -> str:
    import vl_convert

    return json.dumps(vl_convert.vegalite_to_vega(apply_theme(json.loads(definition), theme, ground=False), VEGA_LITE))
