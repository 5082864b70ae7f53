"""Differences between the hosts of two setups that may explain different results, most likely first."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from nodrop.analysis.host_diff import DescriptorLeaf, Path, flatten_descriptor
from nodrop.analysis.host_labels import format_pair, format_path
from nodrop.analysis.types import SetupDifference
from nodrop.model.chd import HostDescriptor

VALUES_MAX = 3
TEXT_MAX = 160


class HostFactor(NamedTuple):
    """Leaves of a host descriptor that results may depend on, and their effect."""

    pattern: str
    why: str = ""


CPU, SETTING, NODE = "capabilities.processor.", "capabilities.settings.", "resources.numa_nodes.*."
ISOLATED = "Isolated CPUs lose no time to other work."
CLOCK = "The clock of a core sets how many packets it handles."
MITIGATED = "Mitigations make every system call, interrupt and VM exit slower."
PAGED = "Large pages avoid TLB misses."
SLOT = "A slot or link slower than the port drops frames below the port's line rate."
MERGED = "The kernel moves, merges or scans the memory pages of a VM."
HOST_FACTORS = (
    *(HostFactor(f"{SETTING}{each}", ISOLATED) for each in ("isolated_cpus", "nohz_full", "rcu_nocbs")),
    HostFactor(f"{SETTING}irq_affinity", "Interrupts on a core of the SUT or the tester take time from it."),
    HostFactor(f"{SETTING}irqbalance", "irqbalance moves interrupts between cores."),
    HostFactor(f"{SETTING}nic_irq_cpus", "These CPUs handle the interrupts of the NICs."),
    *(HostFactor(f"{CPU}{each}", CLOCK) for each in ("governor", "turbo.enabled", "base_mhz", "max_mhz")),
    HostFactor(f"{CPU}idle_states", "A core in a deep idle state wakes up slowly."),
    HostFactor(f"{SETTING}mitigations", MITIGATED),
    HostFactor(f"{CPU}microcode", "New microcode often brings mitigations."),
    HostFactor(f"{SETTING}kernel_cmdline"),
    HostFactor(f"{SETTING}tuned_profile"),
    HostFactor(f"{SETTING}power_profile", CLOCK),
    HostFactor(f"{CPU}smt.enabled", "Threads of one core share its execution units."),
    HostFactor(f"{CPU}threads_per_core_count"),
    HostFactor(f"{SETTING}transparent_hugepages", MERGED),
    HostFactor(f"{NODE}memory.large_pages.*.total_count", PAGED),
    *(HostFactor(f"{SETTING}{each}", MERGED) for each in ("ksm", "numa_balancing", "swap", "swappiness")),
    *(
        HostFactor(f"{SETTING}{each}", "The watchdog interrupts every core.")
        for each in ("nmi_watchdog", "soft_watchdog")
    ),
    HostFactor(f"{SETTING}rt_throttling", "Throttling takes a share of each second from real-time tasks."),
    HostFactor(f"{SETTING}timer_migration"),
    HostFactor(f"{SETTING}nic_queues"),
    *(HostFactor(f"{NODE}nics.*.{each}") for each in ("driver", "firmware")),
    *(HostFactor(f"{NODE}nics.*.{each}", SLOT) for each in ("pci_generation", "lane_count", "pci_limit_bps")),
    HostFactor(f"{NODE}nics.*.ports.*.link_speed_bps", SLOT),
    HostFactor("resources.unplaced_nics.*.driver"),
    HostFactor("resources.unplaced_nics.*.firmware"),
    *(
        HostFactor(f"{CPU}{each}.enabled", "The IOMMU translates every device access to memory.")
        for each in ("iommu", "iommu_slat")
    ),
    HostFactor(
        f"{CPU}direct_cache_access.enabled", "Without direct cache access, every packet is fetched from memory."
    ),
    *(HostFactor(f"capabilities.vswitches.*.{each}") for each in ("kind", "version", "acceleration", "cpus")),
    *(HostFactor(f"capabilities.hypervisor.{each}") for each in ("kind", "version", "emulator_version")),
    *(HostFactor(f"capabilities.memory.{each}") for each in ("speed_mtps", "channels_populated_count", "kind")),
    *(HostFactor(f"{CPU}{each}") for each in ("core_count", "socket_count", "caches.*.size_bytes", "stepping")),
    HostFactor("host.bios"),
    HostFactor("host.os"),
    HostFactor(f"{SETTING}*"),
)
"""Factors, most likely first; facts of the run itself (kernel, processor model) are reported elsewhere."""
REPORTED_ELSEWHERE = frozenset({"clock_source", "polling_processes", "locked_memory_max"})
"""Settings that are reported elsewhere, or belong to a process and not to the host."""


def diff_host_factors(a: Sequence[HostDescriptor], b: Sequence[HostDescriptor]) -> Iterator[SetupDifference]:
    """Yield factors whose known values differ between the hosts of A and B; none where a side has no descriptor."""
    of_a, of_b = _collect_values(a), _collect_values(b)
    both = [path for path in of_a if path in of_b and _differs(of_a[path], of_b[path])]
    reported: set[Path] = set()
    for factor in HOST_FACTORS:
        for path in both:
            if (
                path not in reported
                and path[-1] not in REPORTED_ELSEWHERE
                and fnmatchcase(".".join(path), factor.pattern)
            ):
                reported.add(path)
                yield _build_difference(path, of_a[path], of_b[path], factor.why)


def _collect_values(hosts: Sequence[HostDescriptor]) -> dict[Path, list[Any]]:
    """Return the distinct known values of every leaf."""
    values_by_path: dict[Path, list[Any]] = {}
    for host in hosts:
        leaves: dict[Path, DescriptorLeaf] = flatten_descriptor(host).leaves
        for path, leaf in leaves.items():
            values = values_by_path.setdefault(path, [])
            if leaf.known and leaf.value not in values:
                values.append(leaf.value)
    return {path: values for path, values in values_by_path.items() if values}


def _differs(a: list[Any], b: list[Any]) -> bool:
    return any(each not in b for each in a) or any(each not in a for each in b)


def _build_difference(path: Path, a: list[Any], b: list[Any], why: str) -> SetupDifference:
    sides = (
        format_pair(path[-1], a[0], b[0])
        if len(a) == len(b) == 1
        else (_format_values(path[-1], a), _format_values(path[-1], b))
    )
    text_a, text_b = (text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…" for text in sides)
    return SetupDifference(
        key=f"facts.chd.{'.'.join(path)}", text=format_path(path), area="host", a=text_a, b=text_b, why=why
    )


def _format_values(name: str, values: list[Any]) -> str:
    texts = sorted(format_pair(name, each, None)[0] for each in values)
    more = f" and {len(texts) - VALUES_MAX} more" if len(texts) > VALUES_MAX else ""
    return ", ".join(texts[:VALUES_MAX]) + more
