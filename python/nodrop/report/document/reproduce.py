"""The configuration, and how to measure the same again."""

import shlex

from nodrop.model.result import RunResult
from nodrop.report.document.blocks import Block, Code, Paragraph
from nodrop.report.document.labels import is_simulated

FILE = "nodrop.yaml"


def setup_blocks(result: RunResult) -> tuple[Block, ...]:
    """A file to run again, and the command that does it."""
    if is_simulated(result):
        return (Paragraph(text="A model was measured with `nodrop simulate`; nothing but its seed is needed again."),)
    asked = result.plan.asked
    if asked is None:
        text = "This result is of a release that did not keep its configuration; its plan is in result.json."
        return (Paragraph(text=text),)
    if not asked:
        return (
            Paragraph(text="It was measured without any configuration; the same command measures it again."),
            Code(text="nodrop run\n", language="sh"),
        )
    import yaml

    return (
        Paragraph(
            text=f"Saved as {FILE}, this asks for the same run on any machine; everything else has its default. "
            f"nodrop {result.facts.versions.nodrop if result.facts else ''} wrote it."
        ),
        Code(text=yaml.safe_dump(asked, sort_keys=False, allow_unicode=True), language="yaml", file_name=FILE),
        Code(text=f"nodrop run -c {shlex.quote(FILE)}\n", language="sh"),
    )
