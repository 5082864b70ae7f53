"""Consistency rules of host descriptors, on which placement relies.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nodrop.descriptors.messages import Complaint
from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor, NodeCpus, NodeMemory, NumaNode, Port
from nodrop.model.observation import Observation
from nodrop.system.yaml_reader import Key, preview_value

NUMBER_MAX = 2**64
"""Upper limit of kernel counters."""
NODES: Key = ("resources", "numa_nodes")


def check_chd(host: HostDescriptor) -> Iterator[Complaint]:
    """Yield contradictions and implausible values, by key."""
    yield from _check_values(host, ())
    nodes = host.resources.numa_nodes
    ids = Counter(node.id for node in nodes)
    cpus = Counter(cpu for node in nodes for cpu in node.cpus.ids)
    for index, node in enumerate(nodes):
        key = (*NODES, str(index))
        if ids[node.id] > 1:
            yield Complaint((*key, "id"), f"node {node.id} occurs {ids[node.id]} times; describe it once")
        if twice := [cpu for cpu in node.cpus.ids if cpus[cpu] > 1]:
            yield Complaint((*key, "cpus", "ids"), f"CPU {twice[0]} is on several nodes; list it on one")
        yield from _check_node(node, key)
    for index, link in enumerate(host.resources.links):
        if unknown := [each for each in (link.a, link.b) if each not in ids]:
            yield Complaint(("resources", "links", str(index)), f"node {unknown[0]} does not exist; name two nodes")


def _check_node(node: NumaNode, key: Key) -> Iterator[Complaint]:
    yield from _check_cpus(node.cpus, (*key, "cpus"))
    yield from _check_memory(node.memory, (*key, "memory"))
    for index, nic in enumerate(node.nics):
        for inner, port in enumerate(nic.ports):
            yield from _check_port(port, (*key, "nics", str(index), "ports", str(inner)))


def _check_cpus(cpus: NodeCpus, key: Key) -> Iterator[Complaint]:
    grouped = Counter(cpu for siblings in cpus.sibling_sets for cpu in siblings)
    for cpu in sorted({*grouped, *cpus.ids}):
        if grouped[cpu] != 1 or cpu not in cpus.ids:
            where = f"in {grouped[cpu]} sibling sets" if cpu in cpus.ids else "in a sibling set of a node without it"
            yield Complaint(
                (*key, "sibling_sets"), f"CPU {cpu} is {where}; list each CPU of the node in one of its sets"
            )
            break
    if strangers := [cpu for cpu in cpus.cpu if cpu not in cpus.ids]:
        yield Complaint((*key, "cpu", str(strangers[0])), "the node has no such CPU; remove it")


def _check_memory(memory: NodeMemory, key: Key) -> Iterator[Complaint]:
    page_bytes = 0
    for index, pages in enumerate(memory.large_pages):
        total, used = pages.total_count.value, pages.used_count.value
        page_bytes += pages.size_bytes * (total or 0)
        if total is not None and used is not None and used > total:
            where = (*key, "large_pages", str(index), "used_count")
            yield Complaint(where, f"{used} exceeds the {total} pages of the node; correct one of them")
    total_bytes = memory.total_bytes.value
    if total_bytes is not None and page_bytes > total_bytes:
        yield Complaint(
            (*key, "large_pages"),
            f"{page_bytes} bytes exceed the {total_bytes} bytes of the node, which include its large pages; "
            "correct one of them",
        )


def _check_port(port: Port, key: Key) -> Iterator[Complaint]:
    total = port.sriov.total_count.value if port.sriov else None
    if port.sriov and total is not None and len(port.sriov.vfs) > total:
        yield Complaint(
            (*key, "sriov", "vfs"),
            f"{len(port.sriov.vfs)} functions exceed the {total} that the port supports; correct one of them",
        )


def _check_values(value: Any, key: Key) -> Iterator[Complaint]:
    """Yield contradictory observations and implausible numbers."""
    if isinstance(value, Observation):
        if value.known and value.value is None:
            yield Complaint(key, f"no value contradicts confidence {value.confidence}; correct one of them")
        if not value.known and value.value is not None:
            yield Complaint(key, f"{preview_value(value.value)} contradicts confidence unknown; correct one of them")
        yield from _check_values(value.value, (*key, "value"))
    elif isinstance(value, Value):
        for name in type(value).model_fields:
            yield from _check_values(getattr(value, name), (*key, name))
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from (*_check_values(name, key), *_check_values(each, (*key, str(name))))
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _check_values(each, (*key, str(index)))
    elif isinstance(value, (int, float)) and not (math.isfinite(value) and 0 <= value <= NUMBER_MAX):
        text = f"{value:g}" if isinstance(value, float) or abs(value) < 10**300 else "a number of hundreds of digits"
        yield Complaint(key, f"{text} is not from 0 to 2^64; write a plausible value")
