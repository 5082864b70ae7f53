"""Table A.1 of ETSI GS NFV-PER 001 for the stack of a host, as a person reads it."""

import json
import textwrap
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.model.exposure import ExposedFeature, ExposureStatus, StackExposure
from nodrop.report.markdown import escape_markdown

STYLES: dict[ExposureStatus, str] = {
    "exposed": "green",
    "partly": "yellow",
    "not exposed": "bold red",
    "unknown": "dim",
}
WORDS: dict[ExposureStatus, str] = {"exposed": "yes", "partly": "partly", "not exposed": "no", "unknown": "?"}
PRINTED = {
    "Yes": "yes",
    "Needs to be exposed": "no",
    "Depends on cloud OS": "depends",
    "Exposed using Device ID": "by id",
    "Currently not exposed": "no",
    "": "-",
}
"""Cells of table A.1 in short: what was exposed in 2014. Each row is required to be, at both levels."""


LEGEND = (
    "2014: what the table prints, which requires every row at both levels. Now: ? is unknown, with the reason below."
)


def format_exposure(
    features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], who: str, width: int
) -> Iterator[RenderableType]:
    """The table, then what is said of the host, then the gaps."""
    yield Text(f"What of {who} its stack shows, ETSI GS NFV-PER 001 table A.1", style="bold")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("feature")
    table.add_column("priority")
    table.add_column("2014: hypervisor")
    table.add_column("orchestrator")
    for stack in stacks:
        table.add_column(f"now: {stack.name}" if stack is stacks[0] else stack.name)
    for each in features:
        found = [stack.features[each.key] for stack in stacks]
        cells = (Text(WORDS[one.status], style=STYLES[one.status]) for one in found)
        printed = PRINTED[each.at_hypervisor], PRINTED[each.at_orchestrator]
        table.add_row(each.name, each.priority.lower() or "-", *printed, *cells)
    yield table
    yield from _wrapped(LEGEND, width, "")
    for stack in stacks:
        yield Text()
        yield from _said(features, stack, width)
    yield Text()
    yield from _gaps(features, stacks, width)


def _said(features: Sequence[ExposedFeature], stack: StackExposure, width: int) -> Iterator[Text]:
    if stack.why:
        yield from _wrapped(f"{stack.name}: could not be asked, so all of it is unknown: {stack.why}", width, "")
        return
    yield Text.assemble((stack.name, "bold"), f" {stack.version}")
    for each in features:
        found = stack.features[each.key]
        if found.status != "not exposed":
            yield from _wrapped(f"{each.name}: {found.value}", width, "  ")


def _gaps(features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], width: int) -> Iterator[Text]:
    for level in ("hypervisor", "orchestrator"):
        asked = [stack for stack in stacks if stack.level == level and not stack.why]
        if not asked:
            yield from _wrapped(f"Gaps at the {level}: unknown, as none could be asked", width, "")
        for stack in asked:
            names = [each.name for each in list_gaps(features, stack)]
            told = ", ".join(names) if names else "none"
            yield from _wrapped(f"Required by ETSI, not shown by {stack.name}: {told}", width, "")


def list_gaps(features: Sequence[ExposedFeature], stack: StackExposure) -> list[ExposedFeature]:
    """Rows that ETSI requires to be exposed at this level and that are not; what is optional is none."""
    return [
        each for each in features if each.priority == "Required" and stack.features[each.key].status == "not exposed"
    ]


def dump_exposure(features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], who: str) -> str:
    """The same for a program."""
    return json.dumps(
        {
            "host": who,
            "features": [each.model_dump(mode="json") for each in features],
            "stacks": [each.model_dump(mode="json") for each in stacks],
            "gaps": {
                each.name: None if each.why else [gap.key for gap in list_gaps(features, each)] for each in stacks
            },
        },
        indent=2,
        ensure_ascii=False,
    )


def render_exposure_markdown(features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], who: str) -> str:
    """The same as a page for a wiki."""
    heading = ["feature", "at hypervisor, 2014", "at orchestrator, 2014", "priority", *(each.name for each in stacks)]
    lines = [
        f"# What of {escape_markdown(who)} its stack shows",
        "",
        f"| {' | '.join(heading)} |",
        "|---" * len(heading) + "|",
    ]
    for each in features:
        found = [stack.features[each.key] for stack in stacks]
        cells = [each.name, each.at_hypervisor, each.at_orchestrator, each.priority]
        cells += [one.status if one.status == "unknown" else f"{one.status}: {one.value}" for one in found]
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    lines += ["", *(f"- {each.name} could not be asked: {escape_markdown(each.why)}" for each in stacks if each.why)]
    for stack in stacks:
        if not stack.why:
            names = ", ".join(each.name for each in list_gaps(features, stack)) or "none"
            lines.append(f"- Required by ETSI, not shown by {stack.name}: {escape_markdown(names)}")
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int, lead: str) -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=f"{lead}  "):
        yield Text(line)
