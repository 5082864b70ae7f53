"""Placements written by hand, and random ones."""

import random

from tests.hosts import Shape, host

from nodrop.model.chd import HostDescriptor
from nodrop.model.placement import Guarantee, PlacedInterface, PlacedSet, Placement
from nodrop.model.vmd import Interface, InterfaceMode, Profile, SetMemory, VcpuSet, VmDescriptor

GIB = 2**30
GBPS = 1e9
DECLARED = Guarantee(ratio=1, label="as declared")


def sample_placement() -> Placement:
    """Return the sample of clause 8.2.2.4 on `host()`: set 0 on socket 0 with the card, set 1 on socket 1."""
    return Placement(
        vm="etsi-8.2.2.4",
        host_id="host-a",
        hostname="host-a",
        profile=0,
        sets=(
            PlacedSet(
                index=0,
                node=0,
                cpus={0: 1, 1: 17, 2: 2, 3: 18, 4: 3, 5: 19, 6: 4, 7: 20},
                large_page_bytes=GIB,
                large_page_count=4,
                normal_bytes=6 * GIB,
                interfaces=(
                    _line(0, "dedicated", "0000:03:00.0", "0000:03:00.0", 10),
                    _line(1, "sriov", "0000:03:10.0", "0000:03:00.1", 5),
                ),
            ),
            PlacedSet(
                index=1,
                node=1,
                cpus={8: 9, 9: 25, 10: 10, 11: 26, 12: 11, 13: 27},
                large_page_bytes=GIB,
                large_page_count=2,
                normal_bytes=2 * GIB,
            ),
        ),
        emulator_cpus=(0, 16),
        guarantee=DECLARED,
    )


def _line(index: int, mode: InterfaceMode, pci_id: str, port: str, gbps: float) -> PlacedInterface:
    return PlacedInterface(
        index=index, mode=mode, pci_id=pci_id, port_pci_id=port, speed_bps=10 * GBPS, bandwidth_bps=gbps * GBPS
    )


def small_vm(cpus: tuple[int, ...] = (0, 1), mib: int = 128, host_id: str = "host-a") -> tuple[VmDescriptor, Placement]:
    """Return a VM that a small machine can boot: one set, no large pages, no devices."""
    vcpus = tuple(range(len(cpus)))
    requested = VcpuSet(vcpus=vcpus, memory=SetMemory(total_bytes=mib * 2**20))
    placed = PlacedSet(index=0, node=0, cpus=dict(zip(vcpus, cpus, strict=True)), normal_bytes=mib * 2**20)
    return (
        VmDescriptor(name="small", profiles=(Profile(vcpu_sets=(requested,)),)),
        Placement(
            vm="small",
            host_id=host_id,
            hostname=host_id,
            profile=0,
            sets=(placed,),
            emulator_cpus=(cpus[0],),
            guarantee=DECLARED,
        ),
    )


SWITCHES = ("ovs", "ovs-dpdk", "vpp", "linux-bridge", "ovn")


def random_placement(seed: int) -> tuple[VmDescriptor, Placement, HostDescriptor]:
    """Draw a VM of up to five sets, placed anywhere on a host of up to four nodes."""
    random_ = random.Random(seed)
    shape = Shape(
        nodes=random_.choice((1, 2, 4)), cores=random_.choice((4, 8, 12)), threads=random_.choice((1, 2, 2, 4))
    )
    machine = host("host-r", shape)
    free = {node.id: list(node.cpus.sibling_sets[1:]) for node in machine.resources.numa_nodes}
    requested, placed, vcpu = [], [], 0
    for _ in range(random_.randint(1, 5)):
        node = random_.randrange(shape.nodes)
        cores = free[node][: random_.randint(1, 3)]
        if not cores:
            continue
        free[node] = free[node][len(cores) :]
        used = [cpu for core in cores for cpu in core[: random_.choice((1, shape.threads))]]
        vcpus = tuple(range(vcpu, vcpu + len(used)))
        vcpu += len(used)
        pages, size = random_.choice((0, 1, 2)), random_.choice((GIB, 2**21))
        normal = random_.choice((0, 300, 1024)) * 2**20 if pages else GIB
        number = len(requested)
        lines = tuple(_drawn_line(random_, each, number, node) for each in range(random_.randint(0, 3)))
        requested.append(
            VcpuSet(
                vcpus=vcpus,
                memory=SetMemory(
                    total_bytes=normal + pages * size, large_page_bytes=size if pages else None, large_page_count=pages
                ),
                interfaces=tuple(Interface(speed_bps=each.speed_bps, mode=each.mode) for each in lines),
            )
        )
        placed.append(
            PlacedSet(
                index=number,
                node=node,
                cpus=dict(zip(vcpus, used, strict=True)),
                large_page_bytes=size if pages else None,
                large_page_count=pages,
                normal_bytes=normal,
                interfaces=lines,
                devices=(f"0000:{node * 0x20 + 4:02x}:1{number}.0",) if random_.random() < 0.3 else (),
            )
        )
    vmd = VmDescriptor(name=f"drawn {seed}", profiles=(Profile(vcpu_sets=tuple(requested)),))
    return (
        vmd,
        Placement(
            vm=vmd.name,
            host_id="host-r",
            hostname="host-r",
            profile=0,
            sets=tuple(placed),
            emulator_cpus=machine.resources.numa_nodes[0].cpus.sibling_sets[0] if random_.random() < 0.8 else (),
            guarantee=DECLARED,
        ),
        machine,
    )


def _drawn_line(random_: random.Random, index: int, number: int, node: int) -> PlacedInterface:
    mode: InterfaceMode = random_.choice(("dedicated", "sriov", "vswitch"))
    kind = random_.choice(SWITCHES) if mode == "vswitch" else ""
    card = f"0000:{node * 0x20 + 3:02x}"
    return PlacedInterface(
        index=index,
        mode=mode,
        pci_id=f"{card}:1{number}.{index}" if mode == "sriov" else f"{card}:0{number}.{index}",
        port_pci_id=f"{card}:0{number}.{index}",
        vswitch="br0" if kind else "",
        vswitch_kind=kind,
        speed_bps=10 * GBPS,
        bandwidth_bps=random_.choice((None, 1e6, 5e9)),
    )
