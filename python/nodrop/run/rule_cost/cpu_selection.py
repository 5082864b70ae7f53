"""Where the tester and a forwarder go on a host when every rule is kept, and what else there is of it."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.chd import HostDescriptor
from nodrop.system.cpu_sets import ranges


class Core(NamedTuple):
    """A physical core with those of its threads that may be used."""

    node: int
    threads: tuple[int, ...]


class Places(NamedTuple):
    """Which CPUs do what."""

    tester: Core
    forwarder: Core
    spare: tuple[Core, ...]
    """Further cores of the same node, the one for the next process first."""
    elsewhere: tuple[Core, ...]
    """Cores of other nodes."""
    node_count: int
    """NUMA nodes of the host that have memory or CPUs."""

    @property
    def tester_cpu(self) -> int:
        """The tester's one."""
        return self.tester.threads[0]

    @property
    def forwarder_cpu(self) -> int:
        """The forwarder's one."""
        return self.forwarder.threads[0]

    @property
    def node_cpus(self) -> tuple[int, ...]:
        """One of each core of the node, the tester's with them."""
        return tuple(sorted(core.threads[0] for core in (self.tester, self.forwarder, *self.spare)))

    @property
    def text(self) -> str:
        """Who is where."""
        node = f" of NUMA node {self.forwarder.node}" if self.node_count > 1 else ""
        return f"tester on CPU {self.tester_cpu}, forwarder on CPU {self.forwarder_cpu}{node}"


def choose_places(host: HostDescriptor, available: Collection[int]) -> Places:
    """The first node that has two cores to use; there the tester on the first, the forwarder on the last.

    That is where `engine.cores: auto` and `vnf.core: auto` put them too, of the CPUs of one node.

    Args:
        host: the machine.
        available: CPUs that this process may use.

    Raises: ConfigError where no two cores are in one node: then every placement breaks a rule.
    """
    cores = list(_cores(host, available))
    nodes = dict.fromkeys(core.node for core in cores)
    for node in nodes:
        here = sorted((core for core in cores if core.node == node), key=lambda core: core.threads)
        if len(here) < 2:
            continue
        return Places(
            tester=here[0],
            forwarder=here[-1],
            spare=tuple(here[-2:0:-1]),
            elsewhere=tuple(core for core in cores if core.node != node),
            node_count=len(host.resources.numa_nodes),
        )
    raise ConfigError(
        f"prices asked, nodrop may use CPUs {ranges(available) or 'none'} of this host, no two cores of one NUMA node "
        "among them, so there is no placement that keeps all rules; allow it more CPUs (taskset -pc)"
    )


def _cores(host: HostDescriptor, available: Collection[int]) -> Iterator[Core]:
    for node in host.resources.numa_nodes:
        for siblings in node.cpus.sibling_sets:
            threads = tuple(sorted(cpu for cpu in siblings if cpu in available))
            if threads:
                yield Core(node.id, threads)
