"""The search of a plan: loads, durations, and goals with every attribute filled in."""

import itertools
import math
from collections.abc import Iterator
from typing import TypeVar

from nodrop.config.profiles import PROFILES, TIME_LIMITED_SEARCHES, Profile
from nodrop.config.schema import Config, GoalConfig
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.search_plan import GOAL_ATTRIBUTE_SEARCHES, EarlierGoal, SearchPlan
from nodrop.units import format_pps, format_ratio, format_seconds

ALGORITHM_OPTIONS = {
    "doublings": "doublings",
    "preceding_targets": "preceding_targets",
    "fail_fast": "fail_fast",
    "joint": "joint",
    "verify_trials": "verify_trial_count",
    "verify_lost_count": "verify_lost_count",
    "load_epsilon": "load_epsilon_ratio",
    "trial_count": "trial_count",
    "initial_count": "initial_count",
    "duration_increment": "duration_increment_s",
}
"""Keys that concern a single search, and the plan's names for them; what is not written has the plan's default."""
DURATIONS = ("initial_trial_duration", "final_trial_duration", "duration_sum")
"""Each at most the next."""

T = TypeVar("T")


def plan_search(
    config: Config, stream_count: int, line_rate_pps: float, earlier: tuple[EarlierGoal, ...]
) -> SearchPlan:
    """How to search, with nothing left open.

    Args:
        config: what was asked.
        stream_count: frames of which at least one goes each way, by the directions' shares.
        line_rate_pps: of all directions together.
        earlier: what to start from.

    Raises: ConfigError when values do not go together.
    """
    asked, profile = config.search, PROFILES[config.profile]
    algorithm = _or(asked.algorithm, profile.algorithm)
    _check_heeded(config, algorithm)
    final_s = _or(asked.final_trial_duration, profile.final_trial_duration_s)
    options = {name: getattr(asked, key) for key, name in ALGORITHM_OPTIONS.items() if getattr(asked, key) is not None}
    plan = SearchPlan(
        algorithm=algorithm,
        goals=tuple(_goals(config, profile, algorithm)),
        min_load_pps=1.0,
        max_load_pps=_or(asked.max_load, line_rate_pps),
        initial_trial_duration_s=_or(asked.initial_trial_duration, min(profile.initial_trial_duration_s, final_s)),
        final_trial_duration_s=final_s,
        width_ratio=_or(asked.width, profile.width_ratio),
        intermediate_phases=_or(asked.intermediate_phases, profile.intermediate_phases),
        expansion_coefficient=_or(asked.expansion_coefficient, profile.expansion_coefficient),
        search_duration_max_s=_or(asked.budget, _or(asked.max_duration, profile.search_duration_max_s)),
        budgeted=asked.budget is not None or algorithm in TIME_LIMITED_SEARCHES,
        repeat_invalid=_or(asked.repeat_invalid, profile.repeat_invalid),
        overhead_s=profile.overhead_s,
        earlier=earlier,
        **options,
    )
    plan = plan.model_copy(update={"goals": tuple(plan.complete(goal) for goal in plan.goals)})
    _check_durations(config, plan)
    lowest_pps = max(lowest_load_pps(goal, stream_count) for goal in plan.goals)
    return _within_loads(plan.model_copy(update={"min_load_pps": _or(asked.min_load, lowest_pps)}))


def lowest_load_pps(goal: Goal, stream_count: int) -> float:
    """The lowest load at which one width is a whole frame of each stream, even in the shortest trials.

    Below it, counting whole frames decides where bounds lie. FD.io CSIT stops at 2 x 9001 frames per second, which
    would hide slow software paths.
    """
    assert goal.initial_trial_duration_s and goal.width_ratio
    return float(math.ceil(stream_count / (goal.initial_trial_duration_s * goal.width_ratio)))


