"""Host features exposed by libvirt, queried with virsh. Read-only, one second per command at most.

Source: https://libvirt.org/formatcaps.html, formatnode.html, manpages/virsh.html
"""

import xml.etree.ElementTree as xml
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nodrop.host.inputs import ProgramOutput
from nodrop.model.exposure import FeatureExposure, StackExposure, build_absent, build_exposed, build_partly_exposed

NAME = "libvirt"
SYSTEM = "qemu:///system"
DEVICES_MAX = 32
"""Limit of devices queried one by one."""
NETWORK, CRYPTO = "0x02", ("0x10", "0x0b40")
"""PCI classes: network controllers; encryption controllers and co-processors. Source: PCI Code and ID Assignment."""
Virsh = Callable[..., ProgramOutput]


class LibvirtHost(NamedTuple):
    """The daemon's data on the host."""

    capabilities: xml.Element
    devices: tuple[xml.Element, ...]
    """PCI functions."""
    virsh: Virsh


def query_libvirt_exposure(run: Callable[..., ProgramOutput], uri: str = SYSTEM) -> StackExposure:
    """Query the daemon at a URI."""

    def virsh(*arguments: str) -> ProgramOutput:
        return run("virsh", "--readonly", "--connect", uri, *arguments)

    answer = virsh("capabilities")
    root = _parse_xml(answer.text)
    if root is None:
        return _build_unavailable(answer.why or "it answered with something that is no XML")
    host = LibvirtHost(root, tuple(_read_devices(virsh)), virsh)
    version = virsh("version", "--daemon").text or ""
    return StackExposure(
        name=NAME,
        level="hypervisor",
        version=version.rpartition("daemon:")[2].strip(),
        features={key: way(host) for key, way in READERS.items()},
    )


def _build_unavailable(reason: str) -> StackExposure:
    unknown = FeatureExposure(status="unknown", value=reason)
    return StackExposure(name=NAME, level="hypervisor", why=reason, features=dict.fromkeys(READERS, unknown))


def _parse_xml(text: str | None) -> xml.Element | None:
    try:
        return xml.fromstring(text or "")
    except xml.ParseError:
        return None


def _read_devices(virsh: Virsh) -> Iterator[xml.Element]:
    names = (virsh("nodedev-list", "--cap", "pci").text or "").split()
    for name in names[:DEVICES_MAX]:
        if (root := _parse_xml(virsh("nodedev-dumpxml", name).text)) is not None:
            yield root


def _describe_hypervisor(host: LibvirtHost) -> FeatureExposure:
    kinds = {each.get("type", "") for each in host.capabilities.iterfind("guest/arch/domain")}
    place = "capabilities: guest/arch/domain"
    return build_exposed(" ".join(sorted(kinds)), place) if kinds else build_absent("kind of guest", place)


def _describe_iommu(host: LibvirtHost) -> FeatureExposure:
    element = host.capabilities.find("host/iommu")
    place = "capabilities: host/iommu"
    return (
        build_exposed(f"support: {element.get('support')}", place)
        if element is not None
        else build_absent("such element", place)
    )


def _describe_memory(host: LibvirtHost) -> FeatureExposure:
    answer = host.virsh("nodememstats")
    pairs = (line.partition(":") for line in (answer.text or "").splitlines())
    kib = {
        name.strip(): int(value.split()[0])
        for name, _, value in pairs
        if value.split()[:1] and value.split()[0].isdigit()
    }
    if "total" not in kib or "free" not in kib:
        return FeatureExposure(status="unknown", value=answer.why or "no figures", source="nodememstats")
    return build_exposed(f"{kib['free'] / 2**20:.1f} of {kib['total'] / 2**20:.1f} GiB free", "nodememstats")


def _describe_large_pages(host: LibvirtHost) -> FeatureExposure:
    sizes = [each for each in host.capabilities.iterfind("host/topology/cells/cell/pages") if each.get("size") != "4"]
    place = "capabilities: host/topology/cells/cell/pages; freepages"
    if not sizes:
        return build_absent("large pages in the cells", place)
    free = host.virsh("freepages", "--all")
    reported = ", ".join(f"{each.text} of {int(each.get('size', '0')) >> 10} MiB" for each in sizes)
    if free.text is None:
        return build_partly_exposed(f"{reported}; how many are free: {free.why}", place)
    return build_exposed(f"{reported}; and how many are free", place)


def _list_devices_of_class(host: LibvirtHost, *prefixes: str) -> list[xml.Element]:
    return [each for each in host.devices if (each.findtext("capability/class") or "").startswith(prefixes)]


