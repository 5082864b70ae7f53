"""Files that travel within a report: everything measured, and tables for spreadsheets."""

import re
from collections.abc import Iterable, Sequence

from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Attachment
from nodrop.report.document.csv import csv_text
from nodrop.report.document.search import trials_table

_PASSWORD = re.compile(r"(?<=://)([^/@\s:\"]*):[^/@\s\"]*@")


def attachments(results: Sequence[RunResult]) -> tuple[Attachment, ...]:
    """Every result as it is stored, compressed, and its trials as CSV."""
    return tuple(each for result in results for each in _of_run(result, len(results) > 1))


def _of_run(result: RunResult, is_several: bool) -> Iterable[Attachment]:
    begin = f"{result.run_id}-" if is_several else ""
    yield Attachment(
        file_name=f"{begin}result.json.gz",
        media_type="application/gzip",
        text=_PASSWORD.sub(r"\1:***@", result.model_dump_json(indent=1) + "\n"),
        about="everything that was asked, found and measured, as JSON, compressed; nodrop reads it again",
    )
    yield Attachment(
        file_name=f"{begin}trials.csv",
        media_type="text/csv",
        text=csv_text(trials_table(result)),
        about="every trial, for a spreadsheet",
    )
