"""What libvirt shows, asked through virsh: read-only, each question a second at most.

Source: https://libvirt.org/formatcaps.html, formatnode.html, manpages/virsh.html
"""

import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nodrop.host.inputs import Answer
from nodrop.model.exposure import Exposed, StackExposure

NAME = "libvirt"
SYSTEM = "qemu:///system"
MOST_DEVICES = 32
"""Devices that are asked for one by one."""
NETWORK, CRYPTO = "0x02", ("0x10", "0x0b40")
"""PCI classes: network controllers; encryption controllers and co-processors. Source: PCI Code and ID Assignment."""
Virsh = Callable[..., Answer]


class Said(NamedTuple):
    """What the daemon said of the host."""

    capabilities: xml.Element
    devices: tuple[xml.Element, ...]
    """PCI functions."""
    virsh: Virsh


def ask(run: Callable[..., Answer], uri: str = SYSTEM) -> StackExposure:
    """What the daemon at an address shows."""

    def virsh(*arguments: str) -> Answer:
        return run("virsh", "--readonly", "--connect", uri, *arguments)

    answer = virsh("capabilities")
    root = _parsed(answer.text)
    if root is None:
        return _silent(answer.why or "it answered with something that is no XML")
    said = Said(root, tuple(_devices(virsh)), virsh)
    version = virsh("version", "--daemon").text or ""
    return StackExposure(
        name=NAME,
        level="hypervisor",
        version=version.rpartition("daemon:")[2].strip(),
        features={key: way(said) for key, way in WAYS.items()},
    )


def _silent(why: str) -> StackExposure:
    return StackExposure(
        name=NAME,
        level="hypervisor",
        why=why,
        features={key: Exposed(status="unknown", value=why) for key in WAYS},
    )


def _parsed(text: str | None) -> xml.Element | None:
    try:
        return xml.fromstring(text or "")
    except xml.ParseError:
        return None


def _devices(virsh: Virsh) -> Iterator[xml.Element]:
    names = (virsh("nodedev-list", "--cap", "pci").text or "").split()
    for name in names[:MOST_DEVICES]:
        if (root := _parsed(virsh("nodedev-dumpxml", name).text)) is not None:
            yield root


def _exposed(value: str, source: str) -> Exposed:
    return Exposed(status="exposed", value=value, source=source)


def _absent(looked_for: str, source: str) -> Exposed:
    return Exposed(status="not exposed", value=f"no {looked_for}", source=source)


def _hypervisor(said: Said) -> Exposed:
    kinds = {each.get("type", "") for each in said.capabilities.iterfind("guest/arch/domain")}
    place = "capabilities: guest/arch/domain"
    return _exposed(" ".join(sorted(kinds)), place) if kinds else _absent("kind of guest", place)


def _iommu(said: Said) -> Exposed:
    found = said.capabilities.find("host/iommu")
    place = "capabilities: host/iommu"
    return _exposed(f"support: {found.get('support')}", place) if found is not None else _absent("such element", place)


def _memory(said: Said) -> Exposed:
    answer = said.virsh("nodememstats")
    pairs = (line.partition(":") for line in (answer.text or "").splitlines())
    kib = {
        name.strip(): int(value.split()[0])
        for name, _, value in pairs
        if value.split()[:1] and value.split()[0].isdigit()
    }
    if "total" not in kib or "free" not in kib:
        return Exposed(status="unknown", value=answer.why or "no figures", source="nodememstats")
    return _exposed(f"{kib['free'] / 2**20:.1f} of {kib['total'] / 2**20:.1f} GiB free", "nodememstats")


def _large_pages(said: Said) -> Exposed:
    sizes = [each for each in said.capabilities.iterfind("host/topology/cells/cell/pages") if each.get("size") != "4"]
    place = "capabilities: host/topology/cells/cell/pages; freepages"
    if not sizes:
        return _absent("large pages in the cells", place)
    free = said.virsh("freepages", "--all")
    told = ", ".join(f"{each.text} of {int(each.get('size', '0')) >> 10} MiB" for each in sizes)
    if free.text is None:
        return Exposed(status="partly", value=f"{told}; how many are free: {free.why}", source=place)
    return _exposed(f"{told}; and how many are free", place)


