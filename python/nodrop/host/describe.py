"""Assembly of the host descriptor from all parts, also in a background thread."""

import datetime
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from nodrop import __version__
from nodrop.descriptors.fingerprint import add_fingerprints
from nodrop.host import (
    datapath,
    hwloc,
    hypervisor,
    identity,
    libvirt,
    memory,
    nics,
    os_settings,
    processor,
    topology,
    utilization,
    vswitches,
)
from nodrop.host.availability import add_availability
from nodrop.host.cpuid import read_cpuid
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source, run_program
from nodrop.host.network import NetlinkReader
from nodrop.model.chd import (
    HostCapabilities,
    HostDescriptor,
    HostResources,
)
from nodrop.model.observation import ObservationTime
from nodrop.system.log_files import LOGGER

CONCURRENT_PARTS = 4
WAIT_MAX_S = 5.0
"""Upper limit for the wait; a description takes a second or two. A slower machine goes without one."""


def open_local_source() -> Source:
    """Return this machine's current files, programs and kernel interfaces."""
    return Source(
        FileTree("/"),
        ObservationTime(datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")),
        cpuid=read_cpuid(),
        programs=run_program,
        live=True,
        network=NetlinkReader(),
        libvirt=libvirt.query_once(),
    )


def describe_host(
    source: Source, eligible_cpus: tuple[int, ...] | None = None, *, with_load: bool = True
) -> HostDescriptor:
    """Describe a host as completely as possible; never raises for what it reads. Slow parts run concurrently.

    Args:
        source: the machine.
        eligible_cpus: CPUs that the operator allows VMs to use; None: as configured on the host.
        with_load: also measure CPU utilization; takes 0.3 s.
    """
    moment, counted = source.moment, utilization.start_measurement(source) if with_load and source.live else None
    with ThreadPoolExecutor(CONCURRENT_PARTS) as pool:
        hwloc_reading = pool.submit(hwloc.read_hwloc, source)
        switches = pool.submit(vswitches.describe_vswitches, source)
        makers = pool.submit(hypervisor.describe_hypervisor, source)
        topologies = pool.submit(topology.describe_topology, source)
        host_identity, chip = identity.describe_identity(source), processor.describe_processor(source)
        modules, set_up = memory.describe_memory(source), os_settings.describe_os_settings(source)
        devices = nics.describe_devices(source, switches.result())
        nodes, links, offline, warnings = topologies.result()
        doubts = hwloc.find_disagreements(nodes, hwloc_reading.result())
        capabilities = HostCapabilities(
            captured_at=moment.at,
            processor=chip,
            memory=modules,
            hypervisor=makers.result(),
            vswitches=switches.result(),
            settings={**set_up, **datapath.describe_datapath(source)},
        )
    left = nics.find_unplaced(nodes, devices)
    available = add_availability(source, nodes, utilization.finish_measurement(source, counted), eligible_cpus)
    described = HostDescriptor(
        captured_at=moment.at,
        nodrop_version=__version__,
        host=host_identity,
        capabilities=capabilities,
        resources=HostResources(
            captured_at=moment.at,
            numa_nodes=nics.assign_to_nodes(available, devices),
            links=links,
            offline_cpus=offline,
            unplaced_nics=left.nics,
            unplaced_accelerators=left.accelerators,
        ),
        warnings=(*warnings, *doubts),
    )
    return add_fingerprints(described)


def describe_local_host() -> HostDescriptor:
    """Describe this machine without CPU utilization, which would measure the concurrent work."""
    return describe_host(open_local_source(), with_load=False)


def describe_in_background(work: Callable[[], HostDescriptor | None]) -> Callable[[], HostDescriptor | None]:
    """Start a description; return a function that waits for it and returns None if it failed."""
    future = Future[HostDescriptor | None]()

    def run_work() -> None:
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)

    def result() -> HostDescriptor | None:
        try:
            return future.result(WAIT_MAX_S)
        except Exception as error:
            LOGGER.warning("this machine is not described in the result: %s", repr(error))
            return None

    threading.Thread(target=run_work, name="host", daemon=True).start()
    return result
