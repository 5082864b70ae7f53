"""Tables as comma-separated values, for spreadsheets and programs."""

import csv
import io
import re
from collections.abc import Sequence

from nodrop.report.document.blocks import Cell, Column, Table

_FORMULAS = ("=", "+", "@", "\t")
"""What a spreadsheet would take for something to work out."""


def csv_text(table: Table) -> str:
    """A table with a heading for each column, its unit in it; figures as numbers in that unit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_heading(column) for column in table.columns])
    writer.writerows([[_written(cell) for cell in row] for row in table.rows])
    return out.getvalue()


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
