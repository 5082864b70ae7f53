"""Plans that measure the cost of placement rules: a run that keeps all rules, alternating with runs that break one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from nodrop.config.load import Source, build_config
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.chd import HostDescriptor
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.rule_cost import BASELINE_VARIANT, RuleCostPlan
from nodrop.model.vmd import VmDescriptor
from nodrop.run.local_planning import make_plans
from nodrop.run.rule_cost.cpu_selection import CpuSelection, select_cpus
from nodrop.run.rule_cost.rules import BrokenRule, HostMeans, list_rules
from nodrop.run.suite import alternate_variants
from nodrop.stage import antagonist
from nodrop.store.metrics import name_goal
from nodrop.units import format_bytes

TABLE_BYTES = 64 * 2**20
"""Default size of the forwarder's table: beyond the reach of a TLB with small pages."""
TABLE_MAX_BYTES = 2**30
"""Upper limit for a size from a VM Descriptor; random access shows the same effect from far less."""
DEFAULTS: Mapping[str, Any] = {
    "repeat": 3,
    "latency.enabled": False,
    "flow_count": 200_000,
    "vnf.table": TABLE_BYTES,
    "vnf.pages": "large",
    "search.final_trial_duration": "1s",
    "search.initial_trial_duration": "0.3s",
    "search.width": "2%",
    "search.budget": "14s",
    "engine.backend": "af_packet",
}
"""Configuration defaults of each run: a result within fourteen seconds, and the same back end for all placements,
also for several forwarders and for packet steering."""
RPS = "/sys/class/net/lo/queues/rx-0/rps_cpus"
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


class RuleCostRequest(NamedTuple):
    """What to measure."""

    sources: Sequence[Source] = ()
    """Configuration sources, as for any run."""
    overrides: Mapping[str, Any] = {}
    rules: Sequence[str] = ()
    """Keys of the rules to break; empty: all."""
    vm: VmDescriptor | None = None
    identical_max: int = 4
    share: float = 0.9


class RuleCostRuns(NamedTuple):
    """The rules and the runs that break them."""

    pricing: RuleCostPlan
    plans: tuple[Plan, ...]


def plan_rule_costs(
    request: RuleCostRequest, host: HostDescriptor, cpus: Sequence[int] | None = None, means: HostMeans | None = None
) -> RuleCostRuns:
    """Plan runs that break each rule that can be broken on a host, alternating with runs that keep all rules.

    Args:
        request: what to measure.
        host: this machine.
        cpus: CPUs that nodrop may use; by default those of this process.
        means: the means to break rules; by default detected.

    Raises: ConfigError for an unknown rule, a SUT other than nodrop's forwarders, or a host that is too small.
    """
    available = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    pins = select_cpus(host, available)
    broken = _select_rules(list_rules(pins, means or find_means(host), request.identical_max), request.rules)
    defaults = {**DEFAULTS, **_make_vm_defaults(request.vm)}
    baseline = _load_config(request, defaults, _make_pinning_keys(pins))
    _check(baseline)
    named = [(BASELINE_VARIANT, _make_plans(baseline, available))]
    for each in broken:
        if not each.rule.why_not:
            config = _load_config(
                request, defaults, {**_make_pinning_keys(pins), **_make_breaking_keys(each, baseline)}
            )
            named.append((each.rule.key, _make_plans(config, pins.node_cpus if each.all_cpus else available)))
    pricing = RuleCostPlan(
        vm=request.vm.name if request.vm else "",
        baseline=_describe_baseline(baseline, pins),
        goals=tuple(name_goal(goal)[0] for goal in named[0][1][0].search.goals),
        share=request.share,
        rules=tuple(each.rule for each in broken),
    )
    plans = alternate_variants([plans for _, plans in named], [name for name, _ in named])
    return RuleCostRuns(pricing, plans)


def is_worth_running(pricing: RuleCostPlan, plan: Plan, results: Sequence[RunResult]) -> bool:
    """Return whether to carry out a run; skip more identical VNFs if fewer already missed their share."""
    counts = {rule.key: rule.vnf_count for rule in pricing.rules}
    count = counts.get(plan.variant, 1)
    if count <= 2:
        return True
    rates: dict[int, list[float]] = {}
    for result in results:
        if result.plan.variant == BASELINE_VARIANT or counts.get(result.plan.variant, 1) > 1:
            vnf_count = counts.get(result.plan.variant, 1)
            rates.setdefault(vnf_count, []).append(_get_rate_pps(result) / vnf_count)
    alone_pps = fmean(rates.get(1, [0.0]))
    return all(fmean(each) >= pricing.share * alone_pps for fewer, each in rates.items() if fewer < count)


