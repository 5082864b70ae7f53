"""`scripts/bench placement`: time to place a VM on one of a thousand hosts of 512 CPUs."""

import argparse
import gc
import json
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from tests.hosts import MOMENT, Shape, host
from tests.vms import sample

from nodrop.descriptors import format_descriptor, read_chd
from nodrop.model.chd import CpuState, HostDescriptor, Use
from nodrop.model.observation import Observation
from nodrop.model.vmd import Interface, Profile, SetMemory, VcpuSet, VmDescriptor
from nodrop.units import format_count
from nodrop.vm.place import PlacementOptions, build_inventory, choose_host, explain_decision

PLACE_MAX_S = 1.0
"""Required time to place one VM on compiled hosts."""
GIB = 2**30
T = TypeVar("T")


class Fleet(NamedTuple):
    """Hosts, and the VM to place on one of them."""

    name: str
    hosts: list[HostDescriptor]
    vmd: VmDescriptor
    suitable_count: int
    """Number of suitable hosts, which is checked."""
    exhausts_tries: bool = False
    """Whether the placement runs out of tries; such a fleet has no requirement."""


class PlacementTimes(NamedTuple):
    """Durations, medians of the rounds."""

    compile_s: float
    decide_s: float
    decide_cpu_s: float
    explain_s: float
    """Time to list reasons as in the command's output: the decisive one of each host, all of some hosts."""


def main(arguments: Sequence[str]) -> int:
    """Place a VM on each fleet and report whether the requirement is met."""
    parser = argparse.ArgumentParser(prog="scripts/bench placement", description=__doc__)
    parser.add_argument("--hosts", metavar="N", type=int, default=1000, help="number of hosts (default: 1000)")
    parser.add_argument("--rounds", metavar="N", type=int, default=5, help="measurements of each fleet (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the times to FILE")
    options = parser.parse_args(arguments)
    print(
        f"{_describe_cpus()}, Python {platform.python_version()}; seconds, "
        f"median of {format_count(options.rounds, 'round')}"
    )
    print(f"{format_count(options.hosts, 'host')} of 512 CPUs: 8 nodes of 32 cores, 2 threads each")
    print(f"{'fleet':<58}{'compile':>9}{'place':>9}{'(CPU)':>9}{'explain':>9}")
    times: dict[str, PlacementTimes] = {}
    limited: list[PlacementTimes] = []
    for fleet in _create_fleets(options.hosts):
        times[fleet.name] = _measure_fleet(fleet, options.rounds)
        limited += [] if fleet.exhausts_tries else [times[fleet.name]]
    print(f"reading the descriptor of one host from a JSON file: {_measure_file_s():.3f} s")
    if options.json:
        options.json.write_text(json.dumps({name: each._asdict() for name, each in times.items()}, indent=1) + "\n")
    worst = max(limited, key=lambda each: each.decide_s)
    met = worst.decide_s < PLACE_MAX_S
    cold_s = max(each.compile_s + each.decide_s for each in limited)
    print(
        f"{'met' if met else 'NOT MET'}: longest time to place {worst.decide_s:.2f} s, "
        f"required: less than {PLACE_MAX_S:g} s"
    )
    print(f"without a requirement: longest time to compile and place {cold_s:.2f} s")
    return 0 if met else 1


def _create_fleets(count: int) -> Iterator[Fleet]:
    """Yield one fleet at a time, since each needs much memory."""
    empty = host("", Shape(nodes=8, cores=32, memory_gib=128, large_pages=64, ports=4, vfs=16, speed_gbps=25))
    full = _fill_nodes(empty, range(8))
    nearly_full = _fill_nodes(empty, range(7))
    uneven = _vary_memory(empty)
    yield Fleet("all empty, the VM of clause 8.2.2.4", _create_hosts(empty, count), sample(), count)
    yield Fleet(
        "all full but the last, the VM of clause 8.2.2.4",
        [*_create_hosts(full, count - 1), _create_last_host(nearly_full, count)],
        sample(),
        1,
    )
    yield Fleet("each has one node left, the VM of clause 8.2.2.4", _create_hosts(nearly_full, count), sample(), count)
    yield Fleet("all empty, no port is fast enough", _create_hosts(empty, count), _require_fast_port(sample()), 0)
    yield Fleet(
        "all empty, 4 sets of 16 with 12 VFs, no slot can carry them",
        _create_hosts(empty, count),
        _create_vm_with_vfs(4, 25e9),
        0,
    )
    yield Fleet(
        "all empty, 8 sets that each take a node", _create_hosts(empty, count), _create_vm_of_separate_nodes(), count
    )
    yield Fleet(
        "all empty, 9 sets of which no two fit on a node", _create_hosts(empty, count), _create_unplaceable_vm(), 0
    )
    yield Fleet(
        "nodes all different, 17 sets of which no three fit on one",
        _create_hosts(uneven, count),
        _create_vm([2 * cores for cores in (11, 12, 13, 14, 15, 11, 12, 13, 14, 15, 11, 12, 13, 14, 15, 11, 12)]),
        0,
        exhausts_tries=True,
    )


def _create_hosts(pattern: HostDescriptor, count: int) -> list[HostDescriptor]:
    return [_copy_host(pattern, f"host-{number:04}") for number in range(count)]


def _create_last_host(pattern: HostDescriptor, count: int) -> HostDescriptor:
    return _copy_host(pattern, f"host-{count - 1:04}")


