"""In what two set-ups differ: what may be why their figures do, likeliest first."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from nodrop.analysis.host_factors import host_differences
from nodrop.analysis.types import Difference, Room
from nodrop.formatting import traffic_text
from nodrop.model.result import RunResult
from nodrop.model.summary import Summary
from nodrop.units import format_pps, format_ratio, format_seconds

Run = TypeVar("Run")
NONE = "-"
SHOWN_MAX = 3
"""Values of a side that are listed."""
TEXT_MAX = 80


class Aspect(NamedTuple, Generic[Run]):
    """Something to compare set-ups by."""

    key: str
    text: str
    room: Room
    of: Callable[[Run], object]
    why: str = ""


def _sut_found(run: RunResult) -> str:
    """Simulated ones have a seed of their own in every run."""
    return re.sub(r", seed \d+\)", ")", run.facts.stage.sut) if run.facts else ""


def _goals(run: RunResult) -> str:
    if run.plan.fixed:
        return ""
    return ", ".join(f"{goal.label} {format_ratio(goal.loss_ratio)}" for goal in run.plan.search.goals)


SHARED_CPU = "On a CPU of both, what the tester does is taken from the SUT."
ASPECTS: tuple[Aspect[RunResult], ...] = (
    Aspect("plan.lab.sut", "SUT", "sut", lambda run: run.plan.lab.sut_text),
    Aspect("facts.stage.sut", "SUT as found", "sut", _sut_found),
    Aspect("plan.lab.sut_backend", "how the SUT reaches its ports", "sut", lambda run: run.plan.lab.sut_backend),
    Aspect(
        "plan.lab.forwarders.core",
        "CPUs of the SUT",
        "sut",
        lambda run: _listed(each.core for each in run.plan.lab.forwarders),
        "Another CPU may share caches, a core or interrupts with others.",
    ),
    Aspect(
        "facts.stage.sut_shares_tester_cpu",
        "SUT works on the tester's CPU",
        "sut",
        lambda run: run.facts and run.facts.stage.sut_shares_tester_cpu,
        SHARED_CPU,
    ),
    Aspect(
        "plan.lab.antagonists",
        "noisy neighbours",
        "sut",
        lambda run: _listed(f"{each.kind} on CPU {each.core}" for each in run.plan.lab.antagonists),
        "They load what they share with the SUT.",
    ),
    Aspect(
        "plan.lab.sut_pages",
        "pages of the SUT's memory",
        "sut",
        lambda run: run.plan.lab.sut_pages,
        "Each page of memory that is in use takes an entry of the TLB.",
    ),
    Aspect("plan.lab.sut_memory_node", "NUMA node of its memory", "sut", lambda run: run.plan.lab.sut_memory_node),
    Aspect(
        "plan.lab.sut_softirq_core",
        "CPU that receives for the SUT",
        "sut",
        lambda run: run.plan.lab.sut_softirq_core,
        "What the kernel does to receive a frame takes time of that CPU.",
    ),
    Aspect("plan.lab.sut_queue_slots", "frames the SUT can hold", "sut", lambda run: run.plan.lab.sut_queue_slots),
    Aspect("plan.traffic", "traffic", "traffic", lambda run: traffic_text(run.plan.traffic)),
    Aspect("plan.frame_size", "frame size", "traffic", lambda run: run.plan.frame_size),
    Aspect("plan.fixed.asked", "fixed rate", "traffic", lambda run: run.plan.fixed and run.plan.fixed.asked),
    Aspect(
        "facts.versions.commit",
        "build of the engine and of nodrop's forwarders",
        "version",
        lambda run: run.facts and run.facts.versions.commit,
        "Both the tester and the SUT vnf-l2, vnf-l3 and xdp come from it.",
    ),
    Aspect("facts.versions.nodrop", "nodrop", "version", lambda run: run.facts and run.facts.versions.nodrop),
    Aspect(
        "facts.host.kernel",
        "kernel",
        "host",
        lambda run: run.facts and run.facts.host.kernel,
        "veth, bridges, routers and packet sockets are the kernel's.",
    ),
    Aspect("facts.host.cpu_model", "CPU", "host", lambda run: run.facts and run.facts.host.cpu_model),
    Aspect("facts.host.core_count", "CPUs", "host", lambda run: run.facts and run.facts.host.core_count),
    Aspect("facts.host.name", "host", "host", lambda run: run.facts and run.facts.host.name),
    Aspect("facts.host.virtualization", "runs under", "host", lambda run: run.facts and run.facts.host.virtualization),
    Aspect(
        "facts.host.clock_source",
        "clock",
        "host",
        lambda run: run.facts and run.facts.host.clock_source,
        "Reading a clock other than tsc costs the tester time for every frame.",
    ),
    Aspect("facts.host.memory_bytes", "memory in bytes", "host", lambda run: run.facts and run.facts.host.memory_bytes),
    Aspect("facts.stage.privilege", "privilege", "lab", lambda run: run.facts and run.facts.stage.privilege),
    Aspect("plan.standing_lab", "lab left standing", "lab", lambda run: run.plan.standing_lab),
    Aspect(
        "facts.stage.interfaces.driver",
        "drivers",
        "lab",
        lambda run: run.facts and _listed(each.driver for each in run.facts.stage.interfaces),
    ),
    Aspect(
        "facts.stage.interfaces.link_speed_bps",
        "link speeds in bit/s",
        "lab",
        lambda run: run.facts and _listed(each.link_speed_bps for each in run.facts.stage.interfaces),
    ),
    Aspect(
        "facts.ports.backend",
        "how the tester reaches its ports",
        "tester",
        lambda run: run.facts and _listed(each.backend for each in run.facts.ports),
    ),
    Aspect("plan.engine.cores", "CPUs of the tester", "tester", lambda run: _listed(run.plan.engine.cores), SHARED_CPU),
    Aspect("plan.profile", "profile", "search", lambda run: run.plan.profile),
    Aspect("plan.search.algorithm", "search", "search", lambda run: run.plan.search.algorithm),
    Aspect("plan.search.goals", "goals", "search", _goals),
    Aspect("plan.search.width_ratio", "width asked", "search", lambda run: format_ratio(run.plan.search.width_ratio)),
    Aspect(
        "plan.search.final_trial_duration_s",
        "final trials",
        "search",
        lambda run: format_seconds(run.plan.search.final_trial_duration_s),
        "Longer trials catch rarer losses, so NDR is lower.",
    ),
    Aspect("plan.search.max_load_pps", "highest load", "search", lambda run: format_pps(run.plan.search.max_load_pps)),
    Aspect("plan.search.min_load_pps", "lowest load", "search", lambda run: format_pps(run.plan.search.min_load_pps)),
    Aspect(
        "plan.latency.points",
        "latency is taken at",
        "search",
        lambda run: _listed(point.label for point in run.plan.latency.points),
    ),
    Aspect("facts.versions.python", "Python", "version", lambda run: run.facts and run.facts.versions.python),
)
"""Of runs of ours, likeliest first: the SUT, what it is sent, what runs it, how it is measured."""

OUTWARD: tuple[Aspect[Summary], ...] = (
    Aspect("sut", "SUT", "sut", lambda run: run.sut),
    Aspect("path", "service chain", "sut", lambda run: run.path),
    Aspect("chain_count", "chains", "sut", lambda run: run.chain_count),
    Aspect("frame_size", "frame size", "traffic", lambda run: run.frame_size),
    Aspect("flow_count", "flows", "traffic", lambda run: run.flow_count),
    Aspect("bidirectional", "both ways", "traffic", lambda run: run.bidirectional),
    Aspect("kernel", "kernel", "host", lambda run: run.kernel),
    Aspect("cpu_model", "CPU", "host", lambda run: run.cpu_model),
    Aspect("host", "host", "host", lambda run: run.host),
    Aspect("source", "who measured", "tester", lambda run: run.source, "Testers count loss and rates each their way."),
    Aspect("version", "version of the tester", "version", lambda run: run.version),
    Aspect("backend", "how the tester reaches its ports", "tester", lambda run: run.backend),
    Aspect("algorithm", "search", "search", lambda run: run.algorithm),
    Aspect("asked", "asked", "search", lambda run: run.asked),
)
"""Of any runs: what a list of them knows."""

UNTOLD = (
    "plan.label",
    "plan.asked",
    "plan.results_dir",
    "plan.results_index",
    "plan.ship",
    "plan.nfvbench",
    "plan.interval_s",
    "plan.variant",
    "plan.repeat",
    "plan.repeat_count",
    "plan.capture",
    "plan.calibration",
    "plan.percentiles",
    "plan.fixed",
    "plan.search.earlier",
    "plan.lab.sut_capacity_pps",
    "plan.lab.forwarders",
    "plan.lab.edges",
    "plan.lab.links",
    "plan.lab.routers",
    "plan.engine.devices",
)
"""Keys that always differ, change no figure, or follow from others that are told."""
BEFORE_HOSTS: tuple[Room, ...] = ("sut", "traffic", "version", "host")
"""Of the aspects, those that are told first."""
ROOMS: dict[str, Room] = {
    "lab": "lab",
    "engine": "tester",
    "traffic": "traffic",
    "neighbors": "tester",
    "search": "search",
    "latency": "search",
}


def differences(a: Sequence[RunResult], b: Sequence[RunResult]) -> tuple[Difference, ...]:
    """In what the set-ups of A's and B's runs differ: SUT, traffic, versions, host, lab, tester, search."""
    told = _with_hosts(list(_differing(ASPECTS, a, b)), a, b)
    if told and told[0].key == "plan.lab.sut":  # then what was found differs in the same
        told = [told[0], *(each for each in told[1:] if each.key != "facts.stage.sut")]
    covered = (*(aspect.key for aspect in ASPECTS), *UNTOLD)
    if any(difference.key == "plan.traffic" for difference in told):
        covered = (*covered, "plan.traffic")
    return (*told, *_rest(a, b, covered))


def _with_hosts(told: list[Difference], a: Sequence[RunResult], b: Sequence[RunResult]) -> list[Difference]:
    """With what else differs of the hosts, behind what a run's own facts say of them."""
    hosts_a, hosts_b = ([run.facts.chd for run in runs if run.facts and run.facts.chd] for runs in (a, b))
    first = next((index for index, each in enumerate(told) if each.room not in BEFORE_HOSTS), len(told))
    return [*told[:first], *host_differences(hosts_a, hosts_b), *told[first:]]


