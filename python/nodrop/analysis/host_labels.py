"""How leaves of a host's descriptor read: what they are called, and their values."""

from collections.abc import Sequence
from typing import Any

from nodrop.system.cpu_sets import ranges
from nodrop.units import format_bps, format_bytes

Path = tuple[str, ...]
ONE = {
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
"""Names of lists, and what one of them is."""
WORDS = {
    "host": "",
    "capabilities": "",
    "resources": "",
    "settings": "",
    "cpus": "",
    "ids": "CPUs",
    "socket_count": "sockets",
    "core_count": "cores",
    "isa_extensions": "CPU flags",
    "pci_limit_bps": "what its slot carries",
    "base_mhz": "base clock",
    "max_mhz": "highest clock",
    "current_mhz": "clock now",
    "enabled": "switched on",
}
"""What a key is called where its own words would not do; nothing where it says nothing."""
SHORT = {
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
LONG = 60
"""Of text longer than that only the words that differ are shown."""


def path_text(path: Path) -> str:
    """What a leaf is called: `node 0: CPU 3: in use`."""
    parts: list[str] = []
    rest = list(path)
    while rest:
        name = rest.pop(0)
        if name in ONE and rest:
            parts.append(f"{ONE[name]} {rest.pop(0)}")
        elif name == "large_pages" and rest and rest[0].isdigit():
            parts.append(f"large pages of {format_bytes(int(rest.pop(0)))}")
        elif name == "settings" and rest:
            parts.append(".".join(rest))
            break
        else:
            parts.append(_words(name))
    return ": ".join(part for part in parts if part)


def many_text(kind: str, names: Sequence[str]) -> str:
    """Several CPUs or functions: `CPUs 2-5`."""
    if kind == "cpu":
        return f"CPUs {ranges([int(name) for name in names])}"
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return f"{ONE.get(kind, kind)}s {', '.join(names[:2])}{more}"


def both_shown(name: str, a: Any, b: Any) -> tuple[str, str]:
    """Two values that differ, so that it shows in what."""
    one, other = _shown(name, a), _shown(name, b)
    if one == other:
        one, other = str(a), str(b)
    words = [set(text.split()) for text in (one, other)]
    if max(len(one), len(other)) > LONG and words[0] & words[1] and words[0] != words[1]:
        first, second = (
            " ".join(word for word in text.split() if word not in beside)
            for text, beside in ((one, words[1]), (other, words[0]))
        )
        return f"... {first or 'nothing more'}", f"... {second or 'nothing more'}"
    return one, other


def _words(name: str) -> str:
    if name in WORDS:
        return WORDS[name]
    ending = next((each for each in UNITS if name.endswith(each)), "")
    return " ".join(SHORT.get(word, word) for word in name.removesuffix(ending).split("_"))


def is_list(name: str) -> bool:
    """Whether a key holds several of something."""
    return name in ONE or name == "large_pages"


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return _counted(name, value)
    if isinstance(value, tuple):
        if value and all(isinstance(each, int) for each in value):
            return ranges(value)
        return " ".join(_shown("", each) for each in value) or "none"
    return str(value) if value != "" else "none"


def _counted(name: str, value: float) -> str:
    if name.endswith("_bytes"):
        return format_bytes(value)
    if name.endswith("_bps"):
        return format_bps(value)
    if name.endswith("_ratio"):
        return f"{value:.1%}"
    unit = {"_mhz": " MHz", "_mtps": " MT/s", "_bytes_per_s": " bytes/s"}
    return f"{value:g}{next((text for ending, text in unit.items() if name.endswith(ending)), '')}"
