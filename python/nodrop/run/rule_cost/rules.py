"""Every rule of placement: what breaks it on a host, or why nothing does there.

Source: ETSI GS NFV-PER 001 clause 6.1 (processors, memory, interrupts), 7.2 (pinning), 8.2.2.4 (topology of resources),
8.2.2.5 (impact from and to other VMs, options 1 and 2).
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from nodrop.model.choices import AntagonistKind
from nodrop.model.rule_cost import PriceRule
from nodrop.run.rule_cost.cpu_selection import Places

NO_STRESS_NG = "needs stress-ng: apt install stress-ng"
ONE_NODE = "this host has one NUMA node"
NO_SMT = "every core has one thread that nodrop may use"


class Means(NamedTuple):
    """What of a host is needed to break rules, besides CPUs."""

    stress_ng: bool
    """Whether there is the program for noisy neighbours."""
    large_pages: str = ""
    """Why memory cannot be had in large pages; empty where it can."""
    steering: str = ""
    """Why the CPU that receives cannot be chosen; empty where it can."""


class Broken(NamedTuple):
    """A rule, and the configuration that breaks it."""

    rule: PriceRule
    keys: Mapping[str, Any]
    """What it changes of the configuration that keeps all rules."""
    all_cpus: bool = False
    """Whether the plan chooses among all CPUs of the node."""


Breaks = Callable[[Places, Means], Iterator[Broken]]


def rules_of(places: Places, means: Means, identical_max: int = 4) -> tuple[Broken, ...]:
    """All rules, in the order people would ask for them; with up to so many identical VNFs."""
    return (*(broken for each in RULES for broken in each(places, means)), *_identical(places, identical_max))


def _same_core(places: Places, _: Means) -> Iterator[Broken]:
    yield Broken(
        PriceRule(
            key="same-core",
            text="on the tester's CPU",
            why="Two programs that always run get half of a CPU each, and wait for each other.",
            clause="7.2",
            how=f"forwarder on CPU {places.tester_cpu}, the tester's",
            note="the tester is slowed down too, and what it takes of the CPU is in the price",
        ),
        {"vnf.core": places.tester_cpu},
    )


def _sibling(places: Places, means: Means) -> Iterator[Broken]:
    threads, own = places.tester.threads, places.forwarder.threads
    yield Broken(
        PriceRule(
            key="sibling",
            text="on a sibling thread",
            why="Threads of one core share its execution units and its first caches.",
            clause="8.2.2.4",
            how=f"forwarder on CPU {threads[1]}, the other thread of the tester's core" if threads[1:] else "",
            note="the tester is slowed down too",
            why_not="" if threads[1:] else NO_SMT,
        ),
        {"vnf.core": threads[1]} if threads[1:] else {},
    )
    rule = PriceRule(
        key="sibling-noise",
        text="noisy sibling thread",
        why="Threads of one core share its execution units and its first caches.",
        clause="8.2.2.4",
        how=f"stress-ng --cpu on CPU {own[1]}, the other thread of the forwarder's core" if own[1:] else "",
        why_not=NO_SMT if not own[1:] else "" if means.stress_ng else NO_STRESS_NG,
    )
    yield Broken(rule, {"antagonist.kind": "cpu", "antagonist.cores": [own[1]]} if own[1:] else {})


def _nodes(places: Places, _: Means) -> Iterator[Broken]:
    other = places.elsewhere[0] if places.elsewhere else None
    yield Broken(
        PriceRule(
            key="other-node",
            text="on another NUMA node",
            why="Every frame crosses the link between the processors.",
            clause="8.2.2.4",
            how=f"forwarder on CPU {other.threads[0]} of node {other.node}, the tester on node {places.tester.node}"
            if other
            else "",
            why_not="" if other else _one_node(places),
        ),
        {"vnf.core": other.threads[0]} if other else {},
    )
    yield Broken(
        PriceRule(
            key="remote-memory",
            text="memory on another NUMA node",
            why="Every access that misses the caches crosses the link between the processors.",
            clause="7.2",
            how=f"forwarder's memory from node {other.node}" if other else "",
            why_not="" if other else _one_node(places),
        ),
        {"vnf.memory_node": other.node} if other else {},
    )


def _one_node(places: Places) -> str:
    return ONE_NODE if places.node_count == 1 else "nodrop may use CPUs of one NUMA node only"


def _pages(_: Places, means: Means) -> Iterator[Broken]:
    yield Broken(
        PriceRule(
            key="small-pages",
            text="memory in 4 KiB pages",
            why="A large table in small pages does not fit the TLB: looking up a flow then looks up its page first.",
            clause="7.1",
            how="the forwarder's table never in large pages",
            why_not=means.large_pages,
        ),
        {"vnf.pages": "small"},
    )


def _not_pinned(_: Places, __: Means) -> Iterator[Broken]:
    yield Broken(
        PriceRule(
            key="not-pinned",
            text="not pinned",
            why="The scheduler may move it to a CPU in use, and away from its caches, at any time.",
            clause="7.2",
            how="the scheduler chooses the forwarder's CPU",
        ),
        {"vnf.core": "none"},
    )


def _antagonists(places: Places, means: Means) -> Iterator[Broken]:
    yield _antagonist("cpu", places.forwarder_cpu, "", means)
    spare = places.spare[0].threads[0] if places.spare else None
    for kind in ("memory", "cache"):
        if spare is not None:
            yield _antagonist(kind, spare, "", means)
        else:
            note = "no other CPU of the node is left for it, so it takes the forwarder's CPU time as well"
            yield _antagonist(kind, places.forwarder_cpu, note, means)


NEIGHBOURS: Mapping[AntagonistKind, tuple[str, str]] = {
    "cpu": (
        "noisy neighbour (CPU)",
        "What the neighbour takes, the forwarder waits for, and its queues overflow.",
    ),
    "memory": ("noisy neighbour (memory)", "Processors of a node share the way to its memory."),
    "cache": ("noisy neighbour (cache)", "Cores of a processor share its last cache."),
}
STRESSED: Mapping[AntagonistKind, str] = {"cpu": "--cpu", "memory": "--stream", "cache": "--cache"}


def _antagonist(kind: AntagonistKind, cpu: int, note: str, means: Means) -> Broken:
    text, why = NEIGHBOURS[kind]
    return Broken(
        PriceRule(
            key=f"{kind}-noise",
            text=text,
            why=why,
            clause="8.2.2.5",
            how=f"stress-ng {STRESSED[kind]} on CPU {cpu}",
            note=note,
            why_not="" if means.stress_ng else NO_STRESS_NG,
            antagonist=kind,
        ),
        {"antagonist.kind": kind, "antagonist.cores": [cpu]},
    )


def _softirq(places: Places, means: Means) -> Iterator[Broken]:
    yield Broken(
        PriceRule(
            key="softirq",
            text="softirq on its CPU",
            why="What the kernel does for every frame that arrives, it does in the forwarder's time.",
            clause="6.1.1",
            how=f"softirq of its ports on CPU {places.forwarder_cpu}, not on the sender's {places.tester_cpu}",
            why_not=means.steering,
        ),
        {"vnf.softirq_core": places.forwarder_cpu},
    )


def _identical(places: Places, most: int) -> Iterator[Broken]:
    own = 1 + len(places.spare)
    for count in range(2, min(own + 1, most) + 1):
        shared = "" if count <= own else f"; only {own} CPU{'s' if own > 1 else ''} of the node, so they share"
        yield Broken(
            PriceRule(
                key=f"identical-{count}",
                text=f"each of {count} identical VNFs",
                why="Identical VMs load what they share alike.",
                clause="8.2.2.5",
                how=f"{count} chains, {'a CPU each' if not shared else 'CPUs in turn'}{shared}",
                vnf_count=count,
            ),
            {"chains": count, "networks": "ports", "vnf.core": "auto"},
            all_cpus=True,
        )


RULES: tuple[Breaks, ...] = (
    *(_same_core, _sibling, _nodes, _pages, _not_pinned),
    *(_antagonists, _softirq),
)
