"""Host, path and versions: the conditions that must match for figures to match."""

from collections.abc import Iterator

from nodrop.formatting import format_sut_name
from nodrop.model.chd import HostDescriptor
from nodrop.model.facts import Facts
from nodrop.model.result import RunResult
from nodrop.report.calibration import describe_calibration, is_applicable
from nodrop.report.document.blocks import Block, FactList, Fold, Paragraph
from nodrop.report.document.labels import is_simulated
from nodrop.report.document.path import (
    build_interface_table,
    build_path_check_table,
    build_server_table,
    describe_cloud,
)
from nodrop.report.host.summary import describe_node, list_host_summary
from nodrop.report.host.unknowns import list_observations
from nodrop.units import format_seconds

SHOWN_ABOVE = ("host", "runs on")
"""Facts of a host descriptor that the list of the machine has."""
NODES_MAX = 8


def build_host_blocks(result: RunResult) -> tuple[Block, ...]:
    """Return machine, versions and path."""
    if result.facts is None:
        return (Paragraph(text="The path never came up; its facts are unknown."),)
    return tuple(_build_blocks(result, result.facts))


def find_hypervisor(facts: Facts) -> str:
    """Return the hypervisor that the machine runs under, by its descriptor where it has one; empty without any."""
    described = facts.chd.host.virtualization.value if facts.chd else None
    name = described or facts.host.virtualization
    return "" if name == "none" else name


def describe_provenance(facts: Facts) -> str:
    """Return versions, machine and path in one line."""
    host, versions = facts.host, facts.versions
    hypervisor = find_hypervisor(facts)
    machine = f", virtual machine ({hypervisor})" if hypervisor else ""
    backends = {f"{port.backend} ({port.why})" if port.why else port.backend: None for port in facts.ports}
    return (
        f"nodrop {versions.nodrop}, {versions.generator_text}, Python {versions.python}, "
        f"Linux {host.kernel}, {host.core_count} x {host.cpu_model}{machine}, clock {host.clock_source}, "
        f"lab {facts.stage.name} as {facts.stage.privilege}"
        f"{', packets by ' if backends else ''}{' and '.join(backends)}"
    )


def _build_blocks(result: RunResult, facts: Facts) -> Iterator[Block]:
    host, versions, stage = facts.host, facts.versions, facts.stage
    yield _build_list(
        "Machine",
        ("name", host.name),
        ("CPU", f"{host.core_count} x {host.cpu_model}"),
        ("memory", f"{host.memory_bytes / 2**30:.1f} GiB"),
        ("kernel", f"Linux {host.kernel}"),
        ("clock", host.clock_source),
        ("virtual machine", find_hypervisor(facts) or "no"),
    )
    if facts.chd is not None:
        yield _build_descriptor(facts.chd)
    yield _build_list(
        "Versions",
        ("nodrop", versions.nodrop),
        ("TRex" if result.plan.trex else "engine", versions.engine),
        ("commit", "" if result.plan.trex else versions.commit),
        ("Python", versions.python),
    )
    if not is_simulated(result):
        yield _build_path(result, facts)
    if stage.cloud:
        yield from (Paragraph(text=text) for text in describe_cloud(result))
        if stage.cloud.servers:
            yield build_server_table(stage.cloud)
    if stage.interfaces:
        yield build_interface_table(facts)
    if result.checks and not is_simulated(result):
        yield Fold(title="Path check", blocks=(build_path_check_table(result, facts),))
    if result.plan.calibration and is_applicable(result.plan.calibration, result):
        yield Paragraph(text=describe_calibration(result.plan.calibration))


def _build_path(result: RunResult, facts: Facts) -> FactList:
    stage, cores = facts.stage, result.plan.engine.cores
    return _build_list(
        "Path",
        ("SUT", format_sut_name(result)),
        ("lab", stage.name),
        ("privilege", stage.privilege),
        ("up after", format_seconds(stage.up_s) if stage.up_s is not None else ""),
        ("CPUs of the tester", "TRex's" if result.plan.trex else ", ".join(map(str, cores)) or "chosen by the kernel"),
        ("SUT and tester share a CPU", "yes" if stage.sut_shares_tester_cpu else "no"),
        ("queue of a tester port", "" if result.plan.trex else f"{result.plan.engine.queue_slots:,} frames"),
    )


def _build_descriptor(chd: HostDescriptor) -> FactList:
    """Return the main facts of the machine; result.json has all of them."""
    nodes, observed = chd.resources.numa_nodes, [each for _, each in list_observations(chd)]
    known_count = sum(each.known for each in observed)
    return _build_list(
        "Compute Host Descriptor",
        *((name, text) for name, text in list_host_summary(chd) if name not in SHOWN_ABOVE),
        *((f"node {node.id}", describe_node(node)) for node in nodes[:NODES_MAX]),
        ("other nodes", f"{len(nodes) - NODES_MAX} more" if len(nodes) > NODES_MAX else ""),
        ("known", f"{known_count} of {len(observed)} facts; 'nodrop show --host' gives the reasons for the others"),
    )


def _build_list(caption: str, *pairs: tuple[str, str]) -> FactList:
    return FactList(caption=caption, pairs=tuple((name, text) for name, text in pairs if text))
