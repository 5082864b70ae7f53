"""Differences between two setups: possible causes of different results, most likely first."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from nodrop.analysis.host_factors import diff_host_factors
from nodrop.analysis.types import SetupArea, SetupDifference
from nodrop.formatting import describe_traffic
from nodrop.model.result import RunResult
from nodrop.model.summary import Summary
from nodrop.units import format_pps, format_ratio, format_seconds

Run = TypeVar("Run")
NONE = "-"
VALUES_MAX = 3
"""Maximum number of values listed per side."""
TEXT_MAX = 80


class SetupAspect(NamedTuple, Generic[Run]):
    """A property that setups are compared by."""

    key: str
    text: str
    area: SetupArea
    of: Callable[[Run], object]
    why: str = ""


def _format_measured_sut(run: RunResult) -> str:
    """Return the SUT as measured, without the seed that differs in every simulated run."""
    return re.sub(r", seed \d+\)", ")", run.facts.stage.sut) if run.facts else ""


def _format_goals(run: RunResult) -> str:
    if run.plan.fixed:
        return ""
    return ", ".join(f"{goal.label} {format_ratio(goal.loss_ratio)}" for goal in run.plan.search.goals)


SHARED_CPU = "Tester and SUT compete for time on a shared CPU."
RESULT_ASPECTS: tuple[SetupAspect[RunResult], ...] = (
    SetupAspect("plan.lab.sut", "SUT", "sut", lambda run: run.plan.lab.sut_text),
    SetupAspect("facts.stage.sut", "SUT as measured", "sut", _format_measured_sut),
    SetupAspect("plan.lab.sut_backend", "how the SUT reaches its ports", "sut", lambda run: run.plan.lab.sut_backend),
    SetupAspect(
        "plan.lab.forwarders.core",
        "CPUs of the SUT",
        "sut",
        lambda run: _join_distinct(each.core for each in run.plan.lab.forwarders),
        "Another CPU may share caches, a core or interrupts with other work.",
    ),
    SetupAspect(
        "facts.stage.sut_shares_tester_cpu",
        "SUT runs on the tester's CPU",
        "sut",
        lambda run: run.facts and run.facts.stage.sut_shares_tester_cpu,
        SHARED_CPU,
    ),
    SetupAspect(
        "plan.lab.antagonists",
        "noisy neighbors",
        "sut",
        lambda run: _join_distinct(f"{each.kind} on CPU {each.core}" for each in run.plan.lab.antagonists),
        "They load resources that they share with the SUT.",
    ),
    SetupAspect(
        "plan.lab.sut_pages",
        "pages of the SUT's memory",
        "sut",
        lambda run: run.plan.lab.sut_pages,
        "Each memory page in use takes a TLB entry.",
    ),
    SetupAspect(
        "plan.lab.sut_memory_node", "NUMA node of the SUT's memory", "sut", lambda run: run.plan.lab.sut_memory_node
    ),
    SetupAspect(
        "plan.lab.sut_softirq_core",
        "CPU that receives frames for the SUT",
        "sut",
        lambda run: run.plan.lab.sut_softirq_core,
        "The kernel's receive work takes time of this CPU.",
    ),
    SetupAspect(
        "plan.lab.sut_queue_slots", "frames the SUT can queue", "sut", lambda run: run.plan.lab.sut_queue_slots
    ),
    SetupAspect("plan.traffic", "traffic", "traffic", lambda run: describe_traffic(run.plan.traffic)),
    SetupAspect("plan.frame_size", "frame size", "traffic", lambda run: run.plan.frame_size),
    SetupAspect("plan.fixed.asked", "fixed rate", "traffic", lambda run: run.plan.fixed and run.plan.fixed.asked),
    SetupAspect(
        "facts.versions.commit",
        "build of the engine and of nodrop's forwarders",
        "version",
        lambda run: run.facts and run.facts.versions.commit,
        "The tester and the SUTs vnf-l2, vnf-l3 and xdp are part of this build.",
    ),
    SetupAspect("facts.versions.nodrop", "nodrop", "version", lambda run: run.facts and run.facts.versions.nodrop),
    SetupAspect(
        "facts.host.kernel",
        "kernel",
        "host",
        lambda run: run.facts and run.facts.host.kernel,
        "veth, bridges, routers and packet sockets are part of the kernel.",
    ),
    SetupAspect("facts.host.cpu_model", "CPU", "host", lambda run: run.facts and run.facts.host.cpu_model),
    SetupAspect("facts.host.core_count", "CPUs", "host", lambda run: run.facts and run.facts.host.core_count),
    SetupAspect("facts.host.name", "host", "host", lambda run: run.facts and run.facts.host.name),
    SetupAspect(
        "facts.host.virtualization", "runs under", "host", lambda run: run.facts and run.facts.host.virtualization
    ),
    SetupAspect(
        "facts.host.clock_source",
        "clock",
        "host",
        lambda run: run.facts and run.facts.host.clock_source,
        "Reading any clock but tsc costs the tester time for every frame.",
    ),
    SetupAspect(
        "facts.host.memory_bytes", "memory in bytes", "host", lambda run: run.facts and run.facts.host.memory_bytes
    ),
    SetupAspect("facts.stage.privilege", "privilege", "lab", lambda run: run.facts and run.facts.stage.privilege),
    SetupAspect("plan.standing_lab", "persistent lab", "lab", lambda run: run.plan.standing_lab),
    SetupAspect(
        "facts.stage.interfaces.driver",
        "drivers",
        "lab",
        lambda run: run.facts and _join_distinct(each.driver for each in run.facts.stage.interfaces),
    ),
    SetupAspect(
        "facts.stage.interfaces.link_speed_bps",
        "link speeds in bit/s",
        "lab",
        lambda run: run.facts and _join_distinct(each.link_speed_bps for each in run.facts.stage.interfaces),
    ),
    SetupAspect(
        "facts.ports.backend",
        "how the tester reaches its ports",
        "tester",
        lambda run: run.facts and _join_distinct(each.backend for each in run.facts.ports),
    ),
    SetupAspect(
        "plan.engine.cores",
        "CPUs of the tester",
        "tester",
        lambda run: _join_distinct(run.plan.engine.cores),
        SHARED_CPU,
    ),
    SetupAspect("plan.profile", "profile", "search", lambda run: run.plan.profile),
    SetupAspect("plan.search.algorithm", "search", "search", lambda run: run.plan.search.algorithm),
    SetupAspect("plan.search.goals", "goals", "search", _format_goals),
    SetupAspect(
        "plan.search.width_ratio", "goal width", "search", lambda run: format_ratio(run.plan.search.width_ratio)
    ),
    SetupAspect(
        "plan.search.final_trial_duration_s",
        "final trials",
        "search",
        lambda run: format_seconds(run.plan.search.final_trial_duration_s),
        "Longer trials catch rarer losses, which lowers NDR.",
    ),
    SetupAspect(
        "plan.search.max_load_pps", "highest load", "search", lambda run: format_pps(run.plan.search.max_load_pps)
    ),
    SetupAspect(
        "plan.search.min_load_pps", "lowest load", "search", lambda run: format_pps(run.plan.search.min_load_pps)
    ),
    SetupAspect(
        "plan.latency.points",
        "latency measured at",
        "search",
        lambda run: _join_distinct(point.label for point in run.plan.latency.points),
    ),
    SetupAspect("facts.versions.python", "Python", "version", lambda run: run.facts and run.facts.versions.python),
)
"""Aspects of nodrop runs, most likely cause first: the SUT, its traffic, its host, the measurement."""

SUMMARY_ASPECTS: tuple[SetupAspect[Summary], ...] = (
    SetupAspect("sut", "SUT", "sut", lambda run: run.sut),
    SetupAspect("path", "service chain", "sut", lambda run: run.path),
    SetupAspect("chain_count", "chains", "sut", lambda run: run.chain_count),
    SetupAspect("frame_size", "frame size", "traffic", lambda run: run.frame_size),
    SetupAspect("flow_count", "flows", "traffic", lambda run: run.flow_count),
    SetupAspect("bidirectional", "bidirectional", "traffic", lambda run: run.bidirectional),
    SetupAspect("kernel", "kernel", "host", lambda run: run.kernel),
    SetupAspect("cpu_model", "CPU", "host", lambda run: run.cpu_model),
    SetupAspect("host", "host", "host", lambda run: run.host),
    SetupAspect("source", "tester", "tester", lambda run: run.source, "Testers count loss and rates differently."),
    SetupAspect("version", "version of the tester", "version", lambda run: run.version),
    SetupAspect("backend", "how the tester reaches its ports", "tester", lambda run: run.backend),
    SetupAspect("algorithm", "search", "search", lambda run: run.algorithm),
    SetupAspect("asked", "goals or rate", "search", lambda run: run.asked),
)
"""Aspects of any runs, also of other testers: the fields of their summaries."""

IGNORED_KEYS = (
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
    "plan.expect",
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
"""Plan keys that always differ, do not affect results, or follow from other reported keys."""
AREAS_BEFORE_HOSTS: tuple[SetupArea, ...] = ("sut", "traffic", "version", "host")
"""Areas that are reported before the differences of the hosts."""
PLAN_AREAS: dict[str, SetupArea] = {
    "lab": "lab",
    "engine": "tester",
    "traffic": "traffic",
    "neighbors": "tester",
    "search": "search",
    "latency": "search",
}


def diff_setups(a: Sequence[RunResult], b: Sequence[RunResult]) -> tuple[SetupDifference, ...]:
    """Return the differences between the setups of A and B: SUT, traffic, versions, host, lab, tester, search."""
    reported = _insert_host_differences(list(_diff_aspects(RESULT_ASPECTS, a, b)), a, b)
    if reported and reported[0].key == "plan.lab.sut":  # the measured SUT repeats this difference
        reported = [reported[0], *(each for each in reported[1:] if each.key != "facts.stage.sut")]
    covered = (*(aspect.key for aspect in RESULT_ASPECTS), *IGNORED_KEYS)
    if any(difference.key == "plan.traffic" for difference in reported):
        covered = (*covered, "plan.traffic")
    return (*reported, *_diff_plans(a, b, covered))


def _insert_host_differences(
    reported: list[SetupDifference], a: Sequence[RunResult], b: Sequence[RunResult]
) -> list[SetupDifference]:
    """Insert the differences of the host descriptors behind those of the runs' own host facts."""
    hosts_a, hosts_b = ([run.facts.chd for run in runs if run.facts and run.facts.chd] for runs in (a, b))
    first = next((index for index, each in enumerate(reported) if each.area not in AREAS_BEFORE_HOSTS), len(reported))
    return [*reported[:first], *diff_host_factors(hosts_a, hosts_b), *reported[first:]]


