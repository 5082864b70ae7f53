"""Tables as comma-separated values, for spreadsheets and programs."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

from nodrop.errors import ConfigError
from nodrop.model.result import RunResult
from nodrop.report.document import cells
from nodrop.report.document.blocks import Cell, Column, Table
from nodrop.report.document.chains import chains_table
from nodrop.report.document.latency import latency_table
from nodrop.report.document.search import trials_table
from nodrop.report.document.sizes import sizes_table

_FORMULAS = ("=", "+", "@", "\t")
"""What a spreadsheet would take for something to work out."""


def csv_text(table: Table) -> str:
    """A table with a heading for each column, its unit in it; figures as numbers in that unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_heading(column) for column in table.columns])
    writer.writerows([[_written(cell) for cell in row] for row in table.rows])
    return out.getvalue()


def csv_of(results: Sequence[RunResult], table: str) -> str:
    """One table of several runs, each row with its run.

    Args:
        results: the runs.
        table: `goals`, a row for each size and goal; `trials`; `latency`, a row for each load and way; `chains`, a row
            for each trial, chain and way.

    Raises: ConfigError where they have nothing for it.
    """
    tables = [each for result in results for each in TABLES[table](result)]
    if not any(each.rows for each in tables):
        raise ConfigError(f"--table: {table} asked, the results have nothing for it; ask for trials")
    return csv_text(joined(tables))


def _goals(result: RunResult) -> Iterator[Table]:
    yield _under(sizes_table([result]), "run", result.run_id)


def _trials(result: RunResult) -> Iterator[Table]:
    yield _under(trials_table(result), "run", result.run_id)


def _latency(result: RunResult) -> Iterator[Table]:
    yield _under(latency_table([result]), "run", result.run_id)


def _chains(result: RunResult) -> Iterator[Table]:
    for trial in result.trials:
        table = _under(chains_table(result, trial, ""), "trial", str(trial.index))
        yield _under(table, "run", result.run_id)


TABLES: dict[str, Callable[[RunResult], Iterator[Table]]] = {
    "goals": _goals,
    "trials": _trials,
    "latency": _latency,
    "chains": _chains,
}


def _under(table: Table, title: str, text: str) -> Table:
    """With a first column that says the same in each row."""
    rows = tuple((cells.text(text), *row) for row in table.rows)
    return table.model_copy(update={"columns": (cells.word(title), *table.columns), "rows": rows})


def joined(tables: Sequence[Table]) -> Table:
    """Tables of the same columns in one."""
    return tables[0].model_copy(update={"rows": tuple(row for table in tables for row in table.rows)})


def _heading(column: Column) -> str:
    """`upper_bound_pps`."""
    name = re.sub(r"[^a-z0-9.]+", "_", re.sub(r"\(.*?\)|,.*", "", column.title.lower())).strip("_")
    return f"{name}_{column.unit}" if column.unit else name


def _written(cell: Cell) -> str:
    if cell.key is not None:
        return f"{cell.key:.10g}"
    text = "" if cell.tone == "quiet" and cell.text == "-" else cell.text
    return f"'{text}" if text.startswith(_FORMULAS) else text
