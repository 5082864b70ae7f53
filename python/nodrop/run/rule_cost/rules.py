"""Every placement rule: how to break it on a host, or why it cannot be broken there.

Source: ETSI GS NFV-PER 001 clause 6.1 (processors, memory, interrupts), 7.2 (pinning), 8.2.2.4 (topology of resources),
8.2.2.5 (impact from and to other VMs, options 1 and 2).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.model.choices import AntagonistKind
from nodrop.model.rule_cost import PlacementRule
from nodrop.run.rule_cost.cpu_selection import CpuSelection
from nodrop.units import format_count

NO_STRESS_NG = "needs stress-ng: apt install stress-ng"
ONE_NODE = "this host has one NUMA node"
NO_SMT = "every core has only one usable thread"


class HostMeans(NamedTuple):
    """Means of a host to break rules, besides CPUs."""

    stress_ng: bool
    """Whether the program for noisy neighbors is installed."""
    large_pages: str = ""
    """Why large pages are unavailable; empty if available."""
    steering: str = ""
    """Why receive processing cannot be steered; empty if it can."""


class BrokenRule(NamedTuple):
    """A rule and the configuration that breaks it."""

    rule: PlacementRule
    keys: Mapping[str, Any]
    """Changes to the configuration that keeps all rules."""
    all_cpus: bool = False
    """Whether the plan may use all CPUs of the node."""


Breaks = Callable[[CpuSelection, HostMeans], Iterator[BrokenRule]]


def list_rules(cpus: CpuSelection, means: HostMeans, identical_max: int = 4) -> tuple[BrokenRule, ...]:
    """Return all rules, most common first, with up to this many identical VNFs."""
    return (*(broken for each in RULES for broken in each(cpus, means)), *_iter_identical_rules(cpus, identical_max))


def _iter_same_core_rules(cpus: CpuSelection, _: HostMeans) -> Iterator[BrokenRule]:
    yield BrokenRule(
        PlacementRule(
            key="same-core",
            text="on the tester's CPU",
            why="Two busy-polling programs get half of a CPU each and wait for each other.",
            clause="7.2",
            how=f"forwarder on CPU {cpus.tester_cpu}, the tester's",
            note="the tester slows down too, so the cost includes its share of the CPU",
        ),
        {"vnf.core": cpus.tester_cpu},
    )


def _iter_sibling_rules(cpus: CpuSelection, means: HostMeans) -> Iterator[BrokenRule]:
    threads, siblings = cpus.tester.threads, cpus.forwarder.threads
    yield BrokenRule(
        PlacementRule(
            key="sibling",
            text="on a sibling thread",
            why="Threads of one core share its execution units and first-level caches.",
            clause="8.2.2.4",
            how=f"forwarder on CPU {threads[1]}, the other thread of the tester's core" if threads[1:] else "",
            note="the tester slows down too",
            why_not="" if threads[1:] else NO_SMT,
        ),
        {"vnf.core": threads[1]} if threads[1:] else {},
    )
    rule = PlacementRule(
        key="sibling-noise",
        text="noisy sibling thread",
        why="Threads of one core share its execution units and first-level caches.",
        clause="8.2.2.4",
        how=f"stress-ng --cpu on CPU {siblings[1]}, the other thread of the forwarder's core" if siblings[1:] else "",
        why_not=NO_SMT if not siblings[1:] else "" if means.stress_ng else NO_STRESS_NG,
    )
    yield BrokenRule(rule, {"antagonist.kind": "cpu", "antagonist.cores": [siblings[1]]} if siblings[1:] else {})


def _iter_node_rules(cpus: CpuSelection, _: HostMeans) -> Iterator[BrokenRule]:
    other = cpus.other_nodes[0] if cpus.other_nodes else None
    yield BrokenRule(
        PlacementRule(
            key="other-node",
            text="on another NUMA node",
            why="Every frame crosses the interconnect between the processors.",
            clause="8.2.2.4",
            how=f"forwarder on CPU {other.threads[0]} of node {other.node}, the tester on node {cpus.tester.node}"
            if other
            else "",
            why_not="" if other else _explain_one_node(cpus),
        ),
        {"vnf.core": other.threads[0]} if other else {},
    )
    yield BrokenRule(
        PlacementRule(
            key="remote-memory",
            text="memory on another NUMA node",
            why="Every cache miss crosses the interconnect between the processors.",
            clause="7.2",
            how=f"forwarder's memory from node {other.node}" if other else "",
            why_not="" if other else _explain_one_node(cpus),
        ),
        {"vnf.memory_node": other.node} if other else {},
    )


def _explain_one_node(cpus: CpuSelection) -> str:
    return ONE_NODE if cpus.node_count == 1 else "nodrop may only use CPUs of one NUMA node"


def _iter_page_rules(_: CpuSelection, means: HostMeans) -> Iterator[BrokenRule]:
    yield BrokenRule(
        PlacementRule(
            key="small-pages",
            text="memory in 4 KiB pages",
            why="A large table in small pages exceeds the TLB: each flow lookup needs a page walk first.",
            clause="7.1",
            how="the forwarder's table never in large pages",
            why_not=means.large_pages,
        ),
        {"vnf.pages": "small"},
    )


def _iter_pinning_rules(_: CpuSelection, __: HostMeans) -> Iterator[BrokenRule]:
    yield BrokenRule(
        PlacementRule(
            key="not-pinned",
            text="not pinned",
            why="The scheduler may move it to a busy CPU, away from its caches, at any time.",
            clause="7.2",
            how="the scheduler chooses the forwarder's CPU",
        ),
        {"vnf.core": "none"},
    )


def _iter_antagonist_rules(cpus: CpuSelection, means: HostMeans) -> Iterator[BrokenRule]:
    yield _build_antagonist_rule("cpu", cpus.forwarder_cpu, "", means)
    spare = cpus.spare[0].threads[0] if cpus.spare else None
    for kind in ("memory", "cache"):
        if spare is not None:
            yield _build_antagonist_rule(kind, spare, "", means)
        else:
            note = "no other CPU of the node is free, so it also takes CPU time from the forwarder"
            yield _build_antagonist_rule(kind, cpus.forwarder_cpu, note, means)


NEIGHBORS: Mapping[AntagonistKind, tuple[str, str]] = {
    "cpu": (
        "noisy neighbor (CPU)",
        "The forwarder waits while the neighbor runs, and its queues overflow.",
    ),
    "memory": ("noisy neighbor (memory)", "Processors of a node share its memory bandwidth."),
    "cache": ("noisy neighbor (cache)", "Cores of a processor share its last-level cache."),
}
STRESS_NG_FLAGS: Mapping[AntagonistKind, str] = {"cpu": "--cpu", "memory": "--stream", "cache": "--cache"}


def _build_antagonist_rule(kind: AntagonistKind, cpu: int, note: str, means: HostMeans) -> BrokenRule:
    text, why = NEIGHBORS[kind]
    return BrokenRule(
        PlacementRule(
            key=f"{kind}-noise",
            text=text,
            why=why,
            clause="8.2.2.5",
            how=f"stress-ng {STRESS_NG_FLAGS[kind]} on CPU {cpu}",
            note=note,
            why_not="" if means.stress_ng else NO_STRESS_NG,
            antagonist=kind,
        ),
        {"antagonist.kind": kind, "antagonist.cores": [cpu]},
    )


def _iter_softirq_rules(cpus: CpuSelection, means: HostMeans) -> Iterator[BrokenRule]:
    yield BrokenRule(
        PlacementRule(
            key="softirq",
            text="softirq on its CPU",
            why="The kernel processes every received frame on the forwarder's CPU.",
            clause="6.1.1",
            how=f"softirq of its ports on CPU {cpus.forwarder_cpu}, not on the sender's {cpus.tester_cpu}",
            why_not=means.steering,
        ),
        {"vnf.softirq_core": cpus.forwarder_cpu},
    )


def _iter_identical_rules(cpus: CpuSelection, most: int) -> Iterator[BrokenRule]:
    cpu_count = 1 + len(cpus.spare)
    for count in range(2, min(cpu_count + 1, most) + 1):
        shared = "" if count <= cpu_count else f"; only {format_count(cpu_count, 'CPU')} of the node, so they share"
        yield BrokenRule(
            PlacementRule(
                key=f"identical-{count}",
                text=f"each of {count} identical VNFs",
                why="Identical VMs put the same load on shared resources.",
                clause="8.2.2.5",
                how=f"{count} chains, {'a CPU each' if not shared else 'CPUs assigned round-robin'}{shared}",
                vnf_count=count,
            ),
            {"chains": count, "networks": "ports", "vnf.core": "auto"},
            all_cpus=True,
        )


RULES: tuple[Breaks, ...] = (
    *(_iter_same_core_rules, _iter_sibling_rules, _iter_node_rules, _iter_page_rules, _iter_pinning_rules),
    *(_iter_antagonist_rules, _iter_softirq_rules),
)
