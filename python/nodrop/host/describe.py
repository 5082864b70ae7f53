"""A host as a descriptor: every part asked, and put together."""

import datetime
from pathlib import Path

from nodrop import __version__
from nodrop.host import identity, memory, processor, settings, topology
from nodrop.host.cpuid import read_cpuid
from nodrop.host.source import Source, run_program
from nodrop.host.tree import Tree
from nodrop.model.chd import (
    HostCapabilities,
    HostDescriptor,
    HostResources,
    Hypervisor,
)
from nodrop.model.observation import Moment, Observation


def this_machine() -> Source:
    """The machine this runs on, now."""
    return Source(Tree("/"), _now(), cpuid=read_cpuid(), programs=run_program, live=True)


def captured(root: Path) -> Source:
    """A machine whose files were captured below a directory."""
    return Source(Tree(root), _now())


def describe(source: Source) -> HostDescriptor:
    """All that can be known of a host; never raises for what it finds."""
    moment = source.moment
    nodes, links, offline, warnings = topology.describe(source)
    none: Observation[str] = moment.unknown("not looked for")
    return HostDescriptor(
        captured_at=moment.at,
        nodrop_version=__version__,
        host=identity.describe(source),
        capabilities=HostCapabilities(
            captured_at=moment.at,
            processor=processor.describe(source),
            memory=memory.describe(source),
            hypervisor=Hypervisor(kind=none),
            settings=settings.describe(source),
        ),
        resources=HostResources(captured_at=moment.at, numa_nodes=nodes, links=links, offline_cpus=offline),
        warnings=warnings,
    )


def _now() -> Moment:
    return Moment(datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
