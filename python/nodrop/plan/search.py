"""The search of a plan: loads, durations, goals with every attribute filled in, its start and its expectations."""

import math
from collections.abc import Collection, Iterator
from typing import TypeVar

from nodrop.config.schema import Config, GoalConfig
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.expectation import Expectation, parse_expectation
from nodrop.model.goal import Goal
from nodrop.model.plan import LatencyPlan
from nodrop.model.profiles import (
    BACK_TO_BACK,
    DEFAULT_ALGORITHM,
    PRESCRIBED_MAX_S,
    PRESCRIBED_SEARCHES,
    PROFILES,
    TIME_LIMITED_SEARCHES,
    SearchProfile,
)
from nodrop.model.result import RunResult
from nodrop.model.search_plan import GOAL_ATTRIBUTE_SEARCHES, EarlierGoal, SearchPlan, check_goal_attributes
from nodrop.model.traffic import Traffic
from nodrop.rates import ROUNDING_TOLERANCE
from nodrop.units import format_ratio, format_seconds

ALGORITHM_OPTIONS = {
    "doublings": "doublings",
    "preceding_targets": "preceding_targets",
    "fail_fast": "fail_fast",
    "joint": "joint",
    "verify_trials": "verify_trial_count",
    "verify_lost_count": "verify_lost_count",
    "load_epsilon": "load_epsilon_ratio",
    "trial_count": "trial_count",
    "load_step": "load_step_ratio",
    "burst_max": "burst_max_s",
    "burst_rest": "burst_rest_s",
    "burst_repeats": "burst_repeat_count",
    "initial_count": "initial_count",
    "duration_increment": "duration_increment_s",
}
"""Keys that concern a single search, and the plan's names for them; what is not written has the plan's default."""
BURST_RETRIES = 100
"""Retries of an invalid burst: most take milliseconds, in which any pause of the tester is too long."""
RATIOS = frozenset({"exceed_ratio", "width"})
"""Attributes of a goal that are ratios; the others are durations."""

T = TypeVar("T")


def plan_search(
    config: Config, stream_count: int, line_rate_pps: float, earlier: tuple[EarlierGoal, ...]
) -> SearchPlan:
    """How to search, with nothing left open.

    Args:
        config: the configuration.
        stream_count: frames of which at least one goes each way, by the directions' shares.
        line_rate_pps: of all directions together.
        earlier: what to start from.

    Raises: ConfigError when values do not go together.
    """
    requested, profile = config.search, PROFILES[config.profile]
    algorithm = _default_to(requested.algorithm, profile.algorithm)
    _check_used(config, algorithm)
    final_s = _default_to(requested.final_trial_duration, profile.final_trial_duration_s)
    longest_s = PRESCRIBED_MAX_S if algorithm in PRESCRIBED_SEARCHES else profile.search_duration_max_s
    options = {
        name: getattr(requested, key) for key, name in ALGORITHM_OPTIONS.items() if getattr(requested, key) is not None
    }
    plan = SearchPlan(
        algorithm=algorithm,
        goals=tuple(_build_goals(config, profile, algorithm)),
        min_load_pps=1.0,
        max_load_pps=_default_to(requested.max_load, line_rate_pps),
        initial_trial_duration_s=_default_to(
            requested.initial_trial_duration, min(profile.initial_trial_duration_s, final_s)
        ),
        final_trial_duration_s=final_s,
        width_ratio=_default_to(requested.width, profile.width_ratio),
        intermediate_phases=_default_to(requested.intermediate_phases, profile.intermediate_phases),
        expansion_coefficient=_default_to(requested.expansion_coefficient, profile.expansion_coefficient),
        search_duration_max_s=_default_to(requested.budget, _default_to(requested.max_duration, longest_s)),
        budgeted=requested.budget is not None or algorithm in TIME_LIMITED_SEARCHES,
        repeat_invalid=_default_to(
            requested.repeat_invalid, BURST_RETRIES if algorithm == BACK_TO_BACK else profile.repeat_invalid
        ),
        excludes_disturbed=_excludes_disturbed(config, algorithm),
        overhead_s=profile.overhead_s + config.warm_up,
        earlier=earlier,
        **options,
    )
    plan = plan.replace(goals=tuple(plan.complete(goal) for goal in plan.goals))
    lowest_pps = max(compute_lowest_load_pps(goal, stream_count) for goal in plan.goals)
    return _check(config, plan.replace(min_load_pps=_default_to(requested.min_load, lowest_pps)))


