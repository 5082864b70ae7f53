"""Plans that price rules: the same run with all rules kept and with each broken, in turn."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from nodrop.config.load import Source, load
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.chd import HostDescriptor
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.rule_cost import KEPT, Pricing
from nodrop.model.vmd import VmDescriptor
from nodrop.run.local_planning import plans_here
from nodrop.run.rule_cost.cpu_selection import Places, choose_places
from nodrop.run.rule_cost.rules import Broken, Means, rules_of
from nodrop.run.suite import in_turns
from nodrop.stage import antagonist
from nodrop.store.metrics import goal_names
from nodrop.units import format_bytes

TABLE_BYTES = 64 * 2**20
"""Memory a forwarder works in unless it is told: more than processors' TLBs reach in small pages."""
TABLE_MAX_BYTES = 2**30
"""A descriptor may ask for more; what is touched at random shows the same from far less."""
DEFAULTS: Mapping[str, Any] = {
    "repeat": 3,
    "latency.enabled": False,
    "flow_count": 200_000,
    "vnf.table": TABLE_BYTES,
    "vnf.pages": "large",
    "search.final_trial_duration": "1s",
    "search.initial_trial_duration": "0.3s",
    "search.width": "2%",
    "search.budget": "12s",
}
"""What is asked of each run unless it is asked otherwise: an answer within some fifteen seconds."""
RPS = "/sys/class/net/lo/queues/rx-0/rps_cpus"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


class Asked(NamedTuple):
    """What prices are wanted of."""

    sources: Sequence[Source] = ()
    """Configurations, as for any run."""
    overrides: Mapping[str, Any] = {}
    rules: Sequence[str] = ()
    """Keys of the rules to break; none: all."""
    vm: VmDescriptor | None = None
    identical_max: int = 4
    share: float = 0.9


class Planned(NamedTuple):
    """What will be measured."""

    pricing: Pricing
    plans: tuple[Plan, ...]


def plan_prices(
    asked: Asked, host: HostDescriptor, cpus: Sequence[int] | None = None, means: Means | None = None
) -> Planned:
    """Rules that can be broken on a host, and the runs that do, in turn with those that keep all.

    Args:
        asked: what prices are wanted of.
        host: this machine.
        cpus: CPUs nodrop may use; those of this process when not given.
        means: what there is to break rules with; looked for when not given.

    Raises: ConfigError for rules that do not exist, SUTs that are no forwarder of ours, hosts too small.
    """
    available = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    places = choose_places(host, available)
    broken = _chosen(rules_of(places, means or means_here(host), asked.identical_max), asked.rules)
    defaults = {**DEFAULTS, **_of_vm(asked.vm)}
    kept = _config(asked, defaults, _pinned(places))
    _check(kept)
    named = [(KEPT, _plans(kept, available))]
    for each in broken:
        if not each.rule.why_not:
            config = _config(asked, defaults, {**_pinned(places), **_per_chain(each, kept)})
            named.append((each.rule.key, _plans(config, places.node_cpus if each.all_cpus else available)))
    pricing = Pricing(
        vm=asked.vm.name if asked.vm else "",
        baseline=_baseline(kept, places),
        goals=tuple(goal_names(goal)[0] for goal in named[0][1][0].search.goals),
        share=asked.share,
        rules=tuple(each.rule for each in broken),
    )
    plans = in_turns([plans for _, plans in named], [name for name, _ in named])
    return Planned(pricing, plans)


def still_wanted(pricing: Pricing, plan: Plan, results: Sequence[RunResult]) -> bool:
    """Whether a run is still to be made: one of more identical VNFs is not, where fewer already did too badly."""
    counts = {rule.key: rule.vnf_count for rule in pricing.rules}
    count = counts.get(plan.variant, 1)
    if count <= 2:
        return True
    rates: dict[int, list[float]] = {}
    for result in results:
        if result.plan.variant == KEPT or counts.get(result.plan.variant, 1) > 1:
            of_each = counts.get(result.plan.variant, 1)
            rates.setdefault(of_each, []).append(_rate_pps(result) / of_each)
    alone_pps = fmean(rates.get(1, [0.0]))
    return all(fmean(each) >= pricing.share * alone_pps for fewer, each in rates.items() if fewer < count)


