"""Our loopback VNF as a child process for each forwarder: started on its ports, awaited and ended."""

import contextlib
import json
import subprocess
from collections.abc import Iterator

from nodrop.errors import StageError
from nodrop.lines import LineReader
from nodrop.model.plan import Forwarder, LabPlan
from nodrop.program import find_program
from nodrop.stage.child import Child

READY_TIMEOUT_S = 10.0
FORWARDERS = {"vnf-l2": "l2", "vnf-l3": "l3", "xdp": "xdp"}
"""SUTs that are made of nodrop-vnf, and its name for them."""


@contextlib.contextmanager
def vnfs(plan: LabPlan, sut_pid: int) -> Iterator[tuple[Child, ...]]:
    """A VNF for each forwarder, all of them forwarding; ended on exit. Raises StageError with what one of them said."""
    with contextlib.ExitStack() as stack:
        yield tuple(stack.enter_context(_vnf(plan, position, sut_pid)) for position in range(len(plan.forwarders)))


@contextlib.contextmanager
def _vnf(plan: LabPlan, position: int, sut_pid: int) -> Iterator[Child]:
    """It also ends by itself when its standard input closes. Its standard error goes where its parent's goes."""
    arguments = _arguments(plan, plan.forwarders[position], sut_pid)
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    child = Child(f"vnf{position}", "the loopback VNF", process)
    try:
        _await_ready(child, process, plan.sut)
        yield child
    finally:
        child.stop()


def _await_ready(child: Child, process: subprocess.Popen[bytes], sut: str) -> None:
    assert process.stdout
    stdout = LineReader(process.stdout.fileno())
    line = stdout.next_line(READY_TIMEOUT_S)
    said = _parse(line)
    if said.get("event") == "ready":
        return
    if said.get("event") == "error":
        raise StageError(f"SUT {sut} asked, the loopback VNF says: {said.get('message')}")
    if stdout.ended:
        raise StageError(f"SUT {sut} asked, {child.ending()} before it was ready")
    raise StageError(f"SUT {sut} asked, the loopback VNF is not ready after {READY_TIMEOUT_S:g} s: it says {line!r}")


def _arguments(plan: LabPlan, forwarder: Forwarder, sut_pid: int) -> list[str]:
    kind = FORWARDERS[plan.sut]
    arguments = [str(find_program("nodrop-vnf", StageError)), kind, "--netns", str(sut_pid)]
    arguments += _routing(forwarder) if kind == "l3" else _joining(forwarder)
    if kind != "xdp":
        arguments += [
            "--backend",
            plan.sut_backend,
            "--queue-slots",
            str(plan.sut_queue_slots),
            "--mtu",
            str(plan.mtu_bytes),
        ]
    if forwarder.core is not None:
        arguments += ["--core", str(forwarder.core)]
    return arguments


def _joining(forwarder: Forwarder) -> Iterator[str]:
    for port in forwarder.ports:
        yield from ("--port", f"{port.interface},peer={port.peer_mac}")


def _routing(forwarder: Forwarder) -> Iterator[str]:
    """Ports and routes; a router asks its neighbours for their MAC addresses."""
    for port in forwarder.ports:
        addresses = "".join(f",address={address}" for address in port.addresses)
        yield from ("--port", f"{port.interface},mac={port.mac}{addresses}")
        for route in port.routes:
            yield from ("--route", f"{route.prefix},via={route.via},port={port.interface}")


def _parse(line: str | None) -> dict[str, object]:
    try:
        said = json.loads(line or "{}")
    except json.JSONDecodeError:
        return {}
    return said if isinstance(said, dict) else {}