def compute_lowest_load_pps(goal: Goal, stream_count: int) -> float:
    """Return the lowest load at which one width is a whole frame of each stream, even in the shortest trials.

    Below it, counting whole frames decides where bounds lie. FD.io CSIT stops at 2 x 9001 frames per second, which
    would hide slow software paths.
    """
    assert goal.initial_trial_duration_s and goal.width_ratio
    return float(math.ceil(stream_count / (goal.initial_trial_duration_s * goal.width_ratio)))


def _excludes_disturbed(config: Config, algorithm: AlgorithmName) -> bool:
    """Return whether disturbed time is left out: work beside a SUT of unknown processes may be the SUT's."""
    if config.search.disturbed_time is not None:
        return config.search.disturbed_time == "exclude"
    is_known = config.sut not in ("ext", "openstack") or bool(config.sut_pids or config.sut_cgroups)
    return algorithm == DEFAULT_ALGORITHM and is_known and config.generator == "engine"


def _build_goals(config: Config, profile: SearchProfile, algorithm: AlgorithmName) -> Iterator[Goal]:
    """Yield every goal, with its own attributes or those of the entire search."""
    exceed_ratio = profile.exceed_ratio if algorithm in GOAL_ATTRIBUTE_SEARCHES else 0.0
    for label, value in config.goals.items():
        attributes = _build_attributes(value)
        final_s = (
            attributes.final_trial_duration or config.search.final_trial_duration or profile.final_trial_duration_s
        )
        least_s = profile.duration_sum_s if algorithm in GOAL_ATTRIBUTE_SEARCHES else 0.0
        yield Goal(
            label=label,
            loss_ratio=attributes.loss_ratio,
            exceed_ratio=_default_to(attributes.exceed_ratio, _default_to(config.search.exceed_ratio, exceed_ratio)),
            initial_trial_duration_s=attributes.initial_trial_duration,
            final_trial_duration_s=attributes.final_trial_duration,
            duration_sum_s=_default_to(
                attributes.duration_sum, _default_to(config.search.duration_sum, max(least_s, final_s))
            ),
            width_ratio=attributes.width,
        )


def _build_attributes(value: float | GoalConfig) -> GoalConfig:
    return value if isinstance(value, GoalConfig) else GoalConfig(loss_ratio=value)


def _check_used(config: Config, algorithm: AlgorithmName) -> None:
    """Raise ConfigError for keys that would change what a result means, and that this search ignores."""
    if config.search.warm_start and algorithm != "nodrop":
        raise ConfigError(
            f"search.warm_start: {config.search.warm_start} has no effect, the search {algorithm} always starts from "
            "nothing; remove it or set search.algorithm to nodrop"
        )
    check_goal_attributes(algorithm, dict(_list_goal_keys(config)))


def _list_goal_keys(config: Config) -> Iterator[tuple[str, str]]:
    """Yield path and value of every key that sets an attribute of goals in addition to the loss ratio."""
    if config.search.exceed_ratio:
        yield "search.exceed_ratio", format_ratio(config.search.exceed_ratio)
    if config.search.duration_sum:
        yield "search.duration_sum", format_seconds(config.search.duration_sum)
    for label, goal in config.goals.items():
        for key, value in _build_attributes(goal).model_dump(exclude_none=True, exclude={"loss_ratio"}).items():
            text = format_ratio(value) if key in RATIOS else format_seconds(value)
            yield f"goals.{label}.{key}", text


def _check(config: Config, plan: SearchPlan) -> SearchPlan:
    """Return the plan. Raises ConfigError for values that contradict each other."""

    def path_of(label: str, key: str) -> str:
        return f"goals.{label}.{key}" if getattr(_build_attributes(config.goals[label]), key) else f"search.{key}"

    plan.check(path_of)
    return plan


def _default_to(value: T | None, default: T) -> T:
    return default if value is None else value


def check_expectations(config: Config, goals: Collection[Goal], latency: LatencyPlan, *, is_fixed: bool) -> None:
    """Check that the run measures the figure of every expectation. Raises ConfigError."""
    labels = [goal.label.upper() for goal in goals]
    for expectation in map(parse_expectation, config.expect):
        problem = _find_problem(expectation, labels, latency, is_fixed)
        if problem:
            raise ConfigError(f"expect: {problem} ({expectation.text})")


