"""Table A.1 of ETSI GS NFV-PER 001 for the stack of a host, as text, JSON and Markdown."""

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
"""Cells of table A.1 in short: features exposed in 2014. Each row is required at both levels."""


LEGEND = (
    "2014: as printed in the table, which requires every row at both levels. Now: ? is unknown, with the reason below."
)


def format_exposure(
    features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], host_name: str, width: int
) -> Iterator[RenderableType]:
    """Yield the table, then the features of each stack, then the gaps."""
    yield Text(f"Features of {host_name} exposed by its stack, ETSI GS NFV-PER 001 table A.1", style="bold")
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("feature")
    table.add_column("priority")
    table.add_column("2014: hypervisor")
    table.add_column("orchestrator")
    for stack in stacks:
        table.add_column(f"now: {stack.name}" if stack is stacks[0] else stack.name)
    for each in features:
        exposures = [stack.features[each.key] for stack in stacks]
        cells = (Text(WORDS[one.status], style=STYLES[one.status]) for one in exposures)
        printed = PRINTED[each.at_hypervisor], PRINTED[each.at_orchestrator]
        table.add_row(each.name, each.priority.lower() or "-", *printed, *cells)
    yield table
    yield from _wrap(LEGEND, width, "")
    for stack in stacks:
        yield Text()
        yield from _format_stack(features, stack, width)
    yield Text()
    yield from _format_gaps(features, stacks, width)


def _format_stack(features: Sequence[ExposedFeature], stack: StackExposure, width: int) -> Iterator[Text]:
    if stack.why:
        yield from _wrap(f"{stack.name}: all features unknown, the query failed: {stack.why}", width, "")
        return
    yield Text.assemble((stack.name, "bold"), f" {stack.version}")
    for each in features:
        exposure = stack.features[each.key]
        if exposure.status != "not exposed":
            yield from _wrap(f"{each.name}: {exposure.value}", width, "  ")


def _format_gaps(features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], width: int) -> Iterator[Text]:
    for level in ("hypervisor", "orchestrator"):
        queried = [stack for stack in stacks if stack.level == level and not stack.why]
        if not queried:
            yield from _wrap(f"Gaps at the {level}: unknown, no stack could be queried", width, "")
        for stack in queried:
            names = [each.name for each in list_gaps(features, stack)]
            gaps = ", ".join(names) if names else "none"
            yield from _wrap(f"Required by ETSI, not exposed by {stack.name}: {gaps}", width, "")


def list_gaps(features: Sequence[ExposedFeature], stack: StackExposure) -> list[ExposedFeature]:
    """Return the rows that ETSI requires at the level of the stack and that the stack does not expose."""
    return [
        each for each in features if each.priority == "Required" and stack.features[each.key].status == "not exposed"
    ]


def dump_exposure(features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], host_name: str) -> str:
    """Return the same as JSON."""
    return json.dumps(
        {
            "host": host_name,
            "features": [each.model_dump(mode="json") for each in features],
            "stacks": [each.model_dump(mode="json") for each in stacks],
            "gaps": {
                each.name: None if each.why else [gap.key for gap in list_gaps(features, each)] for each in stacks
            },
        },
        indent=2,
        ensure_ascii=False,
    )


def render_exposure_markdown(
    features: Sequence[ExposedFeature], stacks: Sequence[StackExposure], host_name: str
) -> str:
    """Return the same as a Markdown page."""
    heading = ["feature", "at hypervisor, 2014", "at orchestrator, 2014", "priority", *(each.name for each in stacks)]
    lines = [
        f"# Features of {escape_markdown(host_name)} exposed by its stack",
        "",
        f"| {' | '.join(heading)} |",
        "|---" * len(heading) + "|",
    ]
    for each in features:
        exposures = [stack.features[each.key] for stack in stacks]
        cells = [each.name, each.at_hypervisor, each.at_orchestrator, each.priority]
        cells += [one.status if one.status == "unknown" else f"{one.status}: {one.value}" for one in exposures]
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    lines += ["", *(f"- {each.name} could not be queried: {escape_markdown(each.why)}" for each in stacks if each.why)]
    for stack in stacks:
        if not stack.why:
            names = ", ".join(each.name for each in list_gaps(features, stack)) or "none"
            lines.append(f"- Required by ETSI, not exposed by {stack.name}: {escape_markdown(names)}")
    return "\n".join(lines) + "\n"


def _wrap(text: str, width: int, lead: str) -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=f"{lead}  "):
        yield Text(line)