def _rate_pps(result: RunResult) -> float:
    """Of the first goal that was found; none counts as nothing."""
    return next((found.lower.load_pps for found in result.goals if found.lower), 0.0)


def _chosen(rules: Sequence[Broken], wanted: Sequence[str]) -> list[Broken]:
    """Those asked for; `identical` stands for all numbers of them. Raises ConfigError."""
    if not wanted:
        return list(rules)
    names = {each.rule.key: each.rule.key for each in rules}
    names |= {key: "identical" for key in names if key.startswith("identical-")}
    unknown = [name for name in wanted if name not in {*names, *names.values()}]
    if unknown:
        listed = ", ".join(dict.fromkeys(names.values()))
        raise ConfigError(f"--rules: {', '.join(unknown)} asked, there are {listed}; name some of these")
    return [each for each in rules if {each.rule.key, names[each.rule.key]} & set(wanted)]


def _pinned(places: Places) -> dict[str, Any]:
    return {"engine.cores": [places.tester_cpu], "vnf.core": places.forwarder_cpu}


def _per_chain(broken: Broken, kept: Config) -> dict[str, Any]:
    """What breaks it; each of several VNFs has as many flows as one alone."""
    keys = dict(broken.keys)
    if broken.rule.vnf_count > 1:
        keys["flow_count"] = kept.flow_count * broken.rule.vnf_count
    return keys


def _config(asked: Asked, defaults: Mapping[str, Any], keys: Mapping[str, Any]) -> Config:
    """What is asked, with CPUs and what breaks a rule on top: those are not the user's to choose here."""
    return load(asked.sources, {**asked.overrides, **keys}, defaults)


def _plans(config: Config, cpus: Sequence[int]) -> tuple[Plan, ...]:
    return plans_here(config, cpus)


def _check(config: Config) -> None:
    if config.sut not in ("vnf-l2", "vnf-l3"):
        raise ConfigError(
            f"sut: {config.sut} asked, only a forwarder of nodrop's own is put on any CPU; write sut: vnf-l2 or vnf-l3"
        )
    for key, is_asked in (
        ("chains", config.chains > 1),
        ("lab", config.lab is not None),
        ("antagonist", config.antagonist.kind != "none"),
        ("frame_sizes", len(config.frame_sizes) > 1),
        ("rate", config.rate not in ("ndr", "pdr", "ndr_pdr")),
    ):
        if is_asked:
            raise ConfigError(f"{key}: asked, prices are of one forwarder at one frame size; leave {key} out")


def _of_vm(vm: VmDescriptor | None) -> dict[str, Any]:
    """A table as large as the large pages that the VM asks for, within reason."""
    if vm is None:
        return {}
    memory = vm.profiles[0].vcpu_sets[0].memory
    large_bytes = (memory.large_page_bytes or 0) * memory.large_page_count
    return {"vnf.table": min(large_bytes, TABLE_MAX_BYTES)} if large_bytes else {}


def _baseline(config: Config, places: Places) -> str:
    table = f", a table of {format_bytes(config.vnf.table)} in {config.vnf.pages} pages" if config.vnf.table else ""
    return f"{config.sut}: {places.text}{table}, nothing else on these CPUs"


def means_here(host: HostDescriptor) -> Means:
    """What this machine has to break rules with."""
    return Means(
        stress_ng=antagonist.is_there(),
        large_pages=_why_no_large_pages(host),
        steering=_why_no_steering(),
    )


def _why_no_steering() -> str:
    if not Path(RPS).exists():
        return "this kernel has no receive packet steering (CONFIG_RPS)"
    return "" if os.geteuid() == 0 else "only root may say which CPU receives"


def _why_no_large_pages(host: HostDescriptor) -> str:
    pages = [each for node in host.resources.numa_nodes for each in node.memory.large_pages]
    if any((each.total_count.value or 0) > (each.used_count.value or 0) for each in pages if each.size_bytes == 2**21):
        return ""
    try:
        is_off = "[never]" in Path(THP).read_text()
    except OSError:
        is_off = True
    return f"no large pages of 2 MiB are free, and transparent ones are off: echo madvise > {THP}" if is_off else ""
