"""In what the hosts of two set-ups differ that may be why their figures do, likeliest first."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from nodrop.analysis.host_diff import Leaf, Path, flat
from nodrop.analysis.host_labels import both_shown, path_text
from nodrop.analysis.types import Difference
from nodrop.model.chd import HostDescriptor

SHOWN_MAX = 3
TEXT_MAX = 160


class Suspect(NamedTuple):
    """Leaves of a host's descriptor that figures may depend on, and how."""

    pattern: str
    why: str = ""


CPU, SETTING, NODE = "capabilities.processor.", "capabilities.settings.", "resources.numa_nodes.*."
ALONE = "CPUs that are kept free of other work lose nothing to it."
CLOCK = "The clock of a core sets how many packets it handles."
MITIGATED = "Mitigations make every system call, interrupt and VM exit dearer."
PAGED = "Large pages spare misses of the TLB."
SLOT = "A slot or link that is too slow for a card drops frames at rates below the port's."
MERGED = "The kernel moves, merges or scans pages behind a VM's back."
SUSPECTS = (
    *(Suspect(f"{SETTING}{each}", ALONE) for each in ("isolated_cpus", "nohz_full", "rcu_nocbs")),
    Suspect(f"{SETTING}irq_affinity", "Interrupts on a core of the SUT or the tester take time from it."),
    Suspect(f"{SETTING}irqbalance", "It moves interrupts between cores as it sees fit."),
    Suspect(f"{SETTING}nic_irq_cpus", "Interrupts of the cards land there."),
    *(Suspect(f"{CPU}{each}", CLOCK) for each in ("governor", "turbo.enabled", "base_mhz", "max_mhz")),
    Suspect(f"{CPU}idle_states", "A core that sleeps deeply wakes late."),
    Suspect(f"{SETTING}mitigations", MITIGATED),
    Suspect(f"{CPU}microcode", "New microcode often brings mitigations."),
    Suspect(f"{SETTING}kernel_cmdline"),
    Suspect(f"{SETTING}tuned_profile"),
    Suspect(f"{SETTING}power_profile", CLOCK),
    Suspect(f"{CPU}smt.enabled", "Threads of one core share what it can do."),
    Suspect(f"{CPU}threads_per_core_count"),
    Suspect(f"{SETTING}transparent_hugepages", MERGED),
    Suspect(f"{NODE}memory.large_pages.*.total_count", PAGED),
    *(Suspect(f"{SETTING}{each}", MERGED) for each in ("ksm", "numa_balancing", "swap", "swappiness")),
    *(Suspect(f"{SETTING}{each}", "It interrupts every core.") for each in ("nmi_watchdog", "soft_watchdog")),
    Suspect(f"{SETTING}rt_throttling", "It takes a share of each second from real-time tasks."),
    Suspect(f"{SETTING}timer_migration"),
    Suspect(f"{SETTING}nic_queues"),
    *(Suspect(f"{NODE}nics.*.{each}") for each in ("driver", "firmware")),
    *(Suspect(f"{NODE}nics.*.{each}", SLOT) for each in ("pci_generation", "lane_count", "pci_limit_bps")),
    Suspect(f"{NODE}nics.*.ports.*.link_speed_bps", SLOT),
    Suspect("resources.unplaced_nics.*.driver"),
    Suspect("resources.unplaced_nics.*.firmware"),
    *(Suspect(f"{CPU}{each}.enabled", "It stands between devices and memory.") for each in ("iommu", "iommu_slat")),
    Suspect(f"{CPU}direct_cache_access.enabled", "Without it every packet is fetched from memory."),
    *(Suspect(f"capabilities.vswitches.*.{each}") for each in ("kind", "version", "acceleration", "cpus")),
    *(Suspect(f"capabilities.hypervisor.{each}") for each in ("kind", "version", "emulator_version")),
    *(Suspect(f"capabilities.memory.{each}") for each in ("speed_mtps", "channels_populated_count", "kind")),
    *(Suspect(f"{CPU}{each}") for each in ("core_count", "socket_count", "caches.*.size_bytes", "stepping")),
    Suspect("host.bios"),
    Suspect("host.os"),
    Suspect(f"{SETTING}*"),
)
"""What a run's own facts tell already, as the kernel and the model of the processor, is not among them."""
TOLD = frozenset({"clock_source", "polling_processes", "locked_memory_max"})
"""Settings that are told elsewhere, or are of a process and not of the host."""


def host_differences(a: Sequence[HostDescriptor], b: Sequence[HostDescriptor]) -> Iterator[Difference]:
    """What is known of the hosts of A's and of B's runs and not the same; nothing where one side has no descriptor."""
    of_a, of_b = _values(a), _values(b)
    both = [path for path in of_a if path in of_b and _unlike(of_a[path], of_b[path])]
    told: set[Path] = set()
    for suspect in SUSPECTS:
        for path in both:
            if path not in told and path[-1] not in TOLD and fnmatchcase(".".join(path), suspect.pattern):
                told.add(path)
                yield _difference(path, of_a[path], of_b[path], suspect.why)


def _values(hosts: Sequence[HostDescriptor]) -> dict[Path, list[Any]]:
    """Of every leaf the values that are known, each once."""
    found: dict[Path, list[Any]] = {}
    for host in hosts:
        leaves: dict[Path, Leaf] = flat(host).leaves
        for path, leaf in leaves.items():
            values = found.setdefault(path, [])
            if leaf.known and leaf.value not in values:
                values.append(leaf.value)
    return {path: values for path, values in found.items() if values}


def _unlike(a: list[Any], b: list[Any]) -> bool:
    return any(each not in b for each in a) or any(each not in a for each in b)


def _difference(path: Path, a: list[Any], b: list[Any], why: str) -> Difference:
    sides = both_shown(path[-1], a[0], b[0]) if len(a) == len(b) == 1 else (_side(path[-1], a), _side(path[-1], b))
    one, other = (text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…" for text in sides)
    return Difference(key=f"facts.chd.{'.'.join(path)}", text=path_text(path), room="host", a=one, b=other, why=why)


def _side(name: str, values: list[Any]) -> str:
    texts = sorted(both_shown(name, each, None)[0] for each in values)
    more = f" and {len(texts) - SHOWN_MAX} more" if len(texts) > SHOWN_MAX else ""
    return ", ".join(texts[:SHOWN_MAX]) + more
