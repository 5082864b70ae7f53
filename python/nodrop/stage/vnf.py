"""nodrop-vnf child processes: loopback VNFs and edge switches."""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.bras import BrasTables
from nodrop.model.lab_plan import EdgeSwitch, Forwarder, LabPlan
from nodrop.stage.sut_process import SutChild, stop_all
from nodrop.system.json_child import LineReader, parse_object
from nodrop.system.native_binaries import find_binary

READY_TIMEOUT_S = 30.0
READY_TIMEOUT_EACH_S = 0.25
FORWARDERS = {"vnf-l2": "l2", "vnf-l3": "l3", "vnf-bras": "bras", "xdp": "xdp"}
"""SUTs that nodrop-vnf implements, with its name for each."""


class VnfCommand(NamedTuple):
    """Arguments of a process to start."""

    name: str
    description: str
    """For messages."""
    arguments: Sequence[str]


@contextlib.contextmanager
def start_all(commands: Sequence[VnfCommand], plan: LabPlan) -> Iterator[tuple[SutChild, ...]]:
    """Start processes and wait until all forward; end them on exit. Raises StageError with a process's message."""
    program = str(find_binary("nodrop-vnf", StageError))
    children: list[SutChild] = []
    try:
        pipes = [_start(program, command, children) for command in commands]
        deadline = time.monotonic() + READY_TIMEOUT_S + READY_TIMEOUT_EACH_S * len(commands)
        for child, pipe in zip(children, pipes, strict=True):
            _await_ready(child, pipe, plan.sut, deadline)
        yield tuple(children)
    finally:
        stop_all(children)


def build_vnf_commands(plan: LabPlan, sut_pid: int) -> Iterator[VnfCommand]:
    """Yield a VNF for each forwarder."""
    for position, forwarder in enumerate(plan.forwarders):
        yield VnfCommand(f"vnf{position}", "the loopback VNF", _build_vnf_arguments(plan, forwarder, sut_pid))


def build_edge_commands(plan: LabPlan, sut_pid: int) -> Iterator[VnfCommand]:
    """Yield the edge switches that connect shared tester ports to the chains."""
    for side, edge in zip(("left", "right"), plan.edges, strict=False):
        yield VnfCommand(f"edge {side}", f"the {side} edge switch", _build_edge_arguments(plan, edge, sut_pid))


def _start(program: str, command: VnfCommand, children: list[SutChild]) -> LineReader:
    """Start a process. It also ends when its standard input closes; its standard error goes to the holder's."""
    process = subprocess.Popen([program, *command.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    children.append(SutChild(command.name, command.description, process))
    assert process.stdout
    return LineReader(process.stdout.fileno())


def _await_ready(child: SutChild, stdout: LineReader, sut: str, deadline: float) -> None:
    line = stdout.read_line(max(0.0, deadline - time.monotonic()))
    message = parse_object(line)
    if message.get("event") == "ready":
        table = message.get("table")
        child.large_page_bytes = table["large_page_bytes"] if isinstance(table, dict) else None
        return
    if message.get("event") == "error":
        raise StageError(f"SUT {sut}: {child.description} failed: {message.get('message')}")
    if stdout.ended:
        raise StageError(f"SUT {sut}: {child.describe_end()} before it was ready")
    raise StageError(
        f"SUT {sut}: {child.description} is not ready in time (last output {line!r}); free CPU time or memory"
    )


def _build_vnf_arguments(plan: LabPlan, forwarder: Forwarder, sut_pid: int) -> list[str]:
    kind = FORWARDERS[plan.sut]
    arguments = [kind, "--netns", str(sut_pid), *_list_forwarder_arguments(plan, forwarder)]
    if kind == "xdp":
        return arguments
    capacity = () if plan.sut_capacity_pps is None else ("--capacity", f"{plan.sut_capacity_pps:g}")
    if plan.sut_buffer_count is not None:
        capacity = (*capacity, "--buffer", str(plan.sut_buffer_count))
    return [*arguments, *_list_common_arguments(plan, forwarder), *_list_memory_arguments(plan), *capacity]


def _build_edge_arguments(plan: LabPlan, edge: EdgeSwitch, sut_pid: int) -> list[str]:
    arguments = ["edge", "--netns", str(sut_pid), "--trunk", edge.trunk]
    for port in edge.ports:
        vlan = f",vlan={port.vlan}" if port.vlan is not None else ""
        mac = f",mac={port.mac}" if port.mac is not None else ""
        arguments += ["--access", f"{port.interface},trunk={edge.trunk}{vlan}{mac}"]
    return [*arguments, "--trunk-slots", str(plan.trunk_queue_slots), *_list_common_arguments(plan, edge)]


def _list_common_arguments(plan: LabPlan, process: Forwarder | EdgeSwitch) -> Iterator[str]:
    yield from ("--backend", plan.sut_backend, "--queue-slots", str(plan.sut_queue_slots))
    yield from ("--mtu", str(plan.mtu_bytes))
    if process.core is not None:
        yield from ("--core", str(process.core))
    if process.yields:
        yield "--yielding"


def _list_memory_arguments(plan: LabPlan) -> Iterator[str]:
    yield from ("--pages", plan.sut_pages)
    if plan.sut_table_bytes is not None:
        yield from ("--table", str(plan.sut_table_bytes))
    if plan.sut_memory_node is not None:
        yield from ("--memory-node", str(plan.sut_memory_node))


def _list_forwarder_arguments(plan: LabPlan, forwarder: Forwarder) -> Iterator[str]:
    if plan.bras:
        return _list_bras_arguments(plan.bras, forwarder)
    return _list_routing_arguments(forwarder) if plan.sut == "vnf-l3" else _list_port_arguments(forwarder)


def _list_bras_arguments(tables: BrasTables, forwarder: Forwarder) -> Iterator[str]:
    for side, port in zip(("cpe", "core"), forwarder.ports, strict=True):
        yield from (f"--{side}-port", f"{port.interface},mac={port.mac}")
    yield from ("--subscribers", str(tables.subscriber_count), "--routes", str(tables.route_count))
    yield from ("--next-hops", str(tables.next_hop_count), "--tags", tables.tag_plan, "--seed", str(tables.seed))
    yield from ("--address", tables.address, "--ttl", tables.ttl)


def _list_port_arguments(forwarder: Forwarder) -> Iterator[str]:
    for port in forwarder.ports:
        yield from ("--port", f"{port.interface},peer={port.peer_mac}")


def _list_routing_arguments(forwarder: Forwarder) -> Iterator[str]:
    """Yield ports and routes; a router resolves its neighbors' MAC addresses."""
    for port in forwarder.ports:
        addresses = "".join(f",address={address}" for address in port.addresses)
        yield from ("--port", f"{port.interface},mac={port.mac}{addresses}")
        for route in port.routes:
            yield from ("--route", f"{route.prefix},via={route.via},port={port.interface}")
