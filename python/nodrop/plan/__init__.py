"""Turns a configuration into a plan: every `auto` and null resolved."""

import json
import math
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nodrop.config.nfvbench.untranslated import list_translation_notes
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import collect_changes
from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.lab_plan import LabPlan
from nodrop.model.plan import LatencyPlan, LatencyPoint, Plan
from nodrop.model.profiles import BACK_TO_BACK, PRESCRIBED_SEARCHES, PROFILES
from nodrop.model.search_plan import SearchPlan
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan
from nodrop.plan.backend import choose_backend, fit_lab, plan_engine, use_packet_sockets
from nodrop.plan.bras import CORE_EXTRA_BYTES, use_workload
from nodrop.plan.cloud import plan_cloud
from nodrop.plan.fixed_rate import plan_events, plan_fixed, plan_link_speed, select_goals
from nodrop.plan.frame_sizes import find_max_frame_bytes, name_frame_size, require_one_size, split_sizes
from nodrop.plan.lab import check_lab, check_persistent_lab, list_lab_warnings, plan_private_lab
from nodrop.plan.neighbors import plan_neighbors
from nodrop.plan.pcap_files import ReplayInput, find_replay, plan_capture
from nodrop.plan.resolvers import NO_RESOLVERS, Resolvers, find_tester_ports
from nodrop.plan.search import check_bursts, check_expectations, plan_search, read_warm_start
from nodrop.plan.shipping import plan_shipping
from nodrop.plan.time_allotment import list_budget_warnings
from nodrop.plan.traffic import list_traffic_warnings, plan_traffic
from nodrop.plan.trex import list_trex_warnings, plan_trex
from nodrop.rates import SearchedRate, compute_line_rate_pps, parse_rate
from nodrop.units import format_ratio

BOOT_S = 200.0
"""Time for the VMs of a cloud to boot, as in NFVbench."""
COPIED_KEYS = (
    "profile",
    "path_check",
    "no_traffic",
    "label",
    "user_info",
    "nfvbench",
    "drop_reasons",
    "expect",
    "results_dir",
    "results_index",
)
"""Keys that the plan copies unchanged, under the same names."""
NOT_REPEATED_KEYS = frozenset({"results_dir", "results_index", "ship", "nfvbench", "repeat"})
"""Keys that do not affect a repeated run: destinations, translated keys, and the number of runs."""


class _Path(NamedTuple):
    """The path under test, and the tester at its ends."""

    cpus: Sequence[int]
    """CPUs nodrop may use."""
    trex: TrexPlan | None
    lab: LabPlan
    replay: ReplayInput | None
    link_speed_bps: int
    warnings: Sequence[str]


def build_plan(config: Config, resolvers: Resolvers = NO_RESOLVERS, cpus: Sequence[int] | None = None) -> Plan:
    """Build the plan of one run.

    Args:
        config: the configuration, with one frame size.
        resolvers: look up what the configuration only names.
        cpus: CPUs nodrop may use, in order: the tester has the first, the SUT the last; by default those of this
            process.

    Raises: ConfigError if values contradict each other.
    """
    requested = require_one_size(config)
    config = select_goals(use_workload(requested))
    path = _plan_path(config, resolvers, sorted(os.sched_getaffinity(0)) if cpus is None else cpus)
    traffic = plan_traffic(config, path.lab, path.replay)
    fixed = plan_fixed(config, traffic, path.link_speed_bps)
    if fixed and fixed.is_burst:
        check_bursts(config, traffic, "burst")
    backend = choose_backend(
        config,
        path.lab,
        traffic,
        fixed=fixed,
        available=path.cpus,
        supports_xdp_live=resolvers.supports_xdp_live,
    )
    if not config.lab:
        path = path._replace(lab=fit_lab(config, path.lab, backend))
    search = _plan_search(config, path, traffic, resolvers)
    finds_loads = not fixed and not config.no_traffic and search.algorithm not in PRESCRIBED_SEARCHES
    latency = _plan_latency(config, search.goals, is_searching=finds_loads)
    check_expectations(config, search.goals, latency, is_fixed=bool(fixed))
    plan = Plan(
        **{key: getattr(config, key) for key in COPIED_KEYS},
        frame_size=name_frame_size(config),
        fixed=fixed,
        events=plan_events(config, fixed),
        interval_s=config.interval,
        percentiles=config.latency.percentiles,
        link_speed_bps=path.link_speed_bps,
        path_check_timeout_s=_compute_path_check_timeout_s(config),
        repeat_count=config.repeat,
        asked=_collect_repeatable_keys(requested),
        lab=path.lab,
        standing_lab=config.lab,
        cloud=plan_cloud(config, path.lab, resolvers.read_flavor),
        trex=path.trex,
        engine=plan_engine(config, path.lab, backend, path.cpus),
        traffic=traffic,
        neighbors=plan_neighbors(config, path.lab, traffic),
        search=search,
        budget_s=None if fixed or config.no_traffic else config.search.budget,
        latency=latency,
        capture=plan_capture(config, backend, path.lab, resolvers.check_filter),
        ship=plan_shipping(config.ship),
        warnings=tuple(_list_warnings(config, path, traffic)),
    )
    return plan.with_warnings(tuple(list_budget_warnings(plan)))