def _copy_host(pattern: HostDescriptor, name: str) -> HostDescriptor:
    """Return a copy with separate CPU objects; their values are shared, since a thousand hosts would take gigabytes."""
    reported = MOMENT.reported(name, "test")
    nodes = tuple(
        node.model_copy(
            update={
                "cpus": node.cpus.model_copy(
                    update={"cpu": {cpu: state.model_copy() for cpu, state in node.cpus.cpu.items()}}
                )
            }
        )
        for node in pattern.resources.numa_nodes
    )
    return pattern.model_copy(
        update={
            "host": pattern.host.model_copy(update={"id": reported, "hostname": reported}),
            "resources": pattern.resources.model_copy(update={"numa_nodes": nodes}),
        }
    )


def _fill_nodes(pattern: HostDescriptor, nodes: Sequence[int]) -> HostDescriptor:
    """Return a host that uses all cores but three of these nodes."""
    dedicated: Observation[Use] = Observation[Use](value="dedicated", source="test", confidence="reported")

    def mark_used(state: CpuState) -> CpuState:
        return state.model_copy(update={"in_use": MOMENT.reported(True, "test"), "use": dedicated, "owners": ("vm-x",)})

    filled = []
    for node in pattern.resources.numa_nodes:
        used = {cpu for siblings in node.cpus.sibling_sets[:-3] for cpu in siblings} if node.id in nodes else set()
        cpus = {cpu: mark_used(state) if cpu in used else state for cpu, state in node.cpus.cpu.items()}
        filled.append(node.model_copy(update={"cpus": node.cpus.model_copy(update={"cpu": cpus})}))
    return pattern.model_copy(update={"resources": pattern.resources.model_copy(update={"numa_nodes": tuple(filled)})})


def _require_fast_port(vmd: VmDescriptor) -> VmDescriptor:
    first, *others = vmd.profiles[0].vcpu_sets
    faster = first.model_copy(update={"interfaces": (Interface(speed_bps=100e9, mode="dedicated"),)})
    return vmd.model_copy(update={"profiles": (vmd.profiles[0].model_copy(update={"vcpu_sets": (faster, *others)}),)})


def _create_vm(sizes: Sequence[int], interfaces: tuple[Interface, ...] = (), separate: bool = False) -> VmDescriptor:
    sets, begin = [], 0
    for size in sizes:
        memory = SetMemory(total_bytes=4 * GIB, large_page_bytes=GIB, large_page_count=2)
        vcpus = tuple(range(begin, begin + size))
        pairs = tuple((vcpu, vcpu + 1) for vcpu in vcpus[:-1:2])
        sets.append(VcpuSet(vcpus=vcpus, pairs=pairs, memory=memory, interfaces=interfaces))
        begin += size
    return VmDescriptor(name="vm", profiles=(Profile(vcpu_sets=tuple(sets), separate_nodes=separate),))


def _create_vm_with_vfs(count: int, speed_bps: float) -> VmDescriptor:
    vfs = tuple(Interface(speed_bps=speed_bps, bandwidth_bps=speed_bps / 8, mode="sriov") for _ in range(12))
    return _create_vm([16] * count, vfs)


def _create_vm_of_separate_nodes() -> VmDescriptor:
    return _create_vm([40, 42, 44, 46, 48, 50, 52, 54], separate=True)


def _create_unplaceable_vm() -> VmDescriptor:
    """Return a VM of 9 sets for 8 nodes; a node has 31 cores for VMs, fewer than any two sets need."""
    return _create_vm([2 * cores for cores in (24, 23, 22, 21, 20, 19, 18, 17, 16)])


def _vary_memory(pattern: HostDescriptor) -> HostDescriptor:
    """Return a host whose nodes have different amounts of memory, so that no two are equivalent."""
    nodes = tuple(
        node.model_copy(
            update={
                "memory": node.memory.model_copy(
                    update={
                        "normal": node.memory.normal.model_copy(
                            update={"free_bytes": MOMENT.reported((40 + node.id) * GIB, "test")}
                        )
                    }
                )
            }
        )
        for node in pattern.resources.numa_nodes
    )
    return pattern.model_copy(update={"resources": pattern.resources.model_copy(update={"numa_nodes": nodes})})


def _measure_fleet(fleet: Fleet, rounds: int) -> PlacementTimes:
    compile_s, decide_s, decide_cpu_s, explain_s = [], [], [], []
    for _ in range(rounds):
        gc.collect()
        inventories, seconds, _ = _measure_call(lambda: [build_inventory(each) for each in fleet.hosts])
        compile_s.append(seconds)
        decision, seconds, cpu_s = _measure_call(partial(choose_host, fleet.vmd, inventories, PlacementOptions()))
        decide_s.append(seconds)
        decide_cpu_s.append(cpu_s)
        result, seconds, _ = _measure_call(partial(explain_decision, decision, in_full=False))
        explain_s.append(seconds)
        count = len(decision.candidates)
        assert count == fleet.suitable_count, f"{fleet.name}: suitable hosts: {count}, expected: {fleet.suitable_count}"
        assert (result.placement is None) == (not count)
    times = PlacementTimes(*(statistics.median(each) for each in (compile_s, decide_s, decide_cpu_s, explain_s)))
    print(f"{fleet.name:<58}{''.join(f'{each:>9.3f}' for each in times)}", flush=True)
    return times


def _measure_call(function: Callable[[], T]) -> tuple[T, float, float]:
    """Return the result of a function, and its wall time and CPU time in seconds."""
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    result = function()
    return result, time.perf_counter() - start_s, time.process_time() - start_cpu_s


def _measure_file_s() -> float:
    """Return the time to read one descriptor like `nodrop vm place --host`."""
    pattern = host("host-0000", Shape(nodes=8, cores=32, ports=4, vfs=16))
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "host.json"
        file.write_text(format_descriptor(pattern, "json"))
        return min(_measure_call(lambda: read_chd(file))[1] for _ in range(3))


def _describe_cpus() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "a CPU")
    return f"{sum(line.startswith('processor') for line in lines)} x {model}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
