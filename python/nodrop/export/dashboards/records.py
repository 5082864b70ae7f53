"""Charts over the records that are shipped to Fluentd and stored in Elasticsearch.

Fields: docs/reference/fluentd-records.md.

Each chart is a definition of `nodrop.charts` with open scales, and the transforms that derive its fields from the
fields of a record. NFVbench's records have the same fields.
"""

from typing import Any, NamedTuple

from nodrop.charts import latency, rate_by_frame_size, theme
from nodrop.charts.axis import AxisUnit
from nodrop.charts.base import Spec
from nodrop.export.dashboards.labels import BITS_BY_SIZE, LATENCY_BY_SHARE, LOAD, LOAD_BY_SIZE

TIME = "@timestamp"
MPPS, GBPS, USEC = AxisUnit("Mpps", 1e6), AxisUnit("Gb/s", 1e9), AxisUnit("µs", 1e3)
PERCENTILES = (25, 50, 75, 90, 95, 99)
"""Percentiles that are shown; a record has some of them."""
LINE_STYLES: dict[str, list[Any]] = {
    "color": [theme.MUTED, *theme.LINES],
    "fill": [theme.MUTED, *theme.LINES],
    "strokeDash": [[2, 2], *(theme.get_line_dash(place) for place in range(len(theme.LINES)))],
}
"""Styles of lines: the first for muted lines, the others in order."""
LEGEND_COUNT = 15
"""Most lines in a legend."""
COMMON_FIELDS = ("user_label", "type", "drop_limit", "frame_size", "service_chain", "warning")
TABLE_COLUMNS = (
    *("user_label", "type", "service_chain", "sc_count", "frame_size", "flow_count", "rate_pps", "rate_bps"),
    *("drop_percentage", "avg_delay_usec", "max_delay_usec", "vSwitch", "version", "run_id", "warning"),
)
"""Columns of the table of all records."""
FIELD_FORMATS = {
    "rate_pps": "0,0.[000]a",
    "rate_bps": "0,0.[000]a",
    "total_tx_rate_pps": "0,0.[000]a",
    "total_rx_rate_pps": "0,0.[000]a",
    "theoretical_tx_rate_pps": "0,0.[000]a",
    "theoretical_tx_rate_bps": "0,0.[000]a",
    "offered_tx_rate_bps": "0,0.[000]a",
    "drop_percentage": "0.[00000]",
    "drop_rate_percent": "0.[00000]",
}
"""Kibana's number formats by field."""


class RecordRows(NamedTuple):
    """The derivation of a chart's rows from records."""

    fields: tuple[str, ...]
    """Required fields of a record."""
    transforms: list[Spec]
    """Transforms from records to the fields of the chart."""


class RecordPanel(NamedTuple):
    """A chart over records."""

    id: str
    title: str
    meaning: str
    definition: Spec
    rows: dict[str, RecordRows]
    """Rows by data name."""
    width: int = 24
    height: int = 18


def open_scales(definition: Spec, first: str = "") -> Spec:
    """Remove fixed domains from a chart, so that axes and legends adapt to the data.

    Args:
        definition: the definition of a chart with colored lines.
        first: the field that lines are sorted by; lines with values below zero are muted.
    """

    def part(value: Any) -> Any:
        if isinstance(value, list):
            return [part(each) for each in value]
        if not isinstance(value, dict):
            return value
        changed = {key: _open_scale(each) if key == "scale" else part(each) for key, each in value.items()}
        return changed | {key: _distinguish_lines(key, changed[key], first) for key in LINE_STYLES if key in changed}

    changed = part(definition)
    assert isinstance(changed, dict)
    return changed


def _open_scale(scale: Spec) -> Spec:
    return {key: value for key, value in scale.items() if key not in ("domain", "nice")}


