"""What a network function needs, and how a host stands on it, as a person reads it."""

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from nodrop.model.hostcheck import CheckStatus, HostCheck
from nodrop.model.workload import FeatureStanding, Layer, NetworkFunction
from nodrop.report.markdown import escape_markdown

STYLES: dict[CheckStatus, str] = {"pass": "green", "fail": "bold red", "unknown": "yellow", "not required": "dim"}
BRIEF = {
    "edge NF": "edge",
    "intermediate NF": "intermediate",
    "intermediate NF with encryption": "intermediate with encryption",
    "session management": "sessions",
    "signal processing": "yes",
    "signal processing, or storage": "or storage",
}
"""Kinds of work under the heading of their plane."""
SHORT: dict[Layer, str] = {
    "hardware": "HW",
    "OS": "OS",
    "hypervisor": "hypervisor",
    "guest OS": "guest OS",
    "software": "SW",
    "I/O device": "I/O",
}


class FunctionOnHost(NamedTuple):
    """A network function, held against a host."""

    vnf: NetworkFunction
    standings: Sequence[FeatureStanding]
    checks: Mapping[str, HostCheck]
    """Of the host, by id."""
    who: str
    """Which host."""
    bare_metal: bool
    """Table 2 is told instead of table 3."""


def format_workload(asked: FunctionOnHost, width: int) -> Iterator[RenderableType]:
    """A function, its kinds of work, and every feature of table 3, or 2, with the host's checks about it."""
    vnf = asked.vnf
    case = f"  use case {vnf.use_case}" if vnf.use_case else ""
    yield Text.assemble((vnf.name, "bold"), (case, "dim"))
    for line in textwrap.wrap(vnf.note, width - 2):
        yield Text(f"  {line}", style="dim")
    yield Text()
    yield Text("Kinds of work", style="bold")
    yield from _class_lines(vnf, width)
    for why in dict.fromkeys(each.why for each in _shown(asked)):
        alike = [each for each in _shown(asked) if each.why == why]
        yield Text()
        yield from _paragraph(f"{_heading(alike[0])}: {why}", width)
        yield _table(alike, asked)
    yield Text()
    yield Text("`nodrop host check ID` says what a check found and what mends it.", style="dim")


PLANES = ("data plane", "control plane", "signal processing", "storage")


def build_function_table(functions: Sequence[NetworkFunction]) -> Table:
    """Every function with its kinds of work, as table 1 arranges them."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("VNF", no_wrap=True)
    for plane in PLANES:
        table.add_column(plane)
    for each in functions:
        table.add_row(each.name, *(_of_plane(each, plane) for plane in PLANES))
    return table


def _of_plane(vnf: NetworkFunction, plane: str) -> str:
    """Kinds of one plane; `?` after what is not certain."""
    names = (
        BRIEF.get(each.name, each.name) + ("?" if each.unclear else "") for each in vnf.classes if each.plane == plane
    )
    return ", ".join(names)


def dump_workload(asked: FunctionOnHost) -> str:
    """The same for a program."""
    return json.dumps(
        {
            "function": asked.vnf.model_dump(mode="json"),
            "host": asked.who,
            "features": [
                {
                    **each.model_dump(mode="json"),
                    "status": {name: asked.checks[name].status for name in _ids(each) if name in asked.checks},
                }
                for each in asked.standings
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def render_workload_markdown(asked: FunctionOnHost) -> str:
    """The same as a page for a wiki."""
    lines = [f"# {escape_markdown(asked.vnf.name)}", ""]
    if asked.vnf.note:
        lines += [f"{escape_markdown(asked.vnf.note)}.", ""]
    lines += [f"- {escape_markdown(_class_text(each.plane, each.name))} ({each.clause})" for each in asked.vnf.classes]
    lines += ["", f"| feature | who must act | {escape_markdown(asked.who)} | why |", "|---|---|---|---|"]
    for each in _shown(asked):
        cells = (each.feature.name, _layers(each, asked.bare_metal), _found(each, asked.checks).plain, each.why)
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    return "\n".join(lines) + "\n"


def _shown(asked: FunctionOnHost) -> list[FeatureStanding]:
    """Features of the table that is told."""
    return [each for each in asked.standings if not asked.bare_metal or each.feature.bare_metal is not None]


def _class_lines(vnf: NetworkFunction, width: int) -> Iterator[Text]:
    for each in vnf.classes:
        unclear = f"; {each.unclear}" if each.unclear else ""
        yield from _paragraph(f"- {_class_text(each.plane, each.name)} ({each.clause}{unclear})", width, "  ")
    if not vnf.classes:
        yield Text("  none marked")


def _class_text(plane: str, name: str) -> str:
    return name if plane == name or name.startswith(plane) else f"{plane}: {name}"


def _heading(standing: FeatureStanding) -> str:
    return {"analysed": "Matters", "less": "Matters less", "open": "Not said"}[standing.standing]


def _table(standings: Sequence[FeatureStanding], asked: FunctionOnHost) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("feature")
    table.add_column("who must act")
    table.add_column(asked.who)
    for each in standings:
        table.add_row(each.feature.name, _layers(each, asked.bare_metal), _found(each, asked.checks))
    return table


def _layers(standing: FeatureStanding, bare_metal: bool) -> str:
    layers = standing.feature.bare_metal if bare_metal else standing.feature.virtualised
    return ", ".join(SHORT[each] for each in layers or ())


def _found(standing: FeatureStanding, checks: Mapping[str, HostCheck]) -> Text:
    shown = Text()
    for name in _ids(standing):
        if name in checks:
            status = checks[name].status
            word = status if name in standing.feature.checks else "recorded" if status == "pass" else "not recorded"
            shown.append(f"{', ' if shown else ''}{name} ")
            shown.append(word, style=STYLES[status])
    return shown


def _ids(standing: FeatureStanding) -> tuple[str, ...]:
    return (*standing.feature.checks, *standing.feature.record)


def _paragraph(text: str, width: int, lead: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=f"{lead}  "):
        yield Text(line)


def dump_functions(functions: Sequence[NetworkFunction]) -> str:
    """Every function for a program."""
    return json.dumps([each.model_dump(mode="json") for each in functions], indent=2, ensure_ascii=False)


def render_functions_markdown(functions: Sequence[NetworkFunction]) -> str:
    """Every function as a table for a wiki."""
    lines = [f"| VNF | {' | '.join(PLANES)} | use case |", "|---" * (len(PLANES) + 2) + "|"]
    for each in functions:
        cells = (each.name, *(_of_plane(each, plane) for plane in PLANES), each.use_case)
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    return "\n".join(lines) + "\n"
