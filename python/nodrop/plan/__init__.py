"""What was asked, resolved into what will be done: no `auto` and no null is left."""

import json
import math
import os
from collections.abc import Sequence

from nodrop.config.nfvbench.untranslated import translation_notes
from nodrop.config.profiles import PROFILES
from nodrop.config.schema import Config
from nodrop.config.yaml_writer import collect_changes
from nodrop.model.goal import Goal
from nodrop.model.plan import LatencyPlan, LatencyPoint, Plan
from nodrop.plan.backend import choose_backend, fit_lab, plan_engine
from nodrop.plan.capture import plan_capture
from nodrop.plan.cloud import plan_cloud
from nodrop.plan.fixed_rate import plan_fixed, plan_link_speed, select_goals
from nodrop.plan.frame_sizes import find_max_frame_bytes, name_frame_size, require_one_size, split_sizes
from nodrop.plan.lab import check_lab, check_persistent_lab, lab_warnings, plan_private_lab
from nodrop.plan.neighbors import plan_neighbors
from nodrop.plan.pcap_replay import find_replay
from nodrop.plan.resolvers import NO_RESOLVERS, Resolvers
from nodrop.plan.search import plan_search
from nodrop.plan.shipping import plan_shipping
from nodrop.plan.tester_ports import find_tester_ports
from nodrop.plan.traffic import plan_traffic, traffic_warnings
from nodrop.plan.trex import plan_trex, trex_warnings
from nodrop.plan.warm_start import read_warm_start
from nodrop.rates import line_rate_pps

BOOT_S = 200.0
"""Time for the VMs of a cloud to boot; NFVbench's."""
NOT_REPEATED_KEYS = frozenset({"results_dir", "results_index", "ship", "nfvbench", "repeat"})
"""Keys that say where results go, what was translated into nodrop's own keys, and how many runs there are."""


def build(config: Config, lookups: Resolvers = NO_RESOLVERS, cpus: Sequence[int] | None = None) -> Plan:
    """Decide everything a configuration leaves open.

    Args:
        config: what was asked.
        lookups: find what it only names.
        cpus: CPUs nodrop may use; those of this process when not given.

    Raises: ConfigError when values do not go together.
    """
    asked = require_one_size(config)
    config = select_goals(asked)
    if not config.lab:
        check_lab(config)
    trex = plan_trex(config)
    tester = find_tester_ports(config, trex, lookups)
    link_speed_bps, speed_warnings = plan_link_speed(config, tester)
    available = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    replayed = find_replay(config, lookups.inspect)
    largest = max(size.frame_bytes for size in replayed.found.sizes) if replayed else find_max_frame_bytes(config)
    if config.lab:
        lab = check_persistent_lab(config, lookups.find_lab(config.lab), largest)
    else:
        lab = plan_private_lab(config, available, largest, tester)
    traffic = plan_traffic(config, lab, replayed)
    backend = choose_backend(config, traffic)
    wanted = config.search.warm_start
    earlier = read_warm_start(wanted, lookups.find_result(wanted), lab.sut_text, traffic) if wanted else ()
    ratios = traffic.direction_ratios.values()
    direction_count = math.ceil(1 / min(ratios) - 1e-9)
    search = plan_search(
        config, direction_count, line_rate_pps(traffic.frame_bytes, link_speed_bps) / max(ratios), earlier
    )
    fixed = plan_fixed(config, traffic, link_speed_bps)
    is_searching = not fixed and not config.no_traffic
    return Plan(
        profile=config.profile,
        frame_size=name_frame_size(config),
        fixed=fixed,
        interval_s=config.interval,
        percentiles=config.latency.percentiles,
        link_speed_bps=link_speed_bps,
        path_check=config.path_check,
        path_check_timeout_s=_path_check_timeout_s(config),
        no_traffic=config.no_traffic,
        repeat_count=config.repeat,
        label=config.label,
        user_info=config.user_info,
        nfvbench=config.nfvbench,
        asked=_repeatable(asked),
        lab=lab if config.lab else fit_lab(lab, backend),
        standing_lab=config.lab,
        cloud=plan_cloud(config, lab, lookups.read_flavor),
        trex=trex,
        engine=plan_engine(config, lab, backend, available),
        traffic=traffic,
        neighbors=plan_neighbors(config, lab, traffic),
        search=search,
        latency=LatencyPlan(
            points=_latency_points(search.goals) if config.latency.enabled and is_searching else (),
            duration_s=config.latency.trial_duration or PROFILES[config.profile].latency_trial_duration_s,
        ),
        drop_reasons=config.drop_reasons,
        capture=plan_capture(config, backend, lab, lookups.check_filter),
        results_dir=config.results_dir,
        results_index=config.results_index,
        ship=plan_shipping(config.ship),
        warnings=(
            *lab_warnings(lab),
            *traffic_warnings(config, traffic),
            *speed_warnings,
            *trex_warnings(config, trex),
            *translation_notes(config.nfvbench),
        ),
    )


def _path_check_timeout_s(config: Config) -> float:
    """As asked; VMs of a cloud need time to boot."""
    asked = config.path_check_timeout
    return asked if asked is not None else BOOT_S if config.sut == "openstack" else 0.0


def build_each(
    config: Config, lookups: Resolvers = NO_RESOLVERS, cpus: Sequence[int] | None = None
) -> tuple[Plan, ...]:
    """A plan for every frame size that was asked for, in order, one where there are none, and all of them as often as
    repeats were asked for; otherwise as `build`.
    """
    configs = split_sizes(config)
    if config.no_traffic:  # the path is the same for all sizes, and each time
        configs = tuple(each.model_copy(update={"repeat": 1}) for each in configs[:1])
    plans = [build(each, lookups, cpus) for each in configs]
    return tuple(
        plan.model_copy(update={"repeat": repeat}) for repeat in range(1, plans[0].repeat_count + 1) for plan in plans
    )


def _repeatable(config: Config) -> dict[str, object]:
    """What asks for the same run again, wherever that is: not where results go, nor who is told of them."""
    asked = {key: value for key, value in collect_changes(config).items() if key not in NOT_REPEATED_KEYS}
    return dict(json.loads(json.dumps(asked)))  # as it will be read from the result's file


def _latency_points(goals: tuple[Goal, ...]) -> tuple[LatencyPoint, ...]:
    """Every goal's lower bound, and half of the one that allows the most loss."""
    at_goals = tuple(LatencyPoint(label=goal.label, goal_label=goal.label, load_ratio=1.0) for goal in goals)
    highest = max(goals, key=lambda goal: goal.loss_ratio).label
    return (*at_goals, LatencyPoint(label=f"50 % of {highest}", goal_label=highest, load_ratio=0.5))