def _distinguish_lines(channel: str, encoding: Any, first: str) -> Any:
    """Encode any number of lines by color and dash, with one legend; colors of marks are unchanged."""
    if not isinstance(encoding, dict) or encoding.get("type") != "nominal":
        return encoding
    if first:
        encoding = encoding | {"sort": {"field": first, "op": "min"}}
    legend = (
        None
        if channel == "strokeDash"
        else encoding.get("legend") and encoding["legend"] | {"columns": 3, "symbolLimit": LEGEND_COUNT}
    )
    muted = LINE_STYLES[channel][:1] if first else []
    return encoding | {"scale": {"range": [*muted, *LINE_STYLES[channel][1:]]}, "legend": legend}


def _build_calculation(name: str, expression: str) -> Spec:
    return {"calculate": expression, "as": name}


def _format_field(name: str) -> str:
    """Return the Vega expression of a record's field."""
    return f"datum._source['{name}']"


GOAL = (
    f"({_format_field('user_label')} ? {_format_field('user_label')} + ', ' : '') + "
    f"({_format_field('type')} == 'single_run' ? 'fixed rate' : {_format_field('type')}) + "
    f"(isValid({_format_field('drop_limit')}) ? ' ' + {_format_field('drop_limit')} + ' %' : '')"
)
"""The goal with the label of the run."""
SIZE = f"{_format_field('frame_size')}"
SIZE_TEXT = f"({SIZE} == 'IMIX' ? 'IMIX' : {SIZE} + ' bytes')"
BYTES = f"{SIZE} == 'IMIX' ? 361.83 : toNumber({SIZE})"
LATEST: list[Spec] = [
    _build_calculation("when", "datum.sort[0]"),
    {"joinaggregate": [{"op": "max", "field": "when", "as": "latest"}], "groupby": ["goal", "size"]},
    {"filter": "datum.when == datum.latest"},
]
"""Transforms that keep the last record of each goal and size; `sort` is the time that Elasticsearch sorts by."""


def _build_rate_rows(rate_field: str, most: str, unit: AxisUnit) -> RecordRows:
    """Build rows of the results at each frame size, optionally with the theoretical maximum."""
    kinds = ["found", "most"] if most else ["found"]
    return RecordRows(
        (*COMMON_FIELDS, rate_field, *([most] if most else [])),
        [
            {"filter": f"{_format_field(rate_field)} > 0 && isValid({_format_field('drop_limit')})"},
            _build_calculation("goal", GOAL),
            _build_calculation("size", SIZE),
            _build_calculation("bytes", BYTES),
            *LATEST,
            _build_calculation("found", _format_field(rate_field)),
            *([_build_calculation("most", _format_field(most))] if most else []),
            {"fold": kinds, "as": ["kind", "plain"]},
            {"filter": "datum.plain > 0"},
            _build_calculation("series", f"datum.kind == 'most' ? '{rate_by_frame_size.MAXIMUM}' : datum.goal"),
            _build_calculation("rank", "datum.kind == 'most' ? -1 : 0"),
            _build_calculation("rate", f"datum.plain / {unit.size:g}"),
            *_build_tooltips(unit),
        ],
    )


def _build_rates_over_time() -> RecordRows:
    """Build rows of the results over time."""
    return RecordRows(
        (*COMMON_FIELDS, "rate_pps"),
        [
            {"filter": f"{_format_field('rate_pps')} > 0 && isValid({_format_field('drop_limit')})"},
            _build_calculation("size", SIZE),
            _build_calculation("series", f"{GOAL} + ', ' + {SIZE_TEXT}"),
            _build_calculation("when", "datum.sort[0]"),
            _build_calculation("kind", "'found'"),
            _build_calculation("rate", f"{_format_field('rate_pps')} / {MPPS.size:g}"),
            *_build_tooltips(MPPS),
        ],
    )


def _build_tooltips(unit: AxisUnit) -> list[Spec]:
    """Build tooltips, and mark records with a warning as lower limits."""
    return [
        _build_calculation("least", f"datum.kind == 'found' && isValid({_format_field('warning')})"),
        _build_calculation(
            "says",
            f"datum.series + ' at ' + {SIZE_TEXT} + ': ' + format(datum.rate, '.4~r') + ' {unit.name}' + "
            f"(datum.least ? '. ' + {_format_field('warning')} : '')",
        ),
    ]


