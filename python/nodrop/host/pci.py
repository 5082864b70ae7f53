"""PCI functions of a machine: identity, location and link bandwidth.

Source: Documentation/ABI/testing/sysfs-bus-pci of Linux; PCI Express Base Specification 6.0, sections 4.2 and 2.2.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

DEVICES = "/sys/bus/pci/devices"
NODES = "/sys/devices/system/node"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")
_NODE = re.compile(r"node\d+")
_LANES = (1, 2, 4, 8, 12, 16, 32)

PAYLOAD_BYTES = 256
"""Maximum payload of a PCIe packet on most platforms."""
OVERHEAD_BYTES = 20
"""Overhead per packet: header 12, sequence number and framing 4, CRC 4."""
PROTOCOL_RATIO = PAYLOAD_BYTES / (PAYLOAD_BYTES + OVERHEAD_BYTES)


LINK_IN_CHIPSET = frozenset({0x37CE, 0x37CF, 0x37D0, 0x37D1, 0x37D2, 0x37D3})
"""Intel cards that are part of a chipset and report a link that is not the actual one. Source: Linux, i40e:
I40E_HW_CAP_NO_PCI_LINK_CHECK of the X722."""
INTEL = 0x8086


class PcieGeneration(NamedTuple):
    """A PCIe generation and its line coding."""

    number: int
    gtps: float
    """Transfers per second and lane, in units of 10^9."""
    data: int
    """Bits or bytes of data ..."""
    sent: int
    """... per this many transferred."""

    @property
    def bps(self) -> float:
        """Bit rate of one lane, without line coding."""
        return self.gtps * 1e9 * self.data / self.sent


PCIE_GENERATIONS = (
    PcieGeneration(1, 2.5, 8, 10),
    PcieGeneration(2, 5.0, 8, 10),
    PcieGeneration(3, 8.0, 128, 130),
    PcieGeneration(4, 16.0, 128, 130),
    PcieGeneration(5, 32.0, 128, 130),
    PcieGeneration(6, 64.0, 242, 256),
)


class PciFunction(NamedTuple):
    """One function of a PCI device."""

    id: str
    """Domain, bus, device and function: `0000:03:00.0`."""
    class_code: int
    """Base class, subclass and programming interface, a byte each."""
    vendor: int | None
    device: int | None
    virtual_of: str
    """The physical function of a virtual one; empty: not a virtual function."""

    @property
    def path(self) -> str:
        """The sysfs directory."""
        return f"{DEVICES}/{self.id}"

    @property
    def card(self) -> str:
        """The address shared by all functions of a device."""
        return self.id.rsplit(".", 1)[0]

    @property
    def base_class(self) -> int:
        """`0x02`: network, `0x10`: encryption ..."""
        return self.class_code >> 16


class PciePath(NamedTuple):
    """Current and maximum link of a device, and the bandwidth of its path to the processor."""

    generation: Observation[int]
    generation_max: Observation[int]
    lanes: Observation[int]
    lanes_max: Observation[int]
    limit_bps: Observation[float]


def list_functions(tree: FileTree) -> tuple[PciFunction, ...]:
    """Return the functions with a readable class, in order of their addresses."""
    functions = (_read_function(tree, name) for name in tree.list_directory(DEVICES) if ADDRESS.fullmatch(name))
    return tuple(each for each in functions if each)


def _read_function(tree: FileTree, name: str) -> PciFunction | None:
    path = f"{DEVICES}/{name}"
    code = tree.read_number(f"{path}/class")
    if code is None or not 0 <= code < 1 << 24:
        return None
    physical = (tree.read_link(f"{path}/physfn") or "").rsplit("/", 1)[-1]
    return PciFunction(
        name,
        code,
        vendor=_read_id(tree, f"{path}/vendor"),
        device=_read_id(tree, f"{path}/device"),
        virtual_of=physical if ADDRESS.fullmatch(physical) else "",
    )


def _read_id(tree: FileTree, path: str) -> int | None:
    id_ = tree.read_number(path)
    return id_ if id_ is not None and 0 <= id_ < 1 << 16 else None


def find_node(source: Source, device: str) -> Observation[int]:
    """Return the NUMA node of a device. -1 means none: unknown, except on a machine with only one node."""
    tree, path = source.tree, f"{device}/numa_node"
    node = tree.read_number(path)
    nodes = [int(name[4:]) for name in tree.list_directory(NODES) if _NODE.fullmatch(name)]
    if node is not None and (node in nodes or (node == 0 and not nodes)):
        return source.moment.reported(node, path)
    if len(nodes) <= 1 and tree.exists("/sys/devices/system/cpu"):
        deviation = tree.failure_reason(path) if node is None else f"holds {node}"
        return source.moment.inferred(nodes[0] if nodes else 0, NODES, f"the only node; numa_node: {deviation}")
    if node is None:
        return source.moment.unknown(tree.failure_reason(path), path)
    reason = "holds -1: the firmware does not say" if node == -1 else f"holds {node}, which is no node here"
    return source.moment.unknown(reason, path)


def read_path(source: Source, function: PciFunction) -> PciePath:
    """Return the current and maximum link, and the narrowest link on the path to the processor."""
    return PciePath(
        generation=_observe_generation(source, f"{function.path}/current_link_speed"),
        generation_max=_observe_generation(source, f"{function.path}/max_link_speed"),
        lanes=_observe_lanes(source, f"{function.path}/current_link_width"),
        lanes_max=_observe_lanes(source, f"{function.path}/max_link_width"),
        limit_bps=_observe_limit(source, function),
    )


def compute_limit_bps(generation: PcieGeneration, lanes: int) -> float:
    """Compute the payload bandwidth of a link: lane rate without line coding, times lanes, times payload ratio."""
    return generation.bps * lanes * PROTOCOL_RATIO


def _observe_generation(source: Source, path: str) -> Observation[int]:
    generation = _find_generation(source.tree, path)
    return (
        source.moment.reported(generation.number, path)
        if generation
        else source.moment.unknown(_explain_missing_link(source, path), path)
    )


def _explain_missing_link(source: Source, path: str) -> str:
    """Return why a link is unknown; virtual devices have none."""
    reason = source.tree.failure_reason(path)
    return "it has no link of PCI Express" if reason == "no such file" else reason


def _find_generation(tree: FileTree, path: str) -> PcieGeneration | None:
    text = tree.read_text(path)
    if text is None:
        return None
    match = _SPEED.match(text)
    generation = next((each for each in PCIE_GENERATIONS if match and float(match[1]) == each.gtps), None)
    if generation is None:
        tree.record_unexpected(path, text, "a speed of PCI Express, as 8.0 GT/s,")
    return generation


def _observe_lanes(source: Source, path: str) -> Observation[int]:
    tree = source.tree
    lane_count = tree.read_number(path)
    if lane_count is None:
        return source.moment.unknown(_explain_missing_link(source, path), path)
    if lane_count not in _LANES:
        return source.moment.unknown(f"holds {lane_count}, no width of a link", path)
    return source.moment.reported(lane_count, path)


def _observe_limit(source: Source, function: PciFunction) -> Observation[float]:
    speed, width = f"{function.path}/current_link_speed", f"{function.path}/current_link_width"
    generation, lanes = _find_generation(source.tree, speed), _observe_lanes(source, width)
    if not generation or lanes.value is None:
        return source.moment.unknown(
            lanes.why if generation else _explain_missing_link(source, speed), width if generation else speed
        )
    if function.vendor == INTEL and function.device in LINK_IN_CHIPSET:
        return source.moment.unknown("a part of the chipset: the link it reports is not the one it has", speed)
    links = [(function.id, generation, lanes.value), *_list_links_above(source, function)]
    slowest_link, slowest, count = min(links, key=lambda link: compute_limit_bps(link[1], link[2]))
    sum_of = (
        f"{slowest.gtps:g} GT/s * {count} lanes * {slowest.data}/{slowest.sent} encoding * "
        f"{PAYLOAD_BYTES}/{PAYLOAD_BYTES + OVERHEAD_BYTES} payload"
    )
    above = "" if slowest_link == function.id else f", at {slowest_link} above it"
    return source.moment.inferred(
        compute_limit_bps(slowest, count), f"{DEVICES}/{slowest_link}/current_link_speed", sum_of + above
    )


def _list_links_above(source: Source, function: PciFunction) -> Iterator[tuple[str, PcieGeneration, int]]:
    """Yield the known links of the bridges on the path."""
    real = source.tree.resolve_path(function.path) or ""
    for name in real.split("/"):
        if name != function.id and ADDRESS.fullmatch(name):
            generation = _find_generation(source.tree, f"{DEVICES}/{name}/current_link_speed")
            lanes = _observe_lanes(source, f"{DEVICES}/{name}/current_link_width").value
            if generation and lanes:
                yield name, generation, lanes
