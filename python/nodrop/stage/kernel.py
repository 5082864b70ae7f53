"""SUTs inside the Linux kernel: a bridge, a router. All functions work in the process's network namespace."""

import ipaddress
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nodrop.errors import StageError
from nodrop.model.lab_plan import Forwarder, ForwarderPort, LabPlan
from nodrop.stage.links import find_index, netlink_for, set_up

BRIDGE_AGEING_CENTISECONDS = 24 * 3600 * 100
"""A bridge that expires an address during a one-way run starts to flood, which changes the SUT."""
NEIGHBOR_SETTINGS = {"base_reachable_time_ms": str(24 * 3600 * 1000), "delay_first_probe_time": "0"}
"""A router that revalidates its neighbors forwards through a slower path until they reply, which changes the SUT; so it
probes once, at once. Older kernels lack these settings in user namespaces."""
SYSCTL = Path("/proc/sys/net")
ROUTER_SETTINGS = {
    "ipv4/ip_forward": "1",
    "ipv6/conf/all/forwarding": "1",
    "ipv4/conf/all/rp_filter": "0",
    "ipv4/conf/all/arp_ignore": "1",
}
"""Several ports may be on one network: arp_ignore makes each reply for its own addresses only."""
ROUTER_PORT_SETTINGS = {
    "ipv4/conf/{}/rp_filter": "0",
    "ipv4/conf/{}/send_redirects": "0",
    "ipv6/conf/{}/accept_dad": "0",
    "ipv6/conf/{}/mldv1_unsolicited_report_interval": "1",
    "ipv6/conf/{}/mldv2_unsolicited_report_interval": "1",
    "ipv6/conf/{}/disable_ipv6": "0",
}
"""In this order. The router forwards by its routes alone; its own messages, such as multicast reports, are sent before
the first trial. Source: Documentation/networking/ip-sysctl.rst."""


def create_bridges(plan: LabPlan) -> None:
    """Connect the ports of each forwarder by a learning Linux bridge that sends no frames of its own."""
    with netlink_for("create a Linux bridge") as netlink:
        for position, forwarder in enumerate(plan.forwarders):
            _create_bridge(netlink, f"br{position}", plan.mtu_bytes, forwarder)


def configure_router(plan: LabPlan) -> None:
    """Configure the kernel to route IPv4 and IPv6 between all ports; it resolves its neighbors' MAC addresses."""
    enable_routing(port for forwarder in plan.forwarders for port in forwarder.ports)


def enable_routing(ports: Iterable[ForwarderPort]) -> None:
    """Configure the kernel as a router with these ports."""
    for setting, value in ROUTER_SETTINGS.items():
        _set_sysctl(setting, value)
    with netlink_for("configure a kernel router") as netlink:
        for port in ports:
            for setting, value in ROUTER_PORT_SETTINGS.items():
                _set_sysctl(setting.format(port.interface), value)
            for setting, version in itertools.product(NEIGHBOR_SETTINGS, ("ipv4", "ipv6")):
                path = f"{version}/neigh/{port.interface}/{setting}"
                if (SYSCTL / path).exists():
                    _set_sysctl(path, NEIGHBOR_SETTINGS[setting])
            _configure_router_port(netlink, port)


def _create_bridge(netlink: Any, name: str, mtu_bytes: int, forwarder: Forwarder) -> None:
    netlink.link(
        "add",
        ifname=name,
        kind="bridge",
        mtu=mtu_bytes,
        br_stp_state=0,
        br_forward_delay=0,
        br_mcast_snooping=0,
        br_ageing_time=BRIDGE_AGEING_CENTISECONDS,
    )
    for port in forwarder.ports:
        netlink.link("set", index=find_index(port.interface), master=find_index(name))
    set_up(netlink, name)


def _configure_router_port(netlink: Any, port: ForwarderPort) -> None:
    index = find_index(port.interface)
    netlink.link("set", index=index, address=port.mac)
    set_up(netlink, port.interface)
    for address in map(ipaddress.ip_address, port.addresses):
        if _supports(address.version):
            netlink.addr("add", index=index, address=str(address), prefixlen=address.max_prefixlen)
    if _supports(6):  # neighbor solicitations are sent from a link-local address (RFC 4861 section 7.2.2)
        netlink.addr("add", index=index, address=link_local(port.mac), prefixlen=64)
    for route in port.routes:
        if _supports(ipaddress.ip_address(route.via).version):
            netlink.route("add", dst=route.prefix, gateway=route.via, oif=index, flags=["onlink"])


def link_local(mac: str) -> str:
    """Return the link-local address of an interface (RFC 4291 appendix A)."""
    first, *middle = bytes.fromhex(mac.replace(":", ""))
    identifier = bytes((first ^ 2, *middle[:2], 0xFF, 0xFE, *middle[2:]))
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + identifier))


def _supports(version: int) -> bool:
    """Return whether the kernel supports this version of IP."""
    return version == 4 or (SYSCTL / "ipv6").exists()


def _set_sysctl(setting: str, value: str) -> None:
    path = SYSCTL / setting
    if setting.startswith("ipv6") and not _supports(6):
        return
    try:
        path.write_text(value)
    except OSError as error:
        raise StageError(
            f"SUT router: cannot set net.{setting.replace('/', '.')}={value} ({error.strerror}); mount /proc/sys "
            "writable (in a container: --privileged), or measure vnf-l3"
        ) from error
