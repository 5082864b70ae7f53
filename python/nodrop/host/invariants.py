"""What holds of every host: a descriptor that breaks it was misread, or made up.

Source: ETSI GS NFV-PER 001 clause 8.1.1.4, what its parts mean.
"""

from collections import Counter
from collections.abc import Iterator

from nodrop.cpus import ranges
from nodrop.model.chd import HostDescriptor, LargePages, Nic, NodeCpus, NumaNode, Port


def broken(host: HostDescriptor) -> tuple[str, ...]:
    """What does not hold, a sentence each. Only what is known can break anything."""
    return tuple(_broken(host))


def _broken(host: HostDescriptor) -> Iterator[str]:
    nodes = host.resources.numa_nodes
    for id_, count in Counter(node.id for node in nodes).items():
        if count > 1:
            yield f"node {id_} is there {count} times"
    on = Counter(cpu for node in nodes for cpu in node.cpus.ids)
    if several := [cpu for cpu, count in on.items() if count > 1]:
        yield f"CPUs {ranges(several)} are on several nodes"
    if running := set(on) & set(host.resources.offline_cpus.value or ()):
        yield f"CPUs {ranges(running)} are on a node, and offline"
    for node in nodes:
        yield from (f"node {node.id}: {said}" for said in _of_node(node))
    for nic in host.resources.unplaced_nics:
        yield from (f"card {nic.id}: {said}" for said in _of_nic(nic))
    ids = {node.id for node in nodes}
    for link in host.resources.links:
        if link.a == link.b or not {link.a, link.b} <= ids:
            yield f"a link is between nodes {link.a} and {link.b}"


def _of_node(node: NumaNode) -> Iterator[str]:
    yield from _of_cpus(node.cpus)
    memory = node.memory
    for pages in memory.large_pages:
        yield from _of_pages(pages)
    large = sum(each.size_bytes * (each.total_count.value or 0) for each in memory.large_pages)
    total, normal = memory.total_bytes.value, memory.normal
    if total is not None and large + (normal.total_bytes.value or 0) > total:
        yield f"large pages and normal memory are more than its {total} bytes"
    if None not in (normal.total_bytes.value, normal.free_bytes.value) and (
        (normal.free_bytes.value or 0) > (normal.total_bytes.value or 0)
    ):
        yield "more normal memory is free than there is"
    for nic in node.nics:
        yield from (f"card {nic.id}: {said}" for said in _of_nic(nic))
        if nic.node.value != node.id:
            yield f"card {nic.id} says that it is on node {nic.node.value}"


def _of_cpus(cpus: NodeCpus) -> Iterator[str]:
    members = Counter(cpu for siblings in cpus.sibling_sets for cpu in siblings)
    if set(members) != set(cpus.ids) or any(count > 1 for count in members.values()):
        yield "sibling sets do not partition its CPUs"
    if set(cpus.cpu) != set(cpus.ids):
        yield "CPUs and their states are not the same"
    for cpu, state in cpus.cpu.items():
        if state.in_use.value is False and (state.owners or state.use.value in ("dedicated", "shared")):
            yield f"CPU {cpu} is not in use, and somebody's"
        if state.use.value == "dedicated" and len(state.owners) > 1:
            yield f"CPU {cpu} is dedicated to several"
        if (usage := state.usage_ratio.value) is not None and not 0 <= usage <= 1:
            yield f"CPU {cpu} is busy for {usage} of the time"


def _of_pages(pages: LargePages) -> Iterator[str]:
    total, used = pages.total_count.value, pages.used_count.value
    if used is not None and (used < 0 or (total is not None and used > total)):
        yield f"{used} of {total} large pages of {pages.size_bytes} bytes are used"
    if total is not None and total < 0:
        yield f"{total} large pages of {pages.size_bytes} bytes"


def _of_nic(nic: Nic) -> Iterator[str]:
    for port in nic.ports:
        yield from (f"port {port.pci_id}: {said}" for said in _of_port(port))


def _of_port(port: Port) -> Iterator[str]:
    sriov = port.sriov
    if sriov is None:
        return
    total, configured = sriov.total_count.value, sriov.configured_count.value
    if total is not None and len(sriov.vfs) > total:
        yield f"{len(sriov.vfs)} virtual functions of at most {total}"
    if None not in (total, configured) and (configured or 0) > (total or 0):
        yield f"{configured} virtual functions configured of at most {total}"
    if port.use.value == "dedicated" and any(vf.in_use.value for vf in sriov.vfs):
        yield "dedicated, and virtual functions of it are in use"