def _goals(config: Config, profile: Profile, algorithm: AlgorithmName) -> Iterator[Goal]:
    """Every goal with what it has of its own and what the search gives to all."""
    exceed_ratio = profile.exceed_ratio if algorithm in GOAL_ATTRIBUTE_SEARCHES else 0.0
    for label, written in config.goals.items():
        own = _attributes(written)
        final_s = own.final_trial_duration or config.search.final_trial_duration or profile.final_trial_duration_s
        least_s = profile.duration_sum_s if algorithm in GOAL_ATTRIBUTE_SEARCHES else 0.0
        yield Goal(
            label=label,
            loss_ratio=own.loss_ratio,
            exceed_ratio=_or(own.exceed_ratio, _or(config.search.exceed_ratio, exceed_ratio)),
            initial_trial_duration_s=own.initial_trial_duration,
            final_trial_duration_s=own.final_trial_duration,
            duration_sum_s=_or(own.duration_sum, _or(config.search.duration_sum, max(least_s, final_s))),
            width_ratio=own.width,
        )


def _attributes(written: float | GoalConfig) -> GoalConfig:
    return written if isinstance(written, GoalConfig) else GoalConfig(loss_ratio=written)


def _check_heeded(config: Config, algorithm: AlgorithmName) -> None:
    """Raises ConfigError for what would change what a result means, and this search would pass over."""
    heeding = " or ".join(sorted(GOAL_ATTRIBUTE_SEARCHES, reverse=True))
    if config.search.warm_start and algorithm != "nodrop":
        raise ConfigError(
            f"search.warm_start: {config.search.warm_start} asked, the search {algorithm} always starts from nothing; "
            "leave it out, or search with nodrop (search.algorithm)"
        )
    if algorithm in GOAL_ATTRIBUTE_SEARCHES:
        return
    exceed_ratio, duration_sum_s = config.search.exceed_ratio, config.search.duration_sum
    for key, asked in (
        ("exceed_ratio", exceed_ratio and format_ratio(exceed_ratio)),
        ("duration_sum", duration_sum_s and format_seconds(duration_sum_s)),
    ):
        if asked:
            raise ConfigError(
                f"search.{key}: {asked} asked, the search {algorithm} knows none; "
                f"leave it out, or search with {heeding} (search.algorithm)"
            )
    for label, written in config.goals.items():
        own = _attributes(written).model_dump(exclude_none=True, exclude={"loss_ratio"})
        if own:
            raise ConfigError(
                f"goals.{label}: {' and '.join(own)} asked, to the search {algorithm} a goal is a loss ratio alone; "
                f"write these under search:, or search with {heeding} (search.algorithm)"
            )


def _check_durations(config: Config, plan: SearchPlan) -> None:
    """Raises ConfigError unless initial trial <= final trial <= duration sum (RFC 9971 Search Goal)."""
    initial_s, final_s = plan.initial_trial_duration_s, plan.final_trial_duration_s
    _check_order("search.initial_trial_duration", initial_s, "search.final_trial_duration", final_s)
    for goal in plan.goals:
        own = _attributes(config.goals[goal.label])
        for shorter, longer in itertools.pairwise(DURATIONS):
            keys = [f"goals.{goal.label}.{key}" if getattr(own, key) else f"search.{key}" for key in (shorter, longer)]
            _check_order(keys[0], getattr(goal, f"{shorter}_s"), keys[1], getattr(goal, f"{longer}_s"))


def _check_order(shorter: str, shorter_s: float, longer: str, longer_s: float) -> None:
    if shorter_s > longer_s:
        raise ConfigError(
            f"{shorter}: {format_seconds(shorter_s)} asked, {longer} is {format_seconds(longer_s)}; "
            f"make {longer.rpartition('.')[2]} at least as long"
        )


def _within_loads(plan: SearchPlan) -> SearchPlan:
    if plan.min_load_pps >= plan.max_load_pps:
        raise ConfigError(
            f"search.max_load: {format_pps(plan.max_load_pps)} asked, search.min_load is "
            f"{format_pps(plan.min_load_pps)}; make the highest load higher than the lowest"
        )
    return plan


def _or(asked: T | None, default: T) -> T:
    return default if asked is None else asked