def _find_problem(expectation: Expectation, labels: list[str], latency: LatencyPlan, is_fixed: bool) -> str:
    """Return why the run cannot decide an expectation; empty if it can."""
    if is_fixed:
        if expectation.figure == "load":
            return "a trial at a fixed rate finds no goal; write loss<=0.1% or p99<50us"
        return "a trial at a fixed rate has one load; write p99<50us" if expectation.point is not None else ""
    if expectation.figure == "loss":
        return "a search has no loss of its own; write the goal's rate, e.g. ndr>5Mpps, or a fixed --rate"
    if expectation.figure == "load":
        return "" if expectation.name in labels else f"no such goal; goals are {', '.join(labels)}"
    points = latency.points
    if any(point.is_at(expectation.point) for point in points):
        return ""
    loads = [each.goal_label if each.load_ratio == 1.0 else f"{each.load_ratio:.0%}" for each in points]
    measured = f"write one of @{', @'.join(loads)}" if loads else "remove --no-latency"
    return f"no latency is measured at that load; {measured}"


def check_bursts(config: Config, traffic: Traffic, key_of_bursts: str) -> None:
    """Check that the tester can send the same burst in each direction. Raises ConfigError.

    Args:
        config: the configuration.
        traffic: the traffic.
        key_of_bursts: the key that requires bursts, and its value if it has others.
    """
    ratios = traffic.direction_ratios.values()
    sizes = {size.frame_bytes for stream in traffic.streams for size in stream.sizes}
    for is_wrong, key, value, remedy in (
        (
            config.generator != "engine",
            "generator",
            config.generator,
            "only nodrop's engine times bursts; write engine",
        ),
        (traffic.pattern.kind != "flat", "pattern.kind", traffic.pattern.kind, "a burst has a steady rate; write flat"),
        (
            config.engine.backend == "xdp_live",
            "engine.backend",
            "xdp_live",
            "an XDP program cannot time bursts; write auto or af_packet",
        ),
        (
            max(ratios) > min(ratios) * (1 + ROUNDING_TOLERANCE),
            "traffic",
            " and ".join(format_ratio(ratio) for ratio in ratios),
            "the directions have unequal loads, but each sends the same burst; give them equal loads, or write "
            "bidirectional: false",
        ),
        (
            len(sizes) > 1,
            "frame_sizes",
            f"{len(sizes)} sizes",
            "a burst has frames of one size (RFC 9004 section 5); write one size instead of a mix",
        ),
    ):
        if is_wrong:
            raise ConfigError(f"{key}: {value} does not fit {key_of_bursts}: {remedy}")


def read_warm_start(name: str, result: RunResult, sut: str, traffic: Traffic) -> tuple[EarlierGoal, ...]:
    """Return the bounds of every goal that has both.

    Args:
        name: the user's name of the result.
        result: the result.
        sut, traffic: what is measured now.

    Raises: ConfigError if the result measured something else, or has no bounds.
    """
    then, now = _read_text(result.plan.lab.sut_text, result.plan.traffic), _read_text(sut, traffic)
    if (result.plan.lab.sut_text, result.plan.traffic) != (sut, traffic):
        other = f"it measured {then}, this run measures {now}" if then != now else "its frames have other addresses"
        raise ConfigError(
            f"search.warm_start: another SUT or traffic ({name}: {other}); name a result of the same SUT and traffic, "
            "or remove it"
        )
    bounds = tuple(
        EarlierGoal(
            loss_ratio=goal.goal.loss_ratio,
            final_trial_duration_s=goal.goal.final_trial_duration_s or result.plan.search.final_trial_duration_s,
            lower_pps=goal.lower.load_pps,
            upper_pps=goal.upper.load_pps,
        )
        for goal in result.goals
        if goal.lower and goal.upper
    )
    if not bounds:
        raise ConfigError(f"search.warm_start: no goal has both bounds ({name}); name another result, or remove it")
    return bounds


def _read_text(sut: str, traffic: Traffic) -> str:
    ways = "both ways" if len(traffic.direction_ratios) > 1 else "one way"
    return f"{sut} with {traffic.frame_bytes:g}-byte frames {ways} in {traffic.streams[0].flow_count} flows each way"