def _list_devices(host: LibvirtHost, *prefixes: str) -> FeatureExposure:
    place = "nodedev-list --cap pci; nodedev-dumpxml: capability/class, product, vendor"
    if not host.devices:
        return FeatureExposure(status="unknown", value="it lists no PCI device", source=place)
    names = [
        (each.findtext("capability/product") or "").strip() or "by its id"
        for each in _list_devices_of_class(host, *prefixes)
    ]
    return build_exposed(", ".join(dict.fromkeys(names)) or "none here", place)


def _read_cards(host: LibvirtHost, path: str, reported: Callable[[xml.Element], str], what: str) -> FeatureExposure:
    """Return an element of all network cards."""
    place = f"nodedev-dumpxml: {path}"
    cards = _list_devices_of_class(host, NETWORK)
    if not cards:
        return FeatureExposure(status="unknown", value="it lists no network card to look at", source=place)
    values = [reported(each) for card in cards for each in card.iterfind(path)]
    if not values:  # libvirt leaves out what a card does not have
        return FeatureExposure(status="unknown", value=f"no network card here has a {what} to show", source=place)
    return build_exposed(", ".join(dict.fromkeys(values)), place)


def _describe_cpu(host: LibvirtHost) -> FeatureExposure:
    model = host.capabilities.findtext("host/cpu/model")
    flags = host.capabilities.findall("host/cpu/feature")
    place = "capabilities: host/cpu"
    return build_exposed(f"{model}, {len(flags)} more flags", place) if model else build_absent("model", place)


def _describe_cores(host: LibvirtHost) -> FeatureExposure:
    place = "capabilities: cell/cpus/cpu@siblings; vcpupin of each VM"
    cpus = host.capabilities.findall("host/topology/cells/cell/cpus/cpu")
    if not any(each.get("siblings") for each in cpus):
        return build_absent("siblings", place)
    running = len((host.virsh("list", "--name").text or "").split())
    reported = f"{len(cpus)} CPUs with their siblings, pinning of {running} VMs; not what the host itself uses"
    return build_partly_exposed(reported, place)


def _describe_sockets(host: LibvirtHost) -> FeatureExposure:
    place = "capabilities: cell/cpus/cpu@socket_id"
    sockets = {each.get("socket_id") for each in host.capabilities.iterfind("host/topology/cells/cell/cpus/cpu")} - {
        None
    }
    return (
        build_exposed(f"{len(sockets)} sockets" if len(sockets) != 1 else "1 socket", place)
        if sockets
        else build_absent("socket", place)
    )


def _search_words(*words: str) -> Callable[[LibvirtHost], FeatureExposure]:
    """Return a reader for features without a known element, which searches the entire answer for words."""

    def way(host: LibvirtHost) -> FeatureExposure:
        text = " ".join(xml.tostring(each, encoding="unicode") for each in (host.capabilities, *host.devices)).lower()
        matches = [word for word in words if word in text]
        place = f"capabilities, nodedev-dumpxml: {' or '.join(words)}"
        if matches:
            return build_partly_exposed(f"mentioned: {' '.join(matches)}", place)
        return build_absent("element or word about it", place)

    return way


READERS: dict[str, Callable[[LibvirtHost], FeatureExposure]] = {
    "hypervisor": _describe_hypervisor,
    "iommu": _describe_iommu,
    "direct-cache": _search_words("ddio", "direct cache", "sdci"),
    "memory": _describe_memory,
    "large-pages": _describe_large_pages,
    "nic": lambda host: _list_devices(host, NETWORK),
    "crypto": lambda host: _list_devices(host, *CRYPTO),
    "pci-socket": lambda host: _read_cards(host, "capability/numa", lambda at: f"node {at.get('node')}", "node"),
    "pci-bandwidth": lambda host: _read_cards(
        host,
        "capability/pci-express/link[@validity='cap']",
        lambda at: f"{at.get('speed')} GT/s by {at.get('width')} lanes",
        "link",
    ),
    "sriov": lambda host: _read_cards(
        host,
        "capability/capability[@type='virt_functions']",
        lambda at: f"up to {at.get('maxCount')} functions",
        "virtual function",
    ),
    "cpu": _describe_cpu,
    "ovs": _search_words("dpdk", "openvswitch", "netdev datapath"),
    "cores": _describe_cores,
    "isolation": _search_words("isolated", "isolcpus"),
    "core-socket": _describe_sockets,
    "kernel": _search_words("kernel", "uname"),
    "tlb": _search_words("tlb"),
}
"""By the key of the row."""
