"""What was asked, resolved into what will be done: no `auto` and no null is left."""

import math
import os
from collections.abc import Callable, Sequence

from nodrop.config.nfvbench.kept import remarks
from nodrop.config.profiles import PROFILES
from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.goal import Goal
from nodrop.model.plan import LabPlan, LatencyPlan, LatencyPoint, Plan
from nodrop.model.result import RunResult
from nodrop.model.traffic import ReplayFound, ReplaySource
from nodrop.plan.backend import choose_backend, fit_lab, plan_engine
from nodrop.plan.capture import CheckFilter, plan_capture
from nodrop.plan.earlier import earlier_bounds
from nodrop.plan.lab import lab_warnings, private_lab, standing_lab
from nodrop.plan.neighbors import plan_neighbors
from nodrop.plan.replay import Inspect, find_replay
from nodrop.plan.search import plan_search
from nodrop.plan.shipping import plan_shipping
from nodrop.plan.sizes import frame_bytes_max
from nodrop.plan.traffic import plan_traffic

LINK_SPEED_BPS = 10_000_000_000
"""What a veth link reports as its speed."""
WIRE_OVERHEAD_BYTES = 20
"""Preamble, start of frame and gap between frames. Source: IEEE 802.3 section 4.4.2 (8 + 12 byte times)."""


def _no_labs(name: str) -> LabPlan:
    raise ConfigError(f"lab: {name} asked, labs cannot be looked up from here; leave it out")


def _no_results(wanted: str) -> RunResult:
    raise ConfigError(f"search.warm_start: {wanted} asked, results cannot be looked up from here; leave it out")


def _no_files(source: ReplaySource) -> ReplayFound:
    raise ConfigError(f"traffic.replay.file: {source.file} asked, files cannot be looked into from here; leave it out")


def _any_filter(_text: str, _section: str) -> None:
    """Filters are not tried here."""


def build(
    config: Config,
    find_lab: Callable[[str], LabPlan] = _no_labs,
    cpus: Sequence[int] | None = None,
    find_result: Callable[[str], RunResult] = _no_results,
    *,
    inspect: Inspect = _no_files,
    check_filter: CheckFilter = _any_filter,
) -> Plan:
    """Decide everything a configuration leaves open.

    Args:
        config: what was asked.
        find_lab: gives what the standing lab of a name was brought up from.
        cpus: CPUs nodrop may use; those of this process when not given.
        find_result: gives the stored result of a file, a run id or `latest`.
        inspect: gives what a capture file has to replay.
        check_filter: refuses a filter that cannot be used.

    Raises: ConfigError when values do not go together.
    """
    available = sorted(os.sched_getaffinity(0) if cpus is None else cpus)
    replayed = find_replay(config, inspect)
    largest = max(size.frame_bytes for size in replayed.found.sizes) if replayed else frame_bytes_max(config)
    lab = standing_lab(config, find_lab(config.lab), largest) if config.lab else private_lab(config, available, largest)
    traffic = plan_traffic(config, lab, replayed)
    backend = choose_backend(config, traffic)
    wanted = config.search.warm_start
    earlier = earlier_bounds(wanted, find_result(wanted), lab.sut_text, traffic) if wanted else ()
    ratios = traffic.direction_ratios.values()
    direction_count = math.ceil(1 / min(ratios) - 1e-9)
    search = plan_search(config, direction_count, line_rate_pps(traffic.frame_bytes) / max(ratios), earlier)
    return Plan(
        profile=config.profile,
        lab=lab if config.lab else fit_lab(lab, backend),
        standing_lab=config.lab,
        engine=plan_engine(config, lab, backend, available),
        traffic=traffic,
        neighbors=plan_neighbors(config, lab, traffic),
        search=search,
        latency=LatencyPlan(
            points=_latency_points(search.goals) if config.latency.enabled else (),
            duration_s=config.latency.trial_duration or PROFILES[config.profile].latency_trial_duration_s,
        ),
        drop_reasons=config.drop_reasons,
        capture=plan_capture(config, backend, lab, check_filter),
        results_dir=config.results_dir,
        ship=plan_shipping(config.ship),
        nfvbench=config.nfvbench,
        warnings=(*lab_warnings(lab), *remarks(config.nfvbench)),
    )


def line_rate_pps(frame_bytes: float, link_speed_bps: int = LINK_SPEED_BPS) -> float:
    """Frames per second that fill one direction of a link (RFC 1242 section 3.5, RFC 2544 section 20)."""
    return link_speed_bps / ((frame_bytes + WIRE_OVERHEAD_BYTES) * 8)


def _latency_points(goals: tuple[Goal, ...]) -> tuple[LatencyPoint, ...]:
    """Every goal's lower bound, and half of the one that allows the most loss."""
    at_goals = tuple(LatencyPoint(label=goal.label, goal_label=goal.label, load_ratio=1.0) for goal in goals)
    highest = max(goals, key=lambda goal: goal.loss_ratio).label
    return (*at_goals, LatencyPoint(label=f"50 % of {highest}", goal_label=highest, load_ratio=0.5))