def diff_summaries(a: Sequence[Summary], b: Sequence[Summary]) -> tuple[SetupDifference, ...]:
    """Return the differences between the summaries of A and B, also of runs of other testers."""
    return tuple(_diff_aspects(SUMMARY_ASPECTS, a, b))


def _diff_aspects(aspects: Sequence[SetupAspect[Run]], a: Sequence[Run], b: Sequence[Run]) -> Iterator[SetupDifference]:
    for aspect in aspects:
        values_a, values_b = ({_format_value(aspect.of(run)) for run in runs} for runs in (a, b))
        if values_a != values_b:
            yield SetupDifference(
                key=aspect.key,
                text=aspect.text,
                area=aspect.area,
                a=_join_values(values_a),
                b=_join_values(values_b),
                why=aspect.why,
            )


def _diff_plans(a: Sequence[RunResult], b: Sequence[RunResult], covered: Sequence[str]) -> Iterator[SetupDifference]:
    """Yield all other differences of the plans, by key."""
    keys_a, keys_b = (_collect_by_key([run.plan.model_dump(mode="json") for run in runs]) for runs in (a, b))
    for key in dict.fromkeys((*keys_a, *keys_b)):
        values_a, values_b = keys_a.get(key, set()), keys_b.get(key, set())
        if values_a == values_b or any(key == each or key.startswith(f"{each}.") for each in covered):
            continue
        parts = key.split(".")
        area = PLAN_AREAS.get(parts[1], "label")
        yield SetupDifference(
            key=key, text=".".join(parts[1:]), area=area, a=_join_values(values_a), b=_join_values(values_b)
        )


def _collect_by_key(plans: Sequence[Any]) -> dict[str, set[str]]:
    """Collect values by key; items of a list share the key of the list."""
    values: dict[str, set[str]] = {}
    for plan in plans:
        for key, value in _flatten("plan", plan):
            values.setdefault(key, set()).add(_format_value(value))
    return values


def _flatten(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _flatten(f"{key}.{name}", inner)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _flatten(key, inner)
    else:
        yield key, value


def _join_distinct(values: Any) -> str:
    return ", ".join(dict.fromkeys("any" if value is None else str(value) for value in values))


def _format_value(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= TEXT_MAX else f"{text[: TEXT_MAX - 1]}…"


def _join_values(values: set[str]) -> str:
    ordered = sorted(values)
    more = f" and {len(ordered) - VALUES_MAX} more" if len(ordered) > VALUES_MAX else ""
    return ", ".join(ordered[:VALUES_MAX]) + more if ordered else NONE
