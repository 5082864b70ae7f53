"""CPUs for the tester and a forwarder that keep every placement rule, and the remaining cores of the host."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.chd import HostDescriptor
from nodrop.system.cpu_sets import format_cpu_list


class UsableCore(NamedTuple):
    """A physical core with its usable threads."""

    node: int
    threads: tuple[int, ...]


class CpuSelection(NamedTuple):
    """The role of each core."""

    tester: UsableCore
    forwarder: UsableCore
    spare: tuple[UsableCore, ...]
    """Further cores of the same node, the preferred one first."""
    other_nodes: tuple[UsableCore, ...]
    """Cores of other nodes."""
    node_count: int
    """Number of NUMA nodes with memory or CPUs."""

    @property
    def tester_cpu(self) -> int:
        """CPU of the tester."""
        return self.tester.threads[0]

    @property
    def forwarder_cpu(self) -> int:
        """CPU of the forwarder."""
        return self.forwarder.threads[0]

    @property
    def node_cpus(self) -> tuple[int, ...]:
        """One CPU of each core of the node, including the tester's."""
        return tuple(sorted(core.threads[0] for core in (self.tester, self.forwarder, *self.spare)))

    @property
    def text(self) -> str:
        """Description of the roles."""
        node = f" of NUMA node {self.forwarder.node}" if self.node_count > 1 else ""
        return f"tester on CPU {self.tester_cpu}, forwarder on CPU {self.forwarder_cpu}{node}"


def select_cpus(host: HostDescriptor, available: Collection[int]) -> CpuSelection:
    """Choose the first node with two usable cores: its first core for the tester, its last for the forwarder.

    `engine.cores: auto` and `vnf.core: auto` choose the same CPUs within one node.

    Args:
        host: the machine.
        available: CPUs that this process may use.

    Raises: ConfigError if no node has two usable cores, as every placement then breaks a rule.
    """
    cores = list(_iter_usable_cores(host, available))
    nodes = dict.fromkeys(core.node for core in cores)
    for node in nodes:
        cores_of_node = sorted((core for core in cores if core.node == node), key=lambda core: core.threads)
        if len(cores_of_node) < 2:
            continue
        return CpuSelection(
            tester=cores_of_node[0],
            forwarder=cores_of_node[-1],
            spare=tuple(cores_of_node[-2:0:-1]),
            other_nodes=tuple(core for core in cores if core.node != node),
            node_count=len(host.resources.numa_nodes),
        )
    usable = format_cpu_list(available) or "none"
    raise ConfigError(
        f"no placement keeps all rules: no two of the usable CPUs ({usable}) are on cores of one NUMA node; allow "
        "more CPUs (taskset -pc)"
    )


def _iter_usable_cores(host: HostDescriptor, available: Collection[int]) -> Iterator[UsableCore]:
    for node in host.resources.numa_nodes:
        for siblings in node.cpus.sibling_sets:
            threads = tuple(sorted(cpu for cpu in siblings if cpu in available))
            if threads:
                yield UsableCore(node.id, threads)
