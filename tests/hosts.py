"""Synthetic host descriptors of any size, with every leaf known."""

from typing import NamedTuple

from nodrop.model.chd import (
    CpuState,
    HostCapabilities,
    HostDescriptor,
    HostIdentity,
    HostResources,
    Hypervisor,
    HypervisorCapabilities,
    LargePages,
    MemoryCapabilities,
    Nic,
    NodeCpus,
    NodeLink,
    NodeMemory,
    NormalMemory,
    NumaNode,
    Port,
    Processor,
    Sriov,
    Vf,
)
from nodrop.model.observation import Feature, Observation, ObservationTime

AT = "2026-01-01T00:00:00+00:00"
MOMENT = ObservationTime(AT)
GIB = 2**30
GBPS = 10**9


def make_feature(value: bool) -> Feature:
    """Return a capability that exists and is enabled, or does not."""
    return Feature(supported=MOMENT.reported(value, "test"), enabled=MOMENT.reported(value, "test"))


class Shape(NamedTuple):
    """The size of a host."""

    nodes: int = 2
    """Each node is a socket."""
    cores: int = 8
    """Per node."""
    threads: int = 2
    """Per core."""
    memory_gib: int = 64
    """Per node, large pages included."""
    large_pages: int = 16
    """Of 1 GiB, per node, all free."""
    reserved_cores: int = 1
    """Per node, the first ones: not eligible for VMs."""
    ports: int = 2
    """Of one card per node."""
    vfs: int = 4
    """Configured on the last port of every card, none in use."""
    speed_gbps: int = 10
    base_mhz: float = 2700.0


USUAL = Shape()


def host(name: str = "host-a", shape: Shape = USUAL) -> HostDescriptor:
    """Return a host with equal nodes, numbered as Linux does it: first one thread of every core, then the others."""
    return HostDescriptor(
        captured_at=AT,
        host=HostIdentity(
            id=MOMENT.reported(name, "test"),
            hostname=MOMENT.reported(name, "test"),
            kernel=MOMENT.reported("6.1.0", "test"),
            virtualization=MOMENT.reported("none", "test"),
        ),
        capabilities=HostCapabilities(
            captured_at=AT,
            processor=Processor(
                architecture=MOMENT.reported("x86_64", "test"),
                vendor=MOMENT.reported("Intel", "test"),
                model=MOMENT.reported("Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", "test"),
                socket_count=MOMENT.reported(shape.nodes, "test"),
                core_count=MOMENT.reported(shape.nodes * shape.cores, "test"),
                threads_per_core_count=MOMENT.reported(shape.threads, "test"),
                smt=make_feature(shape.threads > 1),
                base_mhz=MOMENT.reported(shape.base_mhz, "test"),
                isa_extensions=MOMENT.reported(("aes", "avx", "pclmulqdq"), "test"),
            ),
            memory=MemoryCapabilities(
                kind=MOMENT.reported("DDR4", "test"),
                speed_mtps=MOMENT.reported(2400, "test"),
                channels_populated_count=MOMENT.reported(4 * shape.nodes, "test"),
                channels_count=MOMENT.reported(4 * shape.nodes, "test"),
            ),
            hypervisor=Hypervisor(
                kind=MOMENT.reported("kvm", "test"),
                version=MOMENT.reported("6.1.0", "test"),
                emulator_version=MOMENT.reported("7.2.0", "test"),
                capabilities=HypervisorCapabilities(
                    **{each: make_feature(True) for each in HypervisorCapabilities.model_fields}
                ),
            ),
        ),
        resources=HostResources(
            captured_at=AT,
            numa_nodes=tuple(_node(each, shape) for each in range(shape.nodes)),
            links=tuple(
                NodeLink(a=a, b=b, distance=MOMENT.reported(21, "test"))
                for a in range(shape.nodes)
                for b in range(a + 1, shape.nodes)
            ),
        ),
    )


def _node(node: int, shape: Shape) -> NumaNode:
    sets = tuple(
        tuple(thread * shape.nodes * shape.cores + node * shape.cores + core for thread in range(shape.threads))
        for core in range(shape.cores)
    )
    reserved = {cpu for siblings in sets[: shape.reserved_cores] for cpu in siblings}
    card = f"0000:{node * 0x80 + 3:02x}:00"
    return NumaNode(
        id=node,
        socket=MOMENT.reported(node, "test"),
        cpus=NodeCpus(
            ids=tuple(sorted(cpu for siblings in sets for cpu in siblings)),
            sibling_sets=sets,
            cpu={cpu: _cpu(cpu not in reserved) for siblings in sets for cpu in siblings},
        ),
        memory=NodeMemory(
            total_bytes=MOMENT.reported(shape.memory_gib * GIB, "test"),
            large_pages=(
                LargePages(
                    size_bytes=GIB,
                    total_count=MOMENT.reported(shape.large_pages, "test"),
                    used_count=MOMENT.reported(0, "test"),
                ),
            ),
            normal=NormalMemory(
                total_bytes=MOMENT.reported((shape.memory_gib - shape.large_pages) * GIB, "test"),
                free_bytes=MOMENT.reported((shape.memory_gib - shape.large_pages - 2) * GIB, "test"),
                oversubscribable=MOMENT.reported(False, "test"),
            ),
        ),
        nics=(
            Nic(
                id=card,
                node=MOMENT.reported(node, "test"),
                vendor=MOMENT.reported("Intel Corporation", "test"),
                model=MOMENT.reported("82599ES 10-Gigabit", "test"),
                driver=MOMENT.reported("ixgbe", "test"),
                pci_limit_bps=MOMENT.inferred(29.8e9, "test", "5 GT/s by 8 lanes"),
                ports=tuple(
                    _port(card, each, shape.vfs if each == shape.ports - 1 else 0, shape.speed_gbps)
                    for each in range(shape.ports)
                ),
            ),
        ),
    )


def _cpu(eligible: bool) -> CpuState:
    return CpuState(
        eligible=MOMENT.reported(eligible, "test"),
        in_use=MOMENT.reported(False, "test"),
        use=Observation(value="none", source="test", confidence="reported", at=AT),
    )


def _port(card: str, function: int, vfs: int, speed_gbps: int) -> Port:
    slot = card.rsplit(":", 1)[0]
    return Port(
        pci_id=f"{card}.{function}",
        netdev=f"ens{card[5:7]}f{function}",
        speed_bps=MOMENT.reported(speed_gbps * GBPS, "test"),
        link=MOMENT.reported(True, "test"),
        eligible=MOMENT.reported(True, "test"),
        in_use=MOMENT.reported(False, "test"),
        use=Observation(value="none", source="test", confidence="reported", at=AT),
        sriov=Sriov(
            total_count=MOMENT.reported(63, "test"),
            configured_count=MOMENT.reported(vfs, "test"),
            vfs=tuple(
                Vf(
                    pci_id=f"{slot}:10.{each}",
                    in_use=MOMENT.reported(False, "test"),
                    pacing_bps=MOMENT.reported(0.0, "test"),
                )
                for each in range(vfs)
            ),
        ),
    )
