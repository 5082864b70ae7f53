"""A search plan from as little as the highest load, for testers that bring a measurer of their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.search_plan import GOAL_ATTRIBUTE_SEARCHES, SearchPlan
from nodrop.model.validation_message import complaint
from nodrop.search.reason_text import load_text

GOALS: Mapping[str, float] = {"NDR": 0.0, "PDR": 0.005}
DEFAULTS: Mapping[str, Any] = {
    "initial_trial_duration_s": 1.0,
    "final_trial_duration_s": 30.0,
    "width_ratio": 0.005,
    "intermediate_phases": 2,
    "expansion_coefficient": 4.0,
    "search_duration_max_s": 600.0,
    "repeat_invalid": 0,
    "overhead_s": 0.5,
}
"""The inputs FD.io CSIT used. Source: draft-ietf-bmwg-mlrsearch-01 section 5.1.1, MLRsearch 0.4.0."""
DEFAULTS_OF: Mapping[AlgorithmName, Mapping[str, Any]] = {"mlrsearch-rfc9971": {"expansion_coefficient": 2.0}}
"""What a search has instead. Source: MLRsearch 1.2.1."""
SPAN = 1000.0
"""Highest load over lowest, where only the highest is given."""


def plan(
    *,
    max_load_pps: float,
    min_load_pps: float | None = None,
    goals: Mapping[str, float] | Iterable[Goal] = GOALS,
    algorithm: AlgorithmName = "nodrop",
    **options: Any,
) -> SearchPlan:
    """What to search for, ready for `nodrop.search.create`.

    Args:
        max_load_pps: highest load to try, over all directions together.
        min_load_pps: lowest load to try; a thousandth of the highest when not given.
        goals: label to loss ratio, or goals with attributes of their own.
        algorithm: the search by name; see `nodrop.search.ALGORITHMS`.
        options: any other field of `SearchPlan`; what is left out is in `DEFAULTS`. Without an initial trial duration
            it is at most the final one.

    Raises: ConfigError when something is missing, out of range or does not go together.
    """
    fields = {**DEFAULTS, **DEFAULTS_OF.get(algorithm, {}), **options}
    if "initial_trial_duration_s" not in options:
        fields["initial_trial_duration_s"] = min(DEFAULTS["initial_trial_duration_s"], fields["final_trial_duration_s"])
    try:
        asked = SearchPlan(
            algorithm=algorithm,
            goals=tuple(_goals(goals)),
            min_load_pps=max_load_pps / SPAN if min_load_pps is None else min_load_pps,
            max_load_pps=max_load_pps,
            **fields,
        )
    except ValidationError as error:
        raise ConfigError(complaint(error, "search")) from None
    _check_loads(asked)
    for goal in asked.goals:
        _check_heeded(goal, algorithm)
    _check_durations(asked)
    _check_labels(asked.goals)
    return asked


def _goals(goals: Mapping[str, float] | Iterable[Goal]) -> Iterable[Goal]:
    if isinstance(goals, Mapping):
        return [Goal(label=label, loss_ratio=ratio) for label, ratio in goals.items()]
    return goals


def _check_loads(asked: SearchPlan) -> None:
    if asked.min_load_pps >= asked.max_load_pps:
        raise ConfigError(
            f"search: loads from {load_text(asked.min_load_pps)} to {load_text(asked.max_load_pps)} asked, "
            "which leaves none between; make the highest load higher than the lowest"
        )


def _check_heeded(goal: Goal, algorithm: AlgorithmName) -> None:
    """Raises ConfigError for attributes that this search would pass over."""
    own = [name for name, value in goal.model_dump(exclude={"label", "loss_ratio"}).items() if value]
    if own and algorithm not in GOAL_ATTRIBUTE_SEARCHES:
        heeding = " or ".join(sorted(GOAL_ATTRIBUTE_SEARCHES, reverse=True))
        raise ConfigError(
            f"goal {goal.label}: {' and '.join(own)} asked, to the search {algorithm} a goal is a loss ratio alone; "
            f"leave it out, or search with {heeding}"
        )


def _check_durations(asked: SearchPlan) -> None:
    """Raises ConfigError unless initial trial <= final trial <= duration sum (RFC 9971 Search Goal)."""
    _check_order("search", asked.initial_trial_duration_s, asked.final_trial_duration_s)
    for goal in map(asked.complete, asked.goals):
        assert goal.initial_trial_duration_s and goal.final_trial_duration_s
        where = f"goal {goal.label}"
        _check_order(where, goal.initial_trial_duration_s, goal.final_trial_duration_s)
        if goal.duration_sum_s and goal.final_trial_duration_s > goal.duration_sum_s:
            raise ConfigError(
                f"{where}: a duration sum of {goal.duration_sum_s:g} s asked, one final trial lasts "
                f"{goal.final_trial_duration_s:g} s; make the duration sum at least as long"
            )


def _check_order(where: str, initial_s: float, final_s: float) -> None:
    if initial_s > final_s:
        raise ConfigError(
            f"{where}: initial trials of {initial_s:g} s asked, final ones last {final_s:g} s; "
            "make the final trial duration at least the initial one"
        )


def _check_labels(goals: tuple[Goal, ...]) -> None:
    labels = [goal.label for goal in goals]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ConfigError(f"goals: {' and '.join(twice)} asked, more than one goal has that label; name each its own")