def _build_curve_rows() -> RecordRows:
    """Build rows of latency by percentile, for the percentiles of a record."""
    folded = [f"p{percentile}" for percentile in PERCENTILES]
    return RecordRows(
        (*COMMON_FIELDS, *(f"lat_percentile_{percentile}" for percentile in PERCENTILES)),
        [
            {"filter": f"isValid({_format_field('type')})"},
            _build_calculation("goal", GOAL),
            _build_calculation("size", SIZE),
            *LATEST,
            *(
                _build_calculation(f"p{percentile}", _format_field(f"lat_percentile_{percentile}"))
                for percentile in PERCENTILES
            ),
            {"fold": folded, "as": ["name", "latency"]},
            {"filter": "datum.latency > 0"},
            _build_calculation("percentile", "toNumber(substring(datum.name, 1))"),
            _build_calculation("behind", "100 / (100 - datum.percentile)"),
            _build_calculation("line", f"datum.goal + ', ' + {SIZE_TEXT}"),
            _build_calculation("mark", "true"),
            _build_calculation(
                "says",
                "datum.line + ': ' + datum.percentile + ' % of frames took at most ' + datum.latency + ' µs'",
            ),
        ],
    )


def _build_size_chart(unit: AxisUnit, what: str, first: str = "") -> Spec:
    """Build the chart of rates by frame size, in order of size, without labels, which would overlap."""
    definition = open_scales(rate_by_frame_size.build_definition((), (), {}, {"title": f"{what} ({unit.name})"}), first)
    layers = [layer for layer in definition["layer"] if layer["mark"]["type"] != "text"]
    return definition | {"layer": [_add_x(layer, {"sort": {"field": "bytes", "op": "min"}}) for layer in layers]}


def _build_time_chart() -> Spec:
    """Build the chart of rates over time."""
    definition = _build_size_chart(MPPS, "throughput, all directions")
    x = {"field": "when", "type": "temporal", "axis": {"title": None}, "scale": {"padding": 12}, "sort": None}
    return definition | {"layer": [_add_x(layer, x) for layer in definition["layer"]]}


def _add_x(layer: Spec, x: Spec) -> Spec:
    encoding = layer["encoding"]
    return layer | {"encoding": encoding | {"x": (encoding["x"] | x if "type" not in x else x)}}


def _build_latency_chart() -> Spec:
    """Build the chart of latency by percentile, on logarithmic axes."""
    definition = open_scales(latency.build_definition((), USEC, (), 100.0))
    y = {"scale": {"type": "log"}, "axis": {"title": f"latency ({USEC.name})", "format": "~s"}}
    layers = definition["layer"]
    return definition | {
        "layer": [each | {"encoding": each["encoding"] | {"y": each["encoding"]["y"] | y}} for each in layers]
    }


PANELS = (
    RecordPanel(
        "nodrop-rate-pps",
        LOAD_BY_SIZE.title,
        LOAD_BY_SIZE.meaning,
        _build_size_chart(MPPS, "throughput, all directions"),
        {"figures": _build_rate_rows("rate_pps", "", MPPS)},
    ),
    RecordPanel(
        "nodrop-rate-bps",
        BITS_BY_SIZE.title,
        BITS_BY_SIZE.meaning,
        _build_size_chart(GBPS, "throughput on the wire", "rank"),
        {"figures": _build_rate_rows("rate_bps", "theoretical_tx_rate_bps", GBPS)},
    ),
    RecordPanel(
        "nodrop-rate-course",
        LOAD.title,
        LOAD.meaning,
        _build_time_chart(),
        {"figures": _build_rates_over_time()},
    ),
    RecordPanel(
        "nodrop-latency",
        LATENCY_BY_SHARE.title,
        LATENCY_BY_SHARE.meaning,
        _build_latency_chart(),
        {"curves": _build_curve_rows()},
    ),
)
