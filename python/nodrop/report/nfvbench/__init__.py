"""A result in NFVbench's form, whoever wrote it, as the tables its users know: on a terminal, as Markdown, as CSV."""

from typing import Literal

from nodrop.report.nfvbench.markdown_csv import comma_separated, markdown
from nodrop.report.nfvbench.tables import document
from nodrop.report.nfvbench.terminal import Screen

WrittenForm = Literal["markdown", "csv"]


def nfvbench_report(result: object) -> Screen:
    """The tables for a terminal, as wide as that is."""
    return Screen(document(result))


def nfvbench_written(result: object, form: WrittenForm) -> str:
    """The same tables as a text."""
    return {"markdown": markdown, "csv": comma_separated}[form](document(result))
