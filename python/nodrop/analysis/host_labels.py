"""Display names and values of the leaves of a host descriptor."""

from collections.abc import Sequence
from typing import Any

from nodrop.system.cpu_sets import format_cpu_list
from nodrop.units import format_bps, format_bytes

Path = tuple[str, ...]
ITEM_NAMES = {
    "numa_nodes": "node",
    "cpu": "CPU",
    "nics": "NIC",
    "ports": "port",
    "vfs": "VF",
    "vswitches": "virtual switch",
    "modules": "memory module",
    "caches": "cache",
    "tlbs": "TLB",
    "links": "link between nodes",
    "accelerators": "accelerator",
    "unplaced_nics": "NIC on no known node",
    "unplaced_accelerators": "accelerator on no known node",
}
"""Name of one item, by the key of its list."""
KEY_LABELS = {
    "host": "",
    "capabilities": "",
    "resources": "",
    "settings": "",
    "cpus": "",
    "ids": "CPUs",
    "socket_count": "sockets",
    "core_count": "cores",
    "isa_extensions": "CPU flags",
    "pci_limit_bps": "slot bandwidth",
    "base_mhz": "base clock",
    "max_mhz": "maximum clock",
    "current_mhz": "current clock",
    "enabled": "enabled",
}
"""Display names of keys that need one; empty: the key is not shown."""
ABBREVIATIONS = {
    **{
        each: each.upper() for each in ("cpu", "tlb", "numa", "nic", "irq", "smt", "tsc", "slat", "iommu", "bios", "os")
    },
    **{
        "io": "I/O",
        "cpus": "CPUs",
        "sriov": "SR-IOV",
        "iotlb": "IOTLB",
        "pci": "PCI",
        "ecc": "ECC",
        "vswitch": "vSwitch",
    },
}
UNITS = ("_bytes_per_s", "_bytes", "_bps", "_mhz", "_mtps", "_ratio", "_count")
LONG_TEXT_MIN = 60
"""Texts longer than this are reduced to the words that differ."""


def format_path(path: Path) -> str:
    """Format the path of a leaf: `node 0: CPU 3: in use`."""
    parts: list[str] = []
    rest = list(path)
    while rest:
        name = rest.pop(0)
        if name in ITEM_NAMES and rest:
            parts.append(f"{ITEM_NAMES[name]} {rest.pop(0)}")
        elif name == "large_pages" and rest and rest[0].isdigit():
            parts.append(f"large pages of {format_bytes(int(rest.pop(0)))}")
        elif name == "settings" and rest:
            parts.append(".".join(rest))
            break
        else:
            parts.append(_format_key(name))
    return ": ".join(part for part in parts if part)


def format_group(kind: str, names: Sequence[str]) -> str:
    """Format a group of CPUs or virtual functions: `CPUs 2-5`."""
    if kind == "cpu":
        return f"CPUs {format_cpu_list([int(name) for name in names])}"
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return f"{ITEM_NAMES.get(kind, kind)}s {', '.join(names[:2])}{more}"


def format_pair(name: str, a: Any, b: Any) -> tuple[str, str]:
    """Format two different values so that the difference is visible."""
    text_a, text_b = _format_value(name, a), _format_value(name, b)
    if text_a == text_b:
        text_a, text_b = str(a), str(b)
    words = [set(text.split()) for text in (text_a, text_b)]
    if max(len(text_a), len(text_b)) > LONG_TEXT_MIN and words[0] & words[1] and words[0] != words[1]:
        first, second = (
            " ".join(word for word in text.split() if word not in other_words)
            for text, other_words in ((text_a, words[1]), (text_b, words[0]))
        )
        return f"... {first or 'nothing more'}", f"... {second or 'nothing more'}"
    return text_a, text_b


def _format_key(name: str) -> str:
    if name in KEY_LABELS:
        return KEY_LABELS[name]
    ending = next((each for each in UNITS if name.endswith(each)), "")
    return " ".join(ABBREVIATIONS.get(word, word) for word in name.removesuffix(ending).split("_"))


def is_list(name: str) -> bool:
    """Return whether a key is a list of items."""
    return name in ITEM_NAMES or name == "large_pages"


def _format_value(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return _format_number(name, value)
    if isinstance(value, tuple):
        if value and all(isinstance(each, int) for each in value):
            return format_cpu_list(value)
        return " ".join(_format_value("", each) for each in value) or "none"
    return str(value) if value != "" else "none"


def _format_number(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_bps"):
        return format_bps(value)
    if name.endswith("_ratio"):
        return f"{value:.1%}"
    unit = {"_mhz": " MHz", "_mtps": " MT/s", "_bytes_per_s": " bytes/s"}
    return f"{value:g}{next((text for ending, text in unit.items() if name.endswith(ending)), '')}"
