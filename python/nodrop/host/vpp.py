"""VPP, the vector packet processor of FD.io.

Source: https://s3-docs.fd.io/vpp: `show version`, `show threads`, `show hardware-interfaces`.
"""

import re
from collections.abc import Iterator

from nodrop.host.inputs import Source
from nodrop.host.pci import ADDRESS
from nodrop.model.chd import VSwitch

SOCKET = "/run/vpp/cli.sock"
_VERSION = re.compile(r"vpp v?(\S+)")
_WORKER = re.compile(r"^\d+\s+vpp_wk_\d+\s+workers\s+\d+\s+\S+ \(-?\d+\)\s+(\d+)\s", re.MULTILINE)
_MAIN = re.compile(r"^\d+\s+vpp_main\s+\d+\s+\S+ \(-?\d+\)\s+(\d+)\s", re.MULTILINE)
_DEVICE = re.compile(r"address (" + ADDRESS.pattern.removesuffix(r"\.[0-7]") + r"\.[0-9a-f]{2})")
_VIRTUAL = re.compile(r"^(?:VirtualEthernet|vhost-|memif|tap|virtio-|host-)\S*\s", re.MULTILINE)


def describe_vpp(source: Source) -> Iterator[VSwitch]:
    """Yield VPP as one switch if its socket exists."""
    if not source.tree.exists(SOCKET):
        return
    moment = source.moment
    version = source.programs("vppctl", "show", "version")
    # One that keeps silent once would do so each time.
    threads, hardware = (
        version if version.text is None else source.programs("vppctl", "show", topic)
        for topic in ("threads", "hardware-interfaces")
    )
    match = _VERSION.search(version.text or "")
    polling = _WORKER.findall(threads.text or "") or _MAIN.findall(threads.text or "")
    ports = tuple(dict.fromkeys(_find_function(each) for each in _DEVICE.findall(hardware.text or "")))
    form = "vppctl answered in an unknown form"
    yield VSwitch(
        name="vpp",
        kind=moment.reported("vpp", SOCKET),
        version=moment.reported(match[1], "vppctl show version")
        if match
        else moment.unknown(version.why or form, "vppctl show version"),
        acceleration=moment.reported("dpdk", "vppctl show hardware-interfaces")
        if ports
        else moment.unknown(hardware.why or "no card among its interfaces", "vppctl show hardware-interfaces"),
        mode=moment.unknown("not looked for in VPP", "vppctl"),
        cpus=moment.reported(tuple(sorted({int(cpu) for cpu in polling})), "vppctl show threads")
        if polling
        else moment.unknown(threads.why or form, "vppctl show threads"),
        capacity_bps=moment.unknown("not measured"),
        used_bps=moment.unknown("not measured"),
        virtual_interface_count=moment.unknown(hardware.why, "vppctl show hardware-interfaces")
        if hardware.text is None
        else moment.reported(len(_VIRTUAL.findall(hardware.text)), "vppctl show hardware-interfaces"),
        ports=moment.unknown(hardware.why, "vppctl show hardware-interfaces")
        if hardware.text is None
        else moment.reported(ports, "vppctl show hardware-interfaces"),
    )


def _find_function(address: str) -> str:
    """Convert an address of VPP, which writes two digits for the function: `0000:07:00.00`."""
    place, function = address.rsplit(".", 1)
    return f"{place}.{int(function, 16):x}"