def build_each(
    config: Config, resolvers: Resolvers = NO_RESOLVERS, cpus: Sequence[int] | None = None
) -> tuple[Plan, ...]:
    """Build a plan for every frame size, in order, and all of them for every repeat; see `build_plan`.

    All sizes are sent by one back end, as they are compared.
    """
    configs = split_sizes(config)
    if config.no_traffic:  # all sizes and repeats have the same path
        configs = tuple(each.replace(repeat=1) for each in configs[:1])
    plans = [build_plan(each, resolvers, cpus) for each in configs]
    if len({plan.engine.backend for plan in plans}) > 1:
        plans = [build_plan(use_packet_sockets(each), resolvers, cpus) for each in configs]
    return tuple(plan.replace(repeat=repeat) for repeat in range(1, plans[0].repeat_count + 1) for plan in plans)


def _plan_path(config: Config, resolvers: Resolvers, cpus: Sequence[int]) -> _Path:
    if not config.lab:
        check_lab(config)
    trex = plan_trex(config)
    tester = find_tester_ports(config, trex, resolvers)
    link_speed_bps, speed_warnings = plan_link_speed(config, tester)
    replay = find_replay(config, resolvers.inspect_replay)
    largest = max(size.frame_bytes for size in replay.contents.sizes) if replay else find_max_frame_bytes(config)
    largest += CORE_EXTRA_BYTES if config.workload == "bras" else 0
    if config.lab:
        lab = check_persistent_lab(config, resolvers.find_lab(config.lab), largest)
    else:
        lab = plan_private_lab(config, cpus, largest, tester)
    return _Path(cpus, trex, lab, replay, link_speed_bps, speed_warnings)


def _plan_search(config: Config, path: _Path, traffic: Traffic, resolvers: Resolvers) -> SearchPlan:
    name = config.search.warm_start
    earlier = read_warm_start(name, resolvers.find_result(name), path.lab.sut_text, traffic) if name else ()
    ratios = traffic.direction_ratios.values()
    max_load_pps = compute_line_rate_pps(traffic.largest_frame_bytes, path.link_speed_bps) / max(ratios)
    plan = plan_search(config, math.ceil(1 / min(ratios) - 1e-9), max_load_pps, earlier)
    if plan.algorithm != BACK_TO_BACK:
        return plan
    check_bursts(config, traffic, f"search.algorithm {BACK_TO_BACK}")
    return plan.replace(direction_count=len(ratios))


def _plan_latency(config: Config, goals: tuple[Goal, ...], *, is_searching: bool) -> LatencyPlan:
    rate = parse_rate(config.rate)
    if is_searching and isinstance(rate, SearchedRate) and rate.load_ratio:
        if not config.latency.enabled:
            raise ConfigError(
                f"rate: {config.rate} measures the latency at a share of a goal, but latency.enabled is false; "
                "write a rate without a share, or remove latency.enabled or --no-latency"
            )
        (goal,) = goals
        point = LatencyPoint(
            label=f"{format_ratio(rate.load_ratio)} of {goal.label}", goal_label=goal.label, load_ratio=rate.load_ratio
        )
        return LatencyPlan(points=(point,), duration_s=config.latency.trial_duration or config.duration)
    return LatencyPlan(
        points=_list_latency_points(goals) if config.latency.enabled and is_searching else (),
        duration_s=config.latency.trial_duration or PROFILES[config.profile].latency_trial_duration_s,
    )


def _list_latency_points(goals: tuple[Goal, ...]) -> tuple[LatencyPoint, ...]:
    """Return the lower bound of every goal, and half of the bound that allows the most loss."""
    at_goals = tuple(LatencyPoint(label=goal.label, goal_label=goal.label, load_ratio=1.0) for goal in goals)
    highest = max(goals, key=lambda goal: goal.loss_ratio).label
    return (*at_goals, LatencyPoint(label=f"50 % of {highest}", goal_label=highest, load_ratio=0.5))


def _compute_path_check_timeout_s(config: Config) -> float:
    if config.path_check_timeout is not None:
        return config.path_check_timeout
    return BOOT_S if config.sut == "openstack" else 0.0


def _collect_repeatable_keys(config: Config) -> dict[str, object]:
    """Return the keys that repeat a run on any machine, without its destinations."""
    keys = {key: value for key, value in collect_changes(config).items() if key not in NOT_REPEATED_KEYS}
    return dict(json.loads(json.dumps(keys)))  # equal to what is read back from the result's file


def _list_warnings(config: Config, path: _Path, traffic: Traffic) -> Iterator[str]:
    yield from list_lab_warnings(path.lab)
    yield from list_traffic_warnings(config, traffic)
    yield from path.warnings
    yield from list_trex_warnings(config, path.trex)
    yield from list_translation_notes(config.nfvbench)
