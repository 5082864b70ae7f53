"""Virtual switches of a machine. ETSI GS NFV-PER 001 clauses 8.1.1.3 and 8.1.1.4."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from nodrop.host import nat, ovs, vpp
from nodrop.host.inputs import Source
from nodrop.host.netdevs import CLASS
from nodrop.model.chd import VSwitch

RELEASE = "/proc/sys/kernel/osrelease"


def describe_vswitches(source: Source) -> tuple[VSwitch, ...]:
    """Describe every running virtual switch: Open vSwitch with OVN and DPDK, VPP, Linux bridges."""
    with ThreadPoolExecutor() as pool:
        programs = pool.submit(lambda: tuple(vpp.describe_vpp(source)))
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
