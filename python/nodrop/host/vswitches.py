"""Virtual switches of a machine: Open vSwitch, VPP and Linux bridges. ETSI GS NFV-PER 001 clauses 8.1.1.3 and 8.1.1.4.

Source: https://s3-docs.fd.io/vpp: `show version`, `show threads`, `show hardware-interfaces`.
"""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from nodrop.host import nat, ovs
from nodrop.host.inputs import Source
from nodrop.host.netdevs import CLASS
from nodrop.host.pci import ADDRESS
from nodrop.model.chd import VSwitch

RELEASE = "/proc/sys/kernel/osrelease"
SOCKET = "/run/vpp/cli.sock"
_VERSION = re.compile(r"vpp v?(\S+)")
_WORKER = re.compile(r"^\d+\s+vpp_wk_\d+\s+workers\s+\d+\s+\S+ \(-?\d+\)\s+(\d+)\s", re.MULTILINE)
_MAIN = re.compile(r"^\d+\s+vpp_main\s+\d+\s+\S+ \(-?\d+\)\s+(\d+)\s", re.MULTILINE)
_DEVICE = re.compile(r"address (" + ADDRESS.pattern.removesuffix(r"\.[0-7]") + r"\.[0-9a-f]{2})")
_VIRTUAL = re.compile(r"^(?:VirtualEthernet|vhost-|memif|tap|virtio-|host-)\S*\s", re.MULTILINE)


def describe_vswitches(source: Source) -> tuple[VSwitch, ...]:
    """Describe every running virtual switch: Open vSwitch with OVN and DPDK, VPP, Linux bridges."""
    with ThreadPoolExecutor() as pool:
        programs = pool.submit(lambda: tuple(describe_vpp(source)))
        masquerading = (
            nat.read_masquerade_rules(source)
            if _list_bridges(source) or ovs.is_running(source)
            else nat.MasqueradeRules((), {})
        )
        ovs_switches = ovs.describe_ovs(source, masquerading)
        return (*ovs_switches, *programs.result(), *_describe_bridges(source, masquerading))


def _list_bridges(source: Source) -> tuple[str, ...]:
    """Return the interfaces that are bridges."""
    return tuple(name for name in source.tree.list_directory(CLASS) if source.tree.exists(f"{CLASS}/{name}/bridge"))


def _describe_bridges(source: Source, masquerading: nat.MasqueradeRules) -> Iterator[VSwitch]:
    """Yield every bridge with its ports."""
    moment, tree = source.moment, source.tree
    release = tree.read_text(RELEASE)
    for name in _list_bridges(source):
        members = f"{CLASS}/{name}/brif"
        physical = [each for each in tree.list_directory(members) if tree.exists(f"{CLASS}/{each}/device")]
        yield VSwitch(
            name=name,
            kind=moment.reported("linux-bridge", f"{CLASS}/{name}/bridge"),
            version=moment.reported(release, RELEASE, "the kernel's")
            if release
            else moment.unknown(tree.failure_reason(RELEASE), RELEASE),
            acceleration=moment.inferred("none", f"{CLASS}/{name}/bridge", "the kernel forwards"),
            mode=nat.infer_mode(source, name, masquerading),
            cpus=moment.inferred((), f"{CLASS}/{name}/bridge", "no thread of it polls"),
            capacity_bps=moment.unknown("not measured"),
            used_bps=moment.unknown("not measured"),
            virtual_interface_count=moment.reported(len(tree.list_directory(members)) - len(physical), members),
            ports=moment.reported(tuple(physical), members),
        )


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
