"""Everything needed to check or repeat a run: results and tables as files, and the configuration."""

import re
import shlex
from collections.abc import Iterator, Sequence

from nodrop.formatting.messages import WITH_SENTENCES
from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Attachment, Block, Code, Paragraph
from nodrop.report.document.csv import render_csv
from nodrop.report.document.labels import is_simulated
from nodrop.report.document.search import build_trial_table

FILE = "nodrop.yaml"
_PASSWORD = re.compile(r"(?<=://)([^/@\s:\"]*):[^/@\s\"]*@")


def build_attachments(results: Sequence[RunResult]) -> tuple[Attachment, ...]:
    """Return every result as stored, compressed, and its trials as CSV."""
    return tuple(each for result in results for each in _build_attachments(result, len(results) > 1))


def build_setup_blocks(result: RunResult) -> tuple[Block, ...]:
    """Return the configuration and the command to repeat a run."""
    if is_simulated(result):
        return (Paragraph(text="A model was measured with `nodrop simulate`; the same seed repeats the run."),)
    config = result.plan.asked
    if config is None:
        text = "The release that measured this run did not store its configuration; result.json has its plan."
        return (Paragraph(text=text),)
    if not config:
        return (
            Paragraph(text="The run had no configuration; the same command repeats it."),
            Code(text="nodrop run\n", language="sh"),
        )
    import yaml

    version = f"nodrop {result.facts.versions.nodrop}" if result.facts else "nodrop"
    return (
        Paragraph(
            text=f"Saved as {FILE}, this configuration repeats the run on any machine; all other keys have their "
            f"defaults. Written by {version}."
        ),
        Code(text=yaml.safe_dump(config, sort_keys=False, allow_unicode=True), language="yaml", file_name=FILE),
        Code(text=f"nodrop run -c {shlex.quote(FILE)}\n", language="sh"),
    )


def _build_attachments(result: RunResult, is_several: bool) -> Iterator[Attachment]:
    prefix = f"{result.run_id}-" if is_several else ""
    yield Attachment(
        file_name=f"{prefix}result.json.gz",
        media_type="application/gzip",
        text=_PASSWORD.sub(r"\1:***@", result.model_dump_json(indent=1, context=WITH_SENTENCES) + "\n"),
        about="plan, trials and results as JSON, compressed; nodrop can read the file",
    )
    yield Attachment(
        file_name=f"{prefix}trials.csv",
        media_type="text/csv",
        text=render_csv(build_trial_table(result)),
        about="every trial, for a spreadsheet",
    )
