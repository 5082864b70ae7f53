"""nodrop-vnf child processes: loopback VNFs and edge switches."""

import contextlib
import subprocess
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.errors import StageError
from nodrop.model.bras import BrasTables
from nodrop.model.lab_plan import Balancer, EdgeSwitch, Forwarder, LabPlan, Policer
from nodrop.stage.sut_process import SutChild, stop_all
from nodrop.system.json_child import LineReader, parse_object
from nodrop.system.native_binaries import find_binary

READY_TIMEOUT_S = 30.0
READY_TIMEOUT_EACH_S = 0.25
PUBLISH_INTERVAL_MS = 5
"""Age of the counters by which a pool scales: half a percent of a second."""
BALANCER = "balancer"
"""Name of the balancer's process."""
FORWARDERS = {"vnf-l2": "l2", "vnf-l3": "l3", "vnf-bras": "bras", "pool": "l2", "xdp": "xdp"}
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
        for command in commands:
            _start(program, command, children)
        deadline = time.monotonic() + READY_TIMEOUT_S + READY_TIMEOUT_EACH_S * len(commands)
        for child in children:
            _await_ready(child, plan.sut, deadline)
        yield tuple(children)
    finally:
        stop_all(children)


def build_vnf_commands(plan: LabPlan, sut_pid: int) -> Iterator[VnfCommand]:
    """Yield a VNF for each forwarder that runs from the beginning."""
    count = plan.balancer.running_count if plan.balancer else len(plan.forwarders)
    for position in range(count):
        yield build_instance_command(plan, position, sut_pid)


def build_instance_command(plan: LabPlan, position: int, sut_pid: int) -> VnfCommand:
    """Return the VNF of a forwarder of the plan."""
    arguments = _build_vnf_arguments(plan, plan.forwarders[position], sut_pid)
    return VnfCommand(f"vnf{position}", "the loopback VNF", arguments)


def start_instance(command: VnfCommand, plan: LabPlan) -> SutChild:
    """Start one process and wait until it forwards. Raises StageError with its message."""
    children: list[SutChild] = []
    try:
        _start(str(find_binary("nodrop-vnf", StageError)), command, children)
        _await_ready(children[0], plan.sut, time.monotonic() + READY_TIMEOUT_S)
    except BaseException:
        stop_all(children)
        raise
    return children[0]


def build_edge_commands(plan: LabPlan, sut_pid: int) -> Iterator[VnfCommand]:
    """Yield the edge switches that connect shared tester ports to the chains, or the balancer of a pool."""
    if plan.balancer:
        yield VnfCommand(BALANCER, "the balancer", _build_balancer_arguments(plan, plan.balancer, sut_pid))
    for side, edge in zip(("left", "right"), plan.edges, strict=False):
        yield VnfCommand(f"edge {side}", f"the {side} edge switch", _build_edge_arguments(plan, edge, sut_pid))


def _start(program: str, command: VnfCommand, children: list[SutChild]) -> None:
    """Start a process. It also ends when its standard input closes; its standard error goes to the holder's."""
    process = subprocess.Popen([program, *command.arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    child = SutChild(command.name, command.description, process)
    children.append(child)
    assert process.stdout
    child.stdout = LineReader(process.stdout.fileno())


def _await_ready(child: SutChild, sut: str, deadline: float) -> None:
    stdout = child.stdout
    assert stdout
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
    policer = _list_policer_arguments(plan.sut_policer) if plan.sut_policer else ()
    return [*arguments, *_list_common_arguments(plan, forwarder), *_list_memory_arguments(plan), *capacity, *policer]


def _build_edge_arguments(plan: LabPlan, edge: EdgeSwitch, sut_pid: int) -> list[str]:
    arguments = ["edge", "--netns", str(sut_pid), "--trunk", edge.trunk]
    for port in edge.ports:
        vlan = f",vlan={port.vlan}" if port.vlan is not None else ""
        mac = f",mac={port.mac}" if port.mac is not None else ""
        arguments += ["--access", f"{port.interface},trunk={edge.trunk}{vlan}{mac}"]
    return [*arguments, "--trunk-slots", str(plan.trunk_queue_slots), *_list_common_arguments(plan, edge)]


def _build_balancer_arguments(plan: LabPlan, balancer: Balancer, sut_pid: int) -> list[str]:
    arguments = ["balancer", "--netns", str(sut_pid)]
    for trunk in balancer.trunks:
        arguments += ["--trunk", trunk]
    for left, right in balancer.ports:
        arguments += ["--instance", f"{left},right={right}"]
    arguments += ["--probe-interval", str(balancer.probe_interval_ms), "--probe-misses", str(balancer.probe_misses)]
    arguments += ["--selection", balancer.selection]
    arguments += ["--move-delay", str(balancer.move_delay_ms), "--move-interval", str(balancer.move_interval_ms)]
    return [*arguments, "--trunk-slots", str(plan.trunk_queue_slots), *_list_common_arguments(plan, balancer)]


def _list_common_arguments(plan: LabPlan, process: Forwarder | EdgeSwitch | Balancer) -> Iterator[str]:
    yield from ("--backend", plan.sut_backend, "--queue-slots", str(plan.sut_queue_slots))
    yield from ("--mtu", str(plan.mtu_bytes))
    if process.core is not None:
        yield from ("--core", str(process.core))
    if process.yields:
        yield "--yielding"
    if plan.balancer:
        # Between probes there is never as much time without a frame as processes on a shared CPU wait for otherwise.
        yield from ("--publish-after", "1")
        if plan.balancer.scale_out:
            yield from ("--publish-every", str(PUBLISH_INTERVAL_MS))


def _list_memory_arguments(plan: LabPlan) -> Iterator[str]:
    yield from ("--pages", plan.sut_pages)
    if plan.sut_table_bytes is not None:
        yield from ("--table", str(plan.sut_table_bytes))
    if plan.sut_memory_node is not None:
        yield from ("--memory-node", str(plan.sut_memory_node))


def _list_policer_arguments(policer: Policer) -> Iterator[str]:
    yield from ("--cir", str(policer.cir_bps), "--cbs", str(policer.cbs_bytes))
    yield from ("--eir", str(policer.eir_bps), "--ebs", str(policer.ebs_bytes))
    if policer.is_coupled:
        yield "--coupling"
    if policer.color_mode == "aware":
        yield "--color-aware"
    if policer.marks_frames:
        yield "--mark"


def _list_forwarder_arguments(plan: LabPlan, forwarder: Forwarder) -> Iterator[str]:
    if plan.bras:
        return _list_bras_arguments(plan.bras, forwarder)
    return _list_routing_arguments(forwarder) if plan.sut == "vnf-l3" else _list_port_arguments(forwarder)


def _list_bras_arguments(tables: BrasTables, forwarder: Forwarder) -> Iterator[str]:
    for side, port in zip(("cpe", "core"), forwarder.ports, strict=True):
        yield from (f"--{side}-port", f"{port.interface},mac={port.mac}")
    yield from ("--subscribers", str(tables.subscriber_count), "--routes", str(tables.route_count))
    yield from ("--next-hops", str(tables.next_hop_count), "--tags", tables.tag_plan, "--seed", str(tables.seed))
    yield from ("--address", tables.address, "--ttl", tables.ttl, "--arp-timeout", str(tables.arp_timeout_s))


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