def outward_differences(a: Sequence[Summary], b: Sequence[Summary]) -> tuple[Difference, ...]:
    """The same of runs that others measured, of which less is known."""
    return tuple(_differing(OUTWARD, a, b))


def _differing(aspects: Sequence[Aspect[Run]], a: Sequence[Run], b: Sequence[Run]) -> Iterator[Difference]:
    for aspect in aspects:
        of_a, of_b = ({_text(aspect.of(run)) for run in runs} for runs in (a, b))
        if of_a != of_b:
            yield Difference(
                key=aspect.key, text=aspect.text, room=aspect.room, a=_side(of_a), b=_side(of_b), why=aspect.why
            )


def _rest(a: Sequence[RunResult], b: Sequence[RunResult], covered: Sequence[str]) -> Iterator[Difference]:
    """Whatever else of the plans differs, by its key."""
    of_a, of_b = (_by_key([run.plan.model_dump(mode="json") for run in runs]) for runs in (a, b))
    for key in dict.fromkeys((*of_a, *of_b)):
        values_a, values_b = of_a.get(key, set()), of_b.get(key, set())
        if values_a == values_b or any(key == each or key.startswith(f"{each}.") for each in covered):
            continue
        parts = key.split(".")
        room = ROOMS.get(parts[1], "label")
        yield Difference(key=key, text=".".join(parts[1:]), room=room, a=_side(values_a), b=_side(values_b))


def _by_key(plans: Sequence[Any]) -> dict[str, set[str]]:
    """Values by key, those of lists together."""
    found: dict[str, set[str]] = {}
    for plan in plans:
        for key, value in _flat("plan", plan):
            found.setdefault(key, set()).add(_text(value))
    return found


def _flat(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flat(f"{key}.{name}", inner)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _flat(key, inner)
    else:
        yield key, value


def _listed(values: Any) -> str:
    return ", ".join(dict.fromkeys("any" if value is None else str(value) for value in values))


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _side(values: set[str]) -> str:
    ordered = sorted(values)
    more = f" and {len(ordered) - SHOWN_MAX} more" if len(ordered) > SHOWN_MAX else ""
    return ", ".join(ordered[:SHOWN_MAX]) + more if ordered else NONE