def _of_class(said: Said, *prefixes: str) -> list[xml.Element]:
    return [each for each in said.devices if (each.findtext("capability/class") or "").startswith(prefixes)]


def _present(said: Said, *prefixes: str) -> Exposed:
    place = "nodedev-list --cap pci; nodedev-dumpxml: capability/class, product, vendor"
    if not said.devices:
        return Exposed(status="unknown", value="it lists no PCI device", source=place)
    found = [(each.findtext("capability/product") or "").strip() or "by its id" for each in _of_class(said, *prefixes)]
    return _exposed(", ".join(dict.fromkeys(found)) or "none here", place)


def _of_cards(said: Said, path: str, told: Callable[[xml.Element], str], what: str) -> Exposed:
    """What is said of cards below their element."""
    place = f"nodedev-dumpxml: {path}"
    cards = _of_class(said, NETWORK)
    if not cards:
        return Exposed(status="unknown", value="it lists no network card to look at", source=place)
    found = [told(each) for card in cards for each in card.iterfind(path)]
    if not found:  # libvirt leaves out what a card does not have
        return Exposed(status="unknown", value=f"no network card here has a {what} to show", source=place)
    return _exposed(", ".join(dict.fromkeys(found)), place)


def _cpu(said: Said) -> Exposed:
    model = said.capabilities.findtext("host/cpu/model")
    flags = said.capabilities.findall("host/cpu/feature")
    place = "capabilities: host/cpu"
    return _exposed(f"{model}, {len(flags)} more flags", place) if model else _absent("model", place)


def _cores(said: Said) -> Exposed:
    place = "capabilities: cell/cpus/cpu@siblings; vcpupin of each VM"
    cpus = said.capabilities.findall("host/topology/cells/cell/cpus/cpu")
    if not any(each.get("siblings") for each in cpus):
        return _absent("siblings", place)
    running = len((said.virsh("list", "--name").text or "").split())
    told = f"{len(cpus)} CPUs with their siblings, pinning of {running} VMs; not what the host itself uses"
    return Exposed(status="partly", value=told, source=place)


def _sockets(said: Said) -> Exposed:
    place = "capabilities: cell/cpus/cpu@socket_id"
    sockets = {each.get("socket_id") for each in said.capabilities.iterfind("host/topology/cells/cell/cpus/cpu")} - {
        None
    }
    return (
        _exposed(f"{len(sockets)} sockets" if len(sockets) != 1 else "1 socket", place)
        if sockets
        else _absent("socket", place)
    )


def _nowhere(*words: str) -> Callable[[Said], Exposed]:
    """What no element is known for: the whole answer is looked through all the same."""

    def way(said: Said) -> Exposed:
        text = " ".join(xml.tostring(each, encoding="unicode") for each in (said.capabilities, *said.devices)).lower()
        found = [word for word in words if word in text]
        place = f"capabilities, nodedev-dumpxml: {' or '.join(words)}"
        if found:
            return Exposed(status="partly", value=f"mentioned: {' '.join(found)}", source=place)
        return _absent("element or word about it", place)

    return way


WAYS: dict[str, Callable[[Said], Exposed]] = {
    "hypervisor": _hypervisor,
    "iommu": _iommu,
    "direct-cache": _nowhere("ddio", "direct cache", "sdci"),
    "memory": _memory,
    "large-pages": _large_pages,
    "nic": lambda said: _present(said, NETWORK),
    "crypto": lambda said: _present(said, *CRYPTO),
    "pci-socket": lambda said: _of_cards(said, "capability/numa", lambda at: f"node {at.get('node')}", "node"),
    "pci-bandwidth": lambda said: _of_cards(
        said,
        "capability/pci-express/link[@validity='cap']",
        lambda at: f"{at.get('speed')} GT/s by {at.get('width')} lanes",
        "link",
    ),
    "sriov": lambda said: _of_cards(
        said,
        "capability/capability[@type='virt_functions']",
        lambda at: f"up to {at.get('maxCount')} functions",
        "virtual function",
    ),
    "cpu": _cpu,
    "ovs": _nowhere("dpdk", "openvswitch", "netdev datapath"),
    "cores": _cores,
    "isolation": _nowhere("isolated", "isolcpus"),
    "core-socket": _sockets,
    "kernel": _nowhere("kernel", "uname"),
    "tlb": _nowhere("tlb"),
}
"""By the key of the row."""
