"""Tables as comma-separated values, for spreadsheets and programs."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Cell, Column, Table
from nodrop.report.document.cells import make_text_cell, make_text_column
from nodrop.report.document.chains import build_chain_table
from nodrop.report.document.latency import build_latency_table
from nodrop.report.document.search import build_trial_table
from nodrop.report.document.sizes import build_size_table

_FORMULA_STARTS = ("=", "+", "@", "\t")
"""Characters that make a spreadsheet evaluate a cell."""


def render_csv(table: Table) -> str:
    """Return a table with units in the headings; figures are plain numbers in that unit, unknown ones empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.csv_name or _format_heading(column) for column in table.columns])
    writer.writerows([[_format_cell(cell) for cell in row] for row in table.rows])
    return out.getvalue()


def export_table(results: Sequence[RunResult], table: str) -> str:
    """Return one table of several runs, each row with its run.

    Args:
        results: the runs.
        table: `goals`, a row for each size and goal; `trials`; `latency`, a row for each load and direction; `chains`,
            a row for each trial, chain and direction.

    Raises: ConfigError if the results have no such data.
    """
    tables = [each for result in results for each in TABLES[table](result)]
    if not any(each.rows for each in tables):
        raise ConfigError(f"--table: the results have no data for '{table}'; try 'trials'")
    return render_csv(join_tables(tables))


def _build_goals(result: RunResult) -> Iterator[Table]:
    yield add_lead(build_size_table([result]), run=result.run_id)


def _build_trials(result: RunResult) -> Iterator[Table]:
    yield add_lead(build_trial_table(result), run=result.run_id)


def _build_latency(result: RunResult) -> Iterator[Table]:
    yield add_lead(build_latency_table([result]), run=result.run_id)


def _build_chains(result: RunResult) -> Iterator[Table]:
    for trial in result.trials:
        yield add_lead(build_chain_table(result, trial, ""), run=result.run_id, trial=str(trial.index))


TABLES: dict[str, Callable[[RunResult], Iterator[Table]]] = {
    "goals": _build_goals,
    "trials": _build_trials,
    "latency": _build_latency,
    "chains": _build_chains,
}


def add_lead(table: Table, /, **texts: str) -> Table:
    """Return the table with leading columns that have the same text in each row; `_` in a title is a blank."""
    columns = tuple(make_text_column(title.replace("_", " ")) for title in texts)
    columns = tuple(column.replace(csv_name=column.title) for column in columns)
    lead = tuple(map(make_text_cell, texts.values()))
    rows = tuple((*lead, *row) for row in table.rows)
    return table.replace(columns=(*columns, *table.columns), rows=rows)


def join_tables(tables: Sequence[Table]) -> Table:
    """Return tables of the same columns as one."""
    return tables[0].replace(rows=tuple(row for table in tables for row in table.rows))


def _format_heading(column: Column) -> str:
    """Return `upper_bound_pps`."""
    name = re.sub(r"[^a-z0-9.]+", "_", re.sub(r"\(.*?\)|,.*", "", column.title.lower())).strip("_")
    return f"{name}_{column.unit}" if column.unit else name


def _format_cell(cell: Cell) -> str:
    if cell.key is not None:
        return str(cell.key) if isinstance(cell.key, int) else f"{cell.key:.10g}"
    text = "" if cell.text == "n/a" or (cell.tone == "quiet" and cell.text == "-") else cell.text
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text
