"""Tables of results for spreadsheets and data frames, as CSV and Parquet. Columns: docs/reference/tables.md."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, get_args

from nodrop import __version__
from nodrop.errors import ConfigError
from nodrop.formatting.messages import format_message
from nodrop.model.base import Value
from nodrop.model.result import RunResult
from nodrop.model.summary import Measure, Summary
from nodrop.model.trial import TrialResult

CellKind = Literal["text", "integer", "real", "boolean", "time"]
Format = Literal["csv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
UNIT_SUFFIXES = ("pps", "ns", "s", "bytes", "count", "ratio")
LIST_SEPARATOR = ";"


class TableColumn(NamedTuple):
    """A column: its name, kind and meaning."""

    name: str
    kind: CellKind
    meaning: str = ""

    @property
    def unit(self) -> str:
        """The unit suffix of the name; empty without a unit."""
        end = self.name.rsplit("_", 1)[-1]
        return end if end in UNIT_SUFFIXES and self.kind in ("integer", "real") else ""


class ResultTable(NamedTuple):
    """A table; None is an unknown value."""

    name: str
    columns: tuple[TableColumn, ...]
    rows: list[tuple[Any, ...]]


def build_long_table(summaries: Iterable[Summary], tags: Mapping[str, Sequence[str]] | None = None) -> ResultTable:
    """Build a table with one row per run and measure; a run without measures has one row.

    Args:
        summaries: runs of nodrop or other testers.
        tags: tags by run id.
    """
    tagged = tags or {}
    nothing = (None,) * len(MEASURE_COLUMNS)
    rows = [
        (*_iter_run_cells(summary, tagged), *measured)
        for summary in summaries
        for measured in ([tuple(_iter_measure_cells(each)) for each in summary.measures] or [nothing])
    ]
    return ResultTable("measures", (*RUN_COLUMNS, *MEASURE_COLUMNS), rows)


def build_wide_table(summaries: Sequence[Summary], tags: Mapping[str, Sequence[str]] | None = None) -> ResultTable:
    """Build a table with one row per run and four columns per measure: value, low, high, limit."""
    measures = {measure.key: measure for summary in reversed(summaries) for measure in summary.measures}
    keys = sorted(measures)
    columns = [column for key in keys for column in _measure_columns(measures[key])]
    rows = []
    for summary in summaries:
        by_key = {measure.key: measure for measure in summary.measures}
        cells = [cell for key in keys for cell in _list_measure_cells(by_key.get(key))]
        rows.append((*_iter_run_cells(summary, tags or {}), *cells))
    return ResultTable("runs", (*RUN_COLUMNS, *columns), rows)


def build_trial_table(result: RunResult) -> ResultTable:
    """Build a table with one row per trial of a run."""
    rows = [tuple(cell(result, trial) for _, cell in TRIAL_CELLS) for trial in result.trials]
    return ResultTable("trials", tuple(column for column, _ in TRIAL_CELLS), rows)


def build_window_table(result: RunResult) -> ResultTable:
    """Build a table with one row per window of each trial and series: the counts over the course of a trial."""
    return ResultTable(
        "windows", WINDOW_COLUMNS, [row for trial in result.trials for row in _iter_windows(result, trial)]
    )


def serialize_table(table: ResultTable, file_format: Format) -> bytes:
    """Serialize a table in a format. Raises ConfigError where pyarrow is required but not installed."""
    return to_csv(table).encode() if file_format == "csv" else to_parquet(table)


def to_csv(table: ResultTable) -> str:
    """Format a table as CSV (RFC 4180) with a header; unknown values are empty, times are ISO 8601."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_format_csv_cell(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def to_parquet(table: ResultTable) -> bytes:
    """Format a table as Parquet with typed columns, and units and meanings as metadata. Raises ConfigError."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise ConfigError("parquet: pyarrow is not installed; run pip install 'nodrop[parquet]' or use csv") from None
    kinds = {
        "text": pa.string(),
        "integer": pa.int64(),
        "real": pa.float64(),
        "boolean": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
    }
    fields = [
        pa.field(column.name, kinds[column.kind], metadata={"unit": column.unit, "meaning": column.meaning})
        for column in table.columns
    ]
    about = {"nodrop_version": __version__, "nodrop_table": table.name}
    cells = list(zip(*table.rows, strict=True)) if table.rows else [()] * len(fields)
    arrays = [pa.array(column, field.type) for column, field in zip(cells, fields, strict=True)]
    sink = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=about)), sink)
    return sink.getvalue()


def _format_csv_cell(cell: Any) -> Any:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell.isoformat().replace("+00:00", "Z") if isinstance(cell, datetime) else cell


def _parse_time(text: str) -> datetime | None:
    """Parse a time in UTC; None where an imported file has none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


CELL_KINDS: dict[Any, CellKind] = {int: "integer", float: "real", bool: "boolean", float | None: "real"}


def _iter_columns(model: type[Value], leave: Sequence[str] = ()) -> Iterator[TableColumn]:
    """Yield the fields of a value as columns, with their descriptions."""
    for name, field in model.model_fields.items():
        if name not in leave:
            kind = "time" if name.endswith("_at") else CELL_KINDS.get(field.annotation, "text")
            yield TableColumn(name, kind, field.description or "")


RUN_COLUMNS = (
    *_iter_columns(Summary, leave=("measures", "missing_goals", "doubts")),
    TableColumn("tags", "text", f"Tags of the run, joined by {LIST_SEPARATOR!r}."),
)
MEASURE_COLUMNS = tuple(column._replace(name=f"measure_{column.name}") for column in _iter_columns(Measure))


