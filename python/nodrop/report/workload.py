"""The needs of a network function and how a host meets them, as text, JSON and Markdown."""

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
"""Workload classes under the heading of their plane."""
SHORT: dict[Layer, str] = {
    "hardware": "HW",
    "OS": "OS",
    "hypervisor": "hypervisor",
    "guest OS": "guest OS",
    "software": "SW",
    "I/O device": "I/O",
}


class FunctionOnHost(NamedTuple):
    """A network function and the checks of a host that concern it."""

    vnf: NetworkFunction
    standings: Sequence[FeatureStanding]
    checks: Mapping[str, HostCheck]
    """The checks of the host, by id."""
    name: str
    """The name of the host."""
    bare_metal: bool
    """Whether to report table 2 instead of table 3."""


def format_workload(function: FunctionOnHost, width: int) -> Iterator[RenderableType]:
    """Yield a function, its workload classes, and every feature of table 3 or 2 with the related checks."""
    vnf = function.vnf
    case = f"  use case {vnf.use_case}" if vnf.use_case else ""
    yield Text.assemble((vnf.name, "bold"), (case, "dim"))
    for line in textwrap.wrap(vnf.note, width - 2):
        yield Text(f"  {line}", style="dim")
    yield Text()
    yield Text("Workload classes", style="bold")
    yield from _format_classes(vnf, width)
    for why in dict.fromkeys(each.why for each in _select_features(function)):
        alike = [each for each in _select_features(function) if each.why == why]
        yield Text()
        yield from _wrap(f"{_format_heading(alike[0])}: {why}", width)
        yield _build_feature_table(alike, function)
    yield Text()
    yield Text("'nodrop host check ID' shows the evidence of a check and its fix.", style="dim")


PLANES = ("data plane", "control plane", "signal processing", "storage")


def build_function_table(functions: Sequence[NetworkFunction]) -> Table:
    """Return every function with its workload classes, arranged as in table 1."""
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("VNF", no_wrap=True)
    for plane in PLANES:
        table.add_column(plane)
    for each in functions:
        table.add_row(each.name, *(_join_classes(each, plane) for plane in PLANES))
    return table


def _join_classes(vnf: NetworkFunction, plane: str) -> str:
    """Return the classes of one plane, uncertain ones with a `?`."""
    names = (
        BRIEF.get(each.name, each.name) + ("?" if each.unclear else "") for each in vnf.classes if each.plane == plane
    )
    return ", ".join(names)


def dump_workload(function: FunctionOnHost) -> str:
    """Return the same as JSON."""
    return json.dumps(
        {
            "function": function.vnf.model_dump(mode="json"),
            "host": function.name,
            "features": [
                {
                    **each.model_dump(mode="json"),
                    "status": {
                        name: function.checks[name].status for name in _list_check_ids(each) if name in function.checks
                    },
                }
                for each in function.standings
            ],
        },
        indent=2,
        ensure_ascii=False,
    )


def render_workload_markdown(function: FunctionOnHost) -> str:
    """Return the same as a Markdown page."""
    lines = [f"# {escape_markdown(function.vnf.name)}", ""]
    if function.vnf.note:
        lines += [f"{escape_markdown(function.vnf.note)}.", ""]
    lines += [
        f"- {escape_markdown(_format_class(each.plane, each.name))} ({each.clause})" for each in function.vnf.classes
    ]
    lines += ["", f"| feature | responsible | {escape_markdown(function.name)} | why |", "|---|---|---|---|"]
    for each in _select_features(function):
        cells = (
            each.feature.name,
            _join_layers(each, function.bare_metal),
            _format_checks(each, function.checks).plain,
            each.why,
        )
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    return "\n".join(lines) + "\n"


def _select_features(function: FunctionOnHost) -> list[FeatureStanding]:
    """Return the features of the reported table."""
    return [each for each in function.standings if not function.bare_metal or each.feature.bare_metal is not None]


def _format_classes(vnf: NetworkFunction, width: int) -> Iterator[Text]:
    for each in vnf.classes:
        unclear = f"; {each.unclear}" if each.unclear else ""
        yield from _wrap(f"- {_format_class(each.plane, each.name)} ({each.clause}{unclear})", width, "  ")
    if not vnf.classes:
        yield Text("  none marked")


def _format_class(plane: str, name: str) -> str:
    return name if plane == name or name.startswith(plane) else f"{plane}: {name}"


def _format_heading(feature: FeatureStanding) -> str:
    return {"analysed": "Matters", "less": "Matters less", "open": "Not specified"}[feature.standing]


def _build_feature_table(standings: Sequence[FeatureStanding], function: FunctionOnHost) -> Table:
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="dim")
    table.add_column("feature")
    table.add_column("responsible")
    table.add_column(function.name)
    for each in standings:
        table.add_row(each.feature.name, _join_layers(each, function.bare_metal), _format_checks(each, function.checks))
    return table


def _join_layers(feature: FeatureStanding, bare_metal: bool) -> str:
    layers = feature.feature.bare_metal if bare_metal else feature.feature.virtualised
    return ", ".join(SHORT[each] for each in layers or ())


def _format_checks(feature: FeatureStanding, checks: Mapping[str, HostCheck]) -> Text:
    text = Text()
    for name in _list_check_ids(feature):
        if name in checks:
            status = checks[name].status
            word = status if name in feature.feature.checks else "recorded" if status == "pass" else "not recorded"
            text.append(f"{', ' if text else ''}{name} ")
            text.append(word, style=STYLES[status])
    return text


def _list_check_ids(feature: FeatureStanding) -> tuple[str, ...]:
    return (*feature.feature.checks, *feature.feature.record)


def _wrap(text: str, width: int, lead: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=lead, subsequent_indent=f"{lead}  "):
        yield Text(line)


def dump_functions(functions: Sequence[NetworkFunction]) -> str:
    """Return every function as JSON."""
    return json.dumps([each.model_dump(mode="json") for each in functions], indent=2, ensure_ascii=False)


def render_functions_markdown(functions: Sequence[NetworkFunction]) -> str:
    """Return every function as a Markdown table."""
    lines = [f"| VNF | {' | '.join(PLANES)} | use case |", "|---" * (len(PLANES) + 2) + "|"]
    for each in functions:
        cells = (each.name, *(_join_classes(each, plane) for plane in PLANES), each.use_case)
        lines.append(f"| {' | '.join(map(escape_markdown, cells))} |")
    return "\n".join(lines) + "\n"
