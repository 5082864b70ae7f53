"""A host as a descriptor: every part asked, and put together."""

import datetime
from pathlib import Path

from nodrop import __version__
from nodrop.host import topology
from nodrop.host.source import Source, run_program
from nodrop.host.tree import Tree
from nodrop.model.chd import (
    HostCapabilities,
    HostDescriptor,
    HostIdentity,
    HostResources,
    Hypervisor,
    MemoryCapabilities,
    Processor,
)
from nodrop.model.observation import Moment, Observation


def this_machine() -> Source:
    """The machine this runs on, now."""
    return Source(Tree("/"), _now(), cpuid=None, programs=run_program, live=True)


def captured(root: Path) -> Source:
    """A machine whose files were captured below a directory."""
    return Source(Tree(root), _now())


def describe(source: Source) -> HostDescriptor:
    """All that can be known of a host; never raises for what it finds."""
    moment = source.moment
    nodes, links = topology.describe(source)
    none: Observation[str] = moment.unknown("not looked for")
    return HostDescriptor(
        captured_at=moment.at,
        nodrop_version=__version__,
        host=HostIdentity(id=none, hostname=none),
        capabilities=HostCapabilities(
            captured_at=moment.at,
            processor=Processor(architecture=none, vendor=none, model=none),
            memory=MemoryCapabilities(),
            hypervisor=Hypervisor(kind=none),
        ),
        resources=HostResources(captured_at=moment.at, numa_nodes=nodes, links=links),
    )


def _now() -> Moment:
    return Moment(datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
