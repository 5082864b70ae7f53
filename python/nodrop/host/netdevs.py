"""Network interfaces: their PCI function, the interfaces stacked on them, and their use by the host."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from nodrop.host.file_tree import FileTree
from nodrop.host.pci import PciFunction

CLASS = "/sys/class/net"
ROUTES, ROUTES_6 = "/proc/net/route", "/proc/net/ipv6_route"
VIRTIO = 0x1AF4
"""PCI vendor of paravirtual devices."""
STACK_MAX = 64
"""Limit of interfaces to follow upwards from one."""
_REPRESENTOR = re.compile(r"(?:c\d+)?pf\d+(?:vf|sf)\d+")
"""Port name of a representor of another function in the card's switch."""
_NOT_ROUTED = ("fe8", "ff0", "0000000000000000000000000000000" + "1")
"""Destinations present on every interface: link-local, multicast, loopback."""


class InterfaceStack(NamedTuple):
    """Interfaces stacked on an interface."""

    uppers: tuple[str, ...]
    """All interfaces above it: bonds, VLANs, bridges, macvtaps."""
    bridges: tuple[str, ...]
    """The bridges among them."""


def list_net_directories(tree: FileTree, function: PciFunction) -> tuple[str, ...]:
    """List the directories with a function's interfaces, including those of virtio devices below it."""
    children = tree.list_directory(function.path) if function.vendor == VIRTIO else ()
    below = (f"{function.path}/{name}/net" for name in children if re.fullmatch(r"virtio\d+", name))
    return tuple(each for each in (f"{function.path}/net", *below) if tree.exists(each))


def list_interfaces(tree: FileTree, function: PciFunction) -> tuple[str, ...]:
    """List the interfaces that are ports of a function, without representors of virtual functions."""
    return tuple(
        name
        for directory in list_net_directories(tree, function)
        for name in tree.list_directory(directory)
        if not _REPRESENTOR.fullmatch(tree.read_text(f"{CLASS}/{name}/phys_port_name") or "")
    )


def list_device_interfaces(tree: FileTree) -> Iterator[str]:
    """List the interfaces backed by a device, without veth and other virtual ones."""
    return (name for name in tree.list_directory(CLASS) if tree.exists(f"{CLASS}/{name}/device"))


def find_stack(tree: FileTree, interface: str) -> InterfaceStack:
    """Find the interfaces stacked on an interface."""
    uppers: list[str] = []
    pending = [interface]
    while pending and len(uppers) < STACK_MAX:
        for upper in _list_direct_uppers(tree, pending.pop()):
            if upper not in uppers and upper != interface:
                uppers.append(upper)
                pending.append(upper)
    return InterfaceStack(tuple(uppers), tuple(each for each in uppers if tree.exists(f"{CLASS}/{each}/bridge")))


def _list_direct_uppers(tree: FileTree, interface: str) -> Iterator[str]:
    directory = f"{CLASS}/{interface}"
    master = tree.read_link(f"{directory}/master")
    if master:
        yield master.rsplit("/", 1)[-1]
    yield from (name.removeprefix("upper_") for name in tree.list_directory(directory) if name.startswith("upper_"))


def read_routed_interfaces(tree: FileTree) -> tuple[frozenset[str], str]:
    """Return the interfaces used by routes of the host, and why they are unknown."""
    text, text_6 = tree.read_text(ROUTES), tree.read_text(ROUTES_6)
    if text is None and text_6 is None:
        return frozenset(), tree.failure_reason(ROUTES)
    lines = [line.split() for line in (text or "").splitlines()[1:]]
    lines_6 = [line.split() for line in (text_6 or "").splitlines()]
    interfaces = {line[0] for line in lines if line}
    interfaces |= {line[-1] for line in lines_6 if len(line) == 10 and not line[0].startswith(_NOT_ROUTED)}
    return frozenset(interfaces - {"lo"}), ""
