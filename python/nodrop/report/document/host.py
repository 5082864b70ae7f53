"""Host, path and versions: what has to be alike for figures to be alike."""

from collections.abc import Iterator

from nodrop.model.chd import HostDescriptor
from nodrop.model.cloud import CloudServerFacts
from nodrop.model.facts import Facts as Found
from nodrop.model.result import RunResult
from nodrop.report.calibration import calibration_text, holds
from nodrop.report.cloud import cloud_lines
from nodrop.report.document import cells
from nodrop.report.document.blocks import Block, Cell, Facts, Paragraph, Table
from nodrop.report.document.labels import is_simulated
from nodrop.report.host.table import node_text, summary_pairs
from nodrop.report.host.unknowns import leaves
from nodrop.units import format_bps, format_seconds

PORTS = (
    cells.word("interface"),
    cells.word("where"),
    cells.word("driver"),
    cells.word("MAC address"),
    cells.number("MTU", "bytes"),
    cells.number("speed", "bps"),
    cells.sentences("frames get in and out by"),
)
VMS = (
    cells.word("VM"),
    cells.number("chain"),
    cells.word("host"),
    cells.word("zone"),
    cells.word("MAC address left"),
    cells.word("right"),
    cells.word("made anew"),
)
SAID_ABOVE = ("host", "runs on")
NODES_SHOWN = 8


def host_blocks(result: RunResult) -> tuple[Block, ...]:
    """The host sheet."""
    if result.facts is None:
        return (Paragraph(text="The path never came up, so nothing is known of it."),)
    return tuple(_blocks(result, result.facts))


def _blocks(result: RunResult, found: Found) -> Iterator[Block]:
    host, versions, stage = found.host, found.versions, found.stage
    machine = "none, a machine of its own" if host.virtualization == "none" else host.virtualization
    yield _facts(
        "Machine",
        ("name", host.name),
        ("CPU", f"{host.core_count} x {host.cpu_model}"),
        ("memory", f"{host.memory_bytes / 2**30:.1f} GiB"),
        ("kernel", f"Linux {host.kernel}"),
        ("clock", host.clock_source),
        ("virtual machine", machine),
    )
    if found.chd is not None:
        yield _descriptor(found.chd)
    yield _facts(
        "Versions",
        ("nodrop", versions.nodrop),
        ("TRex" if result.plan.trex else "engine", versions.engine),
        ("commit", "" if result.plan.trex else versions.commit),
        ("Python", versions.python),
    )
    cores = result.plan.engine.cores
    if not is_simulated(result):
        yield _facts(
            "Path",
            ("SUT", stage.sut),
            ("lab", stage.name),
            ("as", stage.privilege),
            ("up after", format_seconds(stage.up_s) if stage.up_s is not None else ""),
            (
                "CPUs of the tester",
                "TRex's" if result.plan.trex else ", ".join(map(str, cores)) or "as the kernel likes",
            ),
            ("SUT and tester share a CPU", "yes" if stage.sut_shares_tester_cpu else "no"),
            ("queue of a tester port", "" if result.plan.trex else f"{result.plan.engine.queue_slots:,} frames"),
        )
    if stage.cloud:
        yield from (Paragraph(text=text) for text in cloud_lines(result))
        if stage.cloud.servers:
            yield Table(caption="VMs", columns=VMS, rows=tuple(map(_vm, stage.cloud.servers)))
    if stage.interfaces:
        yield Table(caption="Interfaces", columns=PORTS, rows=tuple(_interfaces(found)))
    if result.plan.calibration and holds(result.plan.calibration, result):
        yield Paragraph(text=calibration_text(result.plan.calibration))


def _descriptor(chd: HostDescriptor) -> Facts:
    """The machine to its last core, in few lines; result.json has all of it."""
    nodes, observed = chd.resources.numa_nodes, [each for _, each in leaves(chd)]
    known = sum(each.known for each in observed)
    return _facts(
        "Compute Host Descriptor",
        *((name, text) for name, text in summary_pairs(chd) if name not in SAID_ABOVE),
        *((f"node {node.id}", node_text(node)) for node in nodes[:NODES_SHOWN]),
        ("other nodes", f"{len(nodes) - NODES_SHOWN} more" if len(nodes) > NODES_SHOWN else ""),
        ("known", f"{known} of {len(observed)} facts; nodrop show --host says why the others are not"),
    )


def _vm(server: CloudServerFacts) -> tuple[Cell, ...]:
    left, right = (*server.macs, "-", "-")[:2]
    words = (server.host or "-", server.availability_zone or "-", left, right, "yes" if server.restaged else "no")
    return (cells.text(server.name), Cell(text=str(server.chain), key=server.chain), *map(cells.text, words))


def _facts(caption: str, *pairs: tuple[str, str]) -> Facts:
    return Facts(caption=caption, pairs=tuple((name, text) for name, text in pairs if text))


def _interfaces(found: Found) -> Iterator[tuple[Cell, ...]]:
    ports = {port.interface: port for port in found.ports}
    for interface in found.stage.interfaces:
        port = ports.get(interface.name)
        way = f"{port.backend} ({port.why})" if port and port.why else port.backend if port else ""
        speed_bps = interface.link_speed_bps
        yield (
            cells.text(interface.name),
            cells.text(interface.namespace),
            cells.text(interface.driver),
            cells.text(interface.mac),
            cells.text(f"{interface.mtu_bytes} B"),
            Cell(text=format_bps(speed_bps), key=speed_bps) if speed_bps else cells.NOTHING,
            cells.text(way),
        )
