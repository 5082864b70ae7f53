"""A host as a descriptor: every part asked, and put together."""

import datetime
import functools

from nodrop import __version__
from nodrop.host import datapath, hypervisor, identity, libvirt, memory, nics, processor, settings, topology, vswitches
from nodrop.host.cpuid import read_cpuid
from nodrop.host.network import KernelNetwork
from nodrop.host.source import Source, run_program
from nodrop.host.tree import Tree
from nodrop.model.chd import (
    HostCapabilities,
    HostDescriptor,
    HostResources,
)
from nodrop.model.observation import Moment


def this_machine() -> Source:
    """The machine this runs on, now."""
    return Source(
        Tree("/"),
        _now(),
        cpuid=read_cpuid(),
        programs=run_program,
        live=True,
        network=KernelNetwork(),
        libvirt=functools.cache(libvirt.ask),
    )


def describe(source: Source) -> HostDescriptor:
    """All that can be known of a host; never raises for what it finds."""
    moment = source.moment
    nodes, links, offline, warnings = topology.describe(source)
    switches = vswitches.describe(source)
    devices = nics.describe(source, switches)
    left = nics.unplaced(nodes, devices)
    return HostDescriptor(
        captured_at=moment.at,
        nodrop_version=__version__,
        host=identity.describe(source),
        capabilities=HostCapabilities(
            captured_at=moment.at,
            processor=processor.describe(source),
            memory=memory.describe(source),
            hypervisor=hypervisor.describe(source),
            vswitches=switches,
            settings={**settings.describe(source), **datapath.describe(source)},
        ),
        resources=HostResources(
            captured_at=moment.at,
            numa_nodes=nics.placed(nodes, devices),
            links=links,
            offline_cpus=offline,
            unplaced_nics=left.nics,
            unplaced_accelerators=left.accelerators,
        ),
        warnings=warnings,
    )


def _now() -> Moment:
    return Moment(datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