def _iter_run_cells(summary: Summary, tags: Mapping[str, Sequence[str]]) -> Iterator[Any]:
    for column in RUN_COLUMNS[:-1]:
        cell = getattr(summary, column.name)
        yield _parse_time(cell) if column.kind == "time" else cell
    yield LIST_SEPARATOR.join(tags.get(summary.run_id, ()))


def _iter_measure_cells(measure: Measure) -> Iterator[Any]:
    yield from (getattr(measure, name) for name in Measure.model_fields)


def _measure_columns(measure: Measure) -> Iterator[TableColumn]:
    key, unit = measure.key, measure.unit
    yield TableColumn(f"{key}_{unit}", "real", measure.text)
    yield TableColumn(f"{key}_low_{unit}", "real", f"{measure.text}: lower bound")
    yield TableColumn(f"{key}_high_{unit}", "real", f"{measure.text}: upper bound")
    yield TableColumn(f"{key}_limit", "text", f"{measure.text}: its limit")


def _list_measure_cells(measure: Measure | None) -> tuple[Any, ...]:
    return (measure.value, measure.low, measure.high, measure.limit) if measure else (None,) * 4


def _make_stream_sum(name: str) -> Callable[[RunResult, TrialResult], int]:
    return lambda _, trial: sum(getattr(stream, name) for stream in trial.streams)


TRIAL_CELLS: tuple[tuple[TableColumn, Callable[[RunResult, TrialResult], Any]], ...] = (
    (TableColumn("run_id", "text"), lambda run, _: run.run_id),
    (TableColumn("trial_index", "integer", "Position in the run, from 0."), lambda _, trial: trial.index),
    (TableColumn("phase", "text", "Purpose of the trial."), lambda _, trial: trial.phase),
    (TableColumn("started_at", "time", "UTC."), lambda _, trial: _parse_time(trial.started_at)),
    (TableColumn("asked_s", "real", "Intended duration."), lambda _, trial: trial.trial.duration_s),
    (TableColumn("duration_s", "real", "Time the tester sent."), lambda _, trial: trial.duration_s),
    (TableColumn("intended_load_pps", "real", "Over all directions."), lambda _, trial: trial.trial.intended_load_pps),
    (TableColumn("offered_load_pps", "real", "Load as sent."), lambda _, trial: trial.offered_load_pps),
    (TableColumn("forwarding_rate_pps", "real", "Rate as received."), lambda _, trial: trial.forwarding_rate_pps),
    (TableColumn("loss_ratio", "real", "Unsent frames count as lost."), lambda _, trial: trial.loss_ratio),
    (TableColumn("intended_count", "integer"), lambda _, trial: trial.intended_count),
    (TableColumn("offered_count", "integer"), lambda _, trial: trial.offered_count),
    (TableColumn("received_count", "integer"), lambda _, trial: trial.received_count),
    (TableColumn("lost_count", "integer", "Offered and not received."), lambda _, trial: trial.lost_count),
    (TableColumn("unsent_count", "integer", "Not sent by the tester."), lambda _, trial: trial.unsent_count),
    (TableColumn("duplicate_count", "integer"), _make_stream_sum("duplicate_count")),
    (TableColumn("out_of_order_count", "integer"), _make_stream_sum("out_of_order_count")),
    (
        TableColumn("tester_drop_count", "integer", "Dropped by the tester."),
        lambda _, trial: trial.tester_drop_count,
    ),
    (TableColumn("verdict", "text", "Validity of the trial."), lambda _, trial: str(trial.validity.verdict)),
    (
        TableColumn("doubts", "text", f"Codes, joined by {LIST_SEPARATOR!r}."),
        lambda _, trial: LIST_SEPARATOR.join(doubt.code for doubt in trial.validity.doubts),
    ),
    (
        TableColumn("stopped_by", "text", "Clause of the stop rule that ended the trial."),
        lambda _, trial: trial.stopped_by,
    ),
    (TableColumn("goal", "text", "Goal in focus."), lambda _, trial: trial.trial.goal),
    (TableColumn("rule", "text", "Rule that selected the load."), lambda _, trial: trial.trial.rule),
    (TableColumn("reason", "text", "Reason for the trial."), lambda _, trial: format_message(trial.trial.reason)),
)
WINDOW_COLUMNS = (
    TableColumn("run_id", "text"),
    TableColumn("trial_index", "integer", "Position in the run, from 0."),
    TableColumn("tx_port", "integer"),
    TableColumn("rx_port", "integer"),
    TableColumn("stream_id", "integer", "Empty where the streams between two ports are counted together."),
    TableColumn("start_s", "real", "Since the first frame of the trial was due."),
    TableColumn("end_s", "real"),
    TableColumn("offered_count", "integer"),
    TableColumn("received_count", "integer"),
    TableColumn("lost_count", "integer", "By the window in which a later frame overtook them; empty: unknown."),
)


def _iter_windows(result: RunResult, trial: TrialResult) -> Iterator[tuple[Any, ...]]:
    counted = trial.windows
    starts = (0.0, *counted.end_s)
    for series, offered in enumerate(counted.offered_count):
        about = counted.series[series] if counted.series else trial.streams[series]
        lost = counted.lost_count[series] if counted.lost_count else (None,) * len(offered)
        for window, end_s in enumerate(counted.end_s):
            yield (
                *(result.run_id, trial.index, about.tx_port, about.rx_port, about.stream_id, starts[window], end_s),
                *(offered[window], counted.received_count[series][window], lost[window]),
            )