def _get_rate_pps(result: RunResult) -> float:
    """Return the lower bound of the first goal with one, or 0."""
    return next((goal.lower.load_pps for goal in result.goals if goal.lower), 0.0)


def _select_rules(rules: Sequence[BrokenRule], keys: Sequence[str]) -> list[BrokenRule]:
    """Return the requested rules; `identical` selects every number of VNFs. Raises ConfigError."""
    if not keys:
        return list(rules)
    names = {each.rule.key: each.rule.key for each in rules}
    names |= {key: "identical" for key in names if key.startswith("identical-")}
    unknown = [name for name in keys if name not in {*names, *names.values()}]
    if unknown:
        listed = ", ".join(dict.fromkeys(names.values()))
        raise ConfigError(f"--rules: unknown rule {', '.join(unknown)}; choose from {listed}")
    return [each for each in rules if {each.rule.key, names[each.rule.key]} & set(keys)]


def _make_pinning_keys(pins: CpuSelection) -> dict[str, Any]:
    return {"engine.cores": [pins.tester_cpu], "vnf.core": pins.forwarder_cpu}


def _make_breaking_keys(broken: BrokenRule, baseline: Config) -> dict[str, Any]:
    """Return the keys that break a rule; each of several VNFs gets as many flows as a single one."""
    keys = dict(broken.keys)
    if broken.rule.vnf_count > 1:
        keys["flow_count"] = baseline.flow_count * broken.rule.vnf_count
    return keys


def _load_config(request: RuleCostRequest, defaults: Mapping[str, Any], keys: Mapping[str, Any]) -> Config:
    """Load the configuration with keys that override the user's: CPUs, and those that break a rule."""
    return build_config(request.sources, {**request.overrides, **keys}, defaults)


def _make_plans(config: Config, cpus: Sequence[int]) -> tuple[Plan, ...]:
    return make_plans(config, cpus)


def _check(config: Config) -> None:
    if config.sut not in ("vnf-l2", "vnf-l3"):
        raise ConfigError(f"sut: {config.sut} cannot be placed on a chosen CPU; use vnf-l2 or vnf-l3")
    for key, is_set in (
        ("chains", config.chains > 1),
        ("lab", config.lab is not None),
        ("antagonist", config.antagonist.kind != "none"),
        ("frame_sizes", len(config.frame_sizes) > 1),
        ("rate", config.rate not in ("ndr", "pdr", "ndr_pdr")),
    ):
        if is_set:
            raise ConfigError(
                f"{key}: not supported, as costs are measured for one forwarder at one frame size; remove {key}"
            )


def _make_vm_defaults(vm: VmDescriptor | None) -> dict[str, Any]:
    """Return a table as large as the large pages of the VM, up to TABLE_MAX_BYTES."""
    if vm is None:
        return {}
    memory = vm.profiles[0].vcpu_sets[0].memory
    large_bytes = (memory.large_page_bytes or 0) * memory.large_page_count
    return {"vnf.table": min(large_bytes, TABLE_MAX_BYTES)} if large_bytes else {}


def _describe_baseline(config: Config, pins: CpuSelection) -> str:
    table = f", a table of {format_bytes(config.vnf.table)} in {config.vnf.pages} pages" if config.vnf.table else ""
    return f"{config.sut}: {pins.text}{table}, nothing else on these CPUs"


def find_means(host: HostDescriptor) -> HostMeans:
    """Detect the means of this machine to break rules."""
    return HostMeans(
        stress_ng=antagonist.is_installed(),
        large_pages=_explain_no_large_pages(host),
        steering=_explain_no_steering(),
    )


def _explain_no_steering() -> str:
    if not Path(RPS).exists():
        return "this kernel has no receive packet steering (CONFIG_RPS)"
    return "" if os.geteuid() == 0 else "only root can steer receive processing to a CPU"


def _explain_no_large_pages(host: HostDescriptor) -> str:
    pages = [each for node in host.resources.numa_nodes for each in node.memory.large_pages]
    if any((each.total_count.value or 0) > (each.used_count.value or 0) for each in pages if each.size_bytes == 2**21):
        return ""
    try:
        is_off = "[never]" in Path(THP).read_text(encoding="utf-8")
    except OSError:
        is_off = True
    return f"no large pages of 2 MiB are free, and transparent ones are off: echo madvise > {THP}" if is_off else ""
