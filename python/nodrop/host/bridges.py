"""Bridges of the kernel."""

from collections.abc import Iterator

from nodrop.host import nat
from nodrop.host.inputs import Source
from nodrop.host.netdevs import CLASS
from nodrop.model.chd import VSwitch

RELEASE = "/proc/sys/kernel/osrelease"


def list_bridges(source: Source) -> tuple[str, ...]:
    """Interfaces that are bridges."""
    return tuple(name for name in source.tree.names(CLASS) if source.tree.exists(f"{CLASS}/{name}/bridge"))


def describe(source: Source, masquerading: nat.MasqueradeRules) -> Iterator[VSwitch]:
    """Every bridge with what is on it."""
    moment, tree = source.moment, source.tree
    release = tree.text(RELEASE)
    for name in list_bridges(source):
        members = f"{CLASS}/{name}/brif"
        physical = [each for each in tree.names(members) if tree.exists(f"{CLASS}/{each}/device")]
        yield VSwitch(
            name=name,
            kind=moment.reported("linux-bridge", f"{CLASS}/{name}/bridge"),
            version=moment.reported(release, RELEASE, "the kernel's")
            if release
            else moment.unknown(tree.why(RELEASE), RELEASE),
            acceleration=moment.inferred("none", f"{CLASS}/{name}/bridge", "the kernel forwards"),
            mode=nat.infer_mode(source, name, masquerading),
            cpus=moment.inferred((), f"{CLASS}/{name}/bridge", "no thread of it polls"),
            capacity_bps=moment.unknown("not measured"),
            used_bps=moment.unknown("not measured"),
            virtual_interface_count=moment.reported(len(tree.names(members)) - len(physical), members),
            ports=moment.reported(tuple(physical), members),
        )
