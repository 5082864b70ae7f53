"""VM Descriptors from YAML or JSON files with units, or in the form of the standard; their consistency rules."""

import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nodrop.descriptors import etsi_topology
from nodrop.descriptors.messages import Complaint, Remark, refuse, validate_document
from nodrop.descriptors.read_text import MIB, STDIN, read_text
from nodrop.descriptors.units import parse_units
from nodrop.descriptors.vmd_defaults import VCPUS_MAX, apply_defaults
from nodrop.model.base import Value
from nodrop.model.vmd import Impact, Interface, Profile, SetMemory, VcpuSet, VmDescriptor
from nodrop.system.yaml_reader import Key, ParsedFile, parse_document
from nodrop.units import format_bps, format_bytes

KIND = "a VM Descriptor"
BYTES_MAX = MIB // 4
NUMBER_MAX = 1e18
"""Bytes, bits, packets or hertz: a million times the largest host."""
NAME_MAX = 63
PAGES = (2**16, 2**34)
"""The smallest and the largest large page of any architecture: 64 KiB and 16 GiB of Arm and Power."""
ANTAGONISTS = ("cpu", "memory", "cache")
USAGES = ("memory_bytes_per_s", "inter_node_bytes_per_s", "llc_bytes")


def read_vmd(file: Path | str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """Read a VM descriptor and remarks on ambiguities; `-` is standard input.

    Raises: ConfigError naming file, line, key and value of every problem.
    """
    name = "standard input" if str(file) == STDIN else str(file)
    return parse_vmd(read_text(file, KIND, BYTES_MAX), name)


def parse_vmd(text: str, name: str) -> tuple[VmDescriptor, tuple[Remark, ...]]:
    """Parse a VM descriptor. Raises ConfigError as `read_vmd`."""
    remarks: list[Remark] = []
    document = (
        etsi_topology.parse_printed_form(text, name, remarks)
        if etsi_topology.is_printed_form(text)
        else parse_document(text, name)
    )
    complaints: list[Complaint] = []
    document = apply_defaults(_parse_document_units(document, complaints), complaints)
    refuse(document, complaints)
    vmd = validate_document(VmDescriptor, document)
    refuse(document, check_vmd(vmd))
    doubtful = [Remark(f"{'.'.join(each.key)}: {each.text}", document.find_line(each.key)) for each in find_doubts(vmd)]
    return vmd, (*remarks, *doubtful)


def _parse_document_units(document: ParsedFile, complaints: list[Complaint]) -> ParsedFile:
    return document._replace(content=parse_units(dict(document.content), (), complaints))


def check_vmd(vmd: VmDescriptor) -> Iterator[Complaint]:
    """Yield contradictions and implausible values, by key."""
    if not vmd.name.strip() or len(vmd.name) > NAME_MAX or not vmd.name.isprintable() or "/" in vmd.name:
        requested = f"{vmd.name[:NAME_MAX]!r} is invalid" if vmd.name else "missing"
        yield Complaint(("name",), f"{requested}; write 1 to {NAME_MAX} printable characters without /")
    if not vmd.image.isprintable():
        yield Complaint(("image",), f"{vmd.image[:NAME_MAX]!r} contains unprintable characters; remove them")
    yield from _check_numbers(vmd, ())
    for index, profile in enumerate(vmd.profiles):
        yield from _check_profile(profile, ("profiles", str(index)))


def find_doubts(vmd: VmDescriptor) -> Iterator[Complaint]:
    """Yield valid but probably unintended values."""
    names = Counter(profile.name for profile in vmd.profiles if len(vmd.profiles) > 1)
    for index, profile in enumerate(vmd.profiles):
        key = ("profiles", str(index))
        if names[profile.name] > 1:
            text = f"name {profile.name!r}" if profile.name else "no name"
            yield Complaint(key, f"has {text}, like another profile; messages will be ambiguous")
        yield from _find_profile_doubts(profile, key)


def _check_numbers(value: object, key: Key) -> Iterator[Complaint]:
    """Yield implausible and non-finite numbers."""
    if isinstance(value, Value):
        for name in type(value).model_fields:
            yield from _check_numbers(getattr(value, name), (*key, name))
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _check_numbers(each, (*key, str(name)))
    elif isinstance(value, tuple):
        for index, each in enumerate(value):
            yield from _check_numbers(each, (*key, str(index)))
    elif isinstance(value, (int, float)) and not (math.isfinite(value) and 0 <= value <= NUMBER_MAX):
        text = (
            f"{value:g}"
            if isinstance(value, float) or abs(value) < 10**300
            else f"a number of {len(str(value))} digits"
        )
        yield Complaint(key, f"{text} is not from 0 to {NUMBER_MAX:g}; write a plausible value")


def _check_profile(profile: Profile, key: Key) -> Iterator[Complaint]:
    vcpus = Counter(vcpu for each in profile.vcpu_sets for vcpu in each.vcpus)
    for index, each in enumerate(profile.vcpu_sets):
        yield from _check_set(each, vcpus, (*key, "vcpu_sets", str(index)))
    if sum(vcpus.values()) > VCPUS_MAX:
        yield Complaint(
            (*key, "vcpu_sets"), f"{sum(vcpus.values())} vCPUs exceed the maximum of {VCPUS_MAX}; reduce them"
        )
    elif missing := sorted(set(range(len(vcpus))) - set(vcpus)):
        problem = f"vCPU {missing[0]} is in no set, but vCPU {max(vcpus)} is"
        yield Complaint((*key, "vcpu_sets"), f"{problem}; number them from 0 without gaps, as hypervisors do")
    for index, link in enumerate(profile.links):
        a, b = link.sets
        where = (*key, "links", str(index), "sets")
        if max(a, b) >= len(profile.vcpu_sets):
            text = (
                f"set {max(a, b)} does not exist: there are {len(profile.vcpu_sets)}, numbered from 0; name two of them"
            )
            yield Complaint(where, text)
        elif a == b:
            yield Complaint(where, f"set {a} is given twice; name two different sets")
        elif {a, b} in [set(earlier.sets) for earlier in profile.links[:index]]:
            yield Complaint(where, f"sets {a} and {b} are linked already; write their bandwidth once")
    if profile.impact:
        yield from _check_impact(profile.impact, (*key, "impact"))


def _check_set(each: VcpuSet, vcpus: Counter[int], key: Key) -> Iterator[Complaint]:
    for vcpu in sorted({vcpu for vcpu in each.vcpus if vcpus[vcpu] > 1}):
        yield Complaint((*key, "vcpus"), f"vCPU {vcpu} occurs {vcpus[vcpu]} times; list it once, in one set")
    paired = Counter(vcpu for pair in each.pairs for vcpu in pair)
    for index, pair in enumerate(each.pairs):
        where = (*key, "pairs", str(index))
        if strangers := [vcpu for vcpu in pair if vcpu not in each.vcpus]:
            vcpus_text = _format_numbers(each.vcpus)
            yield Complaint(where, f"vCPU {strangers[0]} is not in the set ({vcpus_text}); pair vCPUs of one set")
        if len(pair) < 2:
            yield Complaint(where, f"{list(pair)} has fewer than two vCPUs; omit single ones")
        if twice := [vcpu for vcpu in pair if paired[vcpu] > 1]:
            yield Complaint(where, f"vCPU {twice[0]} is in several pairs; pair it once")
    yield from _check_memory(each.memory, (*key, "memory"))
    for index, interface in enumerate(each.interfaces):
        yield from _check_interface(interface, (*key, "interfaces", str(index)))


def _check_memory(memory: SetMemory, key: Key) -> Iterator[Complaint]:
    size, count = memory.large_page_bytes, memory.large_page_count
    if count and size is None:
        yield Complaint((*key, "large_page_count"), f"{count} requires large_page_bytes; add e.g. 1GB")
    if size is None:
        return
    if size & (size - 1) or not PAGES[0] <= size <= PAGES[1]:
        yield Complaint((*key, "large_page_bytes"), f"{format_bytes(size)} is not a page size; write e.g. 2MB or 1GB")
    elif size * count > memory.total_bytes:
        pages = f"{count} pages of {format_bytes(size)} are {format_bytes(size * count)}"
        requested = f"{format_bytes(memory.total_bytes)} is less than its large pages: {pages}"
        yield Complaint((*key, "total_bytes"), f"{requested}; the total includes large pages")


def _check_interface(interface: Interface, key: Key) -> Iterator[Complaint]:
    if (interface.bandwidth_bps or 0) > interface.speed_bps:
        requested = (
            f"{format_bps(interface.bandwidth_bps or 0)} exceeds the port speed of {format_bps(interface.speed_bps)}"
        )
        yield Complaint((*key, "bandwidth_bps"), f"{requested}; reduce it, or require a faster port")


def _check_impact(impact: Impact, key: Key) -> Iterator[Complaint]:
    needed: dict[int, tuple[str, Any, tuple[str, ...]]] = {
        1: ("degradation_max_ratio", impact.degradation_max_ratio, ANTAGONISTS),
        2: ("identical_max_count", impact.identical_max_count, ()),
        3: ("usage", impact.usage, USAGES),
    }
    for option, (name, value, choices) in needed.items():
        if option == impact.option and not value:
            yield Complaint(key, f"option {option} requires {name}; add it")
        elif option != impact.option and value:
            yield Complaint((*key, name), f"belongs to option {option}, not {impact.option}; use one of them")
        for each in value if choices else ():
            if each not in choices:
                yield Complaint((*key, name, each), f"unknown name; use one of {', '.join(choices)}")
    for name, ratio in impact.degradation_max_ratio.items():
        if ratio > 1:
            yield Complaint(
                (*key, "degradation_max_ratio", name), f"{ratio:g} is not from 0 to 1; write e.g. 0.1 or 10%"
            )


def _find_profile_doubts(profile: Profile, key: Key) -> Iterator[Complaint]:
    modes = [interface.mode for each in profile.vcpu_sets for interface in each.interfaces]
    if profile.hypervisor.accelerated_vswitch and "vswitch" not in modes:
        where = (*key, "hypervisor", "accelerated_vswitch")
        yield Complaint(where, "has no effect: no interface has mode vswitch")
    if profile.topology == "unrestricted" and (len(profile.vcpu_sets) > 1 or profile.vcpu_sets[0].pairs):
        yield Complaint((*key, "topology"), "unrestricted: sets and pairs will be ignored")
    for index, each in enumerate(profile.vcpu_sets):
        where = (*key, "vcpu_sets", str(index))
        if each.memory.large_page_bytes and not each.memory.large_page_count:
            text = f"{format_bytes(each.memory.large_page_bytes)} without large_page_count: no large pages are used"
            yield Complaint((*where, "memory", "large_page_bytes"), text)
        single = len(each.vcpus) - sum(len(pair) for pair in each.pairs)
        if profile.thread_policy == "require" and single % 2:
            text = f"{single} vCPUs without a pair with thread_policy require: one thread of a core stays idle"
            yield Complaint((*where, "vcpus"), text)


def _format_numbers(numbers: tuple[int, ...]) -> str:
    """Format numbers as a range: `0-7`."""
    ordered = sorted(numbers)
    is_range = ordered == list(range(ordered[0], ordered[-1] + 1)) and len(ordered) > 1
    return f"{ordered[0]}-{ordered[-1]}" if is_range else ", ".join(map(str, ordered))
