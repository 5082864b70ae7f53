"""Compute Host Descriptors from YAML, JSON or XML files, and the consistency rules on which placement relies.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4.
"""

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodrop.descriptors.fingerprint import compute_fingerprint
from nodrop.descriptors.messages import Complaint, refuse, validate_document
from nodrop.descriptors.read_text import MIB, STDIN, read_text
from nodrop.descriptors.xml_form import from_xml
from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.chd import HostDescriptor, NodeCpus, NodeMemory, NumaNode, Port
from nodrop.model.observation import Observation
from nodrop.system.yaml_reader import Key, ParsedFile, ReadLimits, parse_document, preview_value

KIND = "a Compute Host Descriptor"
BYTES_MAX = 16 * MIB
"""512 fully described CPUs take about 2 MiB."""
BOUNDS = ReadLimits(text=BYTES_MAX, values=300_000)
NUMBER_MAX = 2**64
"""Upper limit of kernel counters."""
NODES: Key = ("resources", "numa_nodes")


def read_chd(file: Path | str) -> HostDescriptor:
    """Read a host descriptor; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of every problem.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    return parse_chd(read_text(file, KIND, BYTES_MAX), name)


def parse_chd(text: str, name: str) -> HostDescriptor:
    """Parse a host descriptor. Raises ConfigError as `read_chd`."""
    document = _parse_document(text, name)
    host = validate_document(HostDescriptor, document)
    refuse(document, check_chd(host))
    return host


def list_altered(host: HostDescriptor) -> tuple[str, ...]:
    """Return the halves whose values do not match their hash, i.e. that were edited."""
    halves = (("capabilities", host.capabilities), ("resources", host.resources))
    return tuple(name for name, half in halves if half.sha256 and half.sha256 != compute_fingerprint(half))


def _parse_document(text: str, name: str) -> ParsedFile:
    begin = text.lstrip()[:1]
    if begin == "<":
        return _parse_xml(text, name)
    if begin == "{":
        return _parse_json(text, name)
    return parse_document(text, name, BOUNDS)


def _parse_xml(text: str, name: str) -> ParsedFile:
    if text.count("<") > 2 * BOUNDS.values:
        raise ConfigError(f"{name}: more than {BOUNDS.values} XML elements; not a descriptor")
    try:
        _, content = from_xml(text)
    except ValueError as error:
        raise ConfigError(f"{name}: XML {error}") from None
    if not isinstance(content, dict):
        raise ConfigError(f'{name}: the XML root is not of type="map"; not a descriptor')
    return ParsedFile(name, content, {})


def _parse_json(text: str, name: str) -> ParsedFile:
    """Parse JSON with Python's own reader, a hundred times faster."""
    try:
        content: dict[str, Any] = json.loads(
            text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise ConfigError(f"{name}: {where}: invalid JSON: {error.msg}; fix the line") from None
    except (ValueError, RecursionError) as error:
        problem = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise ConfigError(f"{name}: invalid JSON: {problem}; fix it") from None
    return ParsedFile(name, content, {})


def _reject_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [key for key, _ in pairs]
        twice = next(key for key in names if names.count(key) > 1)
        raise ValueError(f"key {twice!r} is a duplicate")
    return members


def _reject_constant(text: str) -> Iterator[None]:
    raise ValueError(f"{text} is not a JSON number")


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
