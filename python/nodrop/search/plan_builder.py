"""Search plans from as little as the highest load, for testers that bring their own measurer."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.profiles import PROFILES
from nodrop.model.search_plan import SearchPlan, check_goal_attributes

GOALS: Mapping[str, float] = {"NDR": 0.0, "PDR": 0.005}
PROFILE_FIELDS = (
    "initial_trial_duration_s",
    "final_trial_duration_s",
    "width_ratio",
    "intermediate_phases",
    "expansion_coefficient",
    "search_duration_max_s",
    "overhead_s",
)
DEFAULTS: Mapping[str, Any] = {
    "repeat_invalid": 0,
    **{name: getattr(PROFILES["standard"], name) for name in PROFILE_FIELDS},
}
"""The profile `standard`; a tester that brings its own measurer retries invalid trials itself."""
DEFAULTS_OF: Mapping[AlgorithmName, Mapping[str, Any]] = {
    "mlrsearch-rfc9971": {"expansion_coefficient": PROFILES["csit"].expansion_coefficient}
}
"""Defaults that differ for one search."""
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
    """Return a search plan, ready for `nodrop.search.create`.

    Args:
        max_load_pps: highest load to try, over all directions together.
        min_load_pps: lowest load to try; a thousandth of the highest when not given.
        goals: loss ratios by label, or goals with their own attributes.
        algorithm: the search by name; see `nodrop.search.ALGORITHMS`.
        options: any other field of `SearchPlan`; `DEFAULTS` has the rest. The default initial trial duration is at most
            the final one.

    Raises: ConfigError for values that are missing, out of range or contradict each other.
    """
    fields = {**DEFAULTS, **DEFAULTS_OF.get(algorithm, {}), **options}
    if "initial_trial_duration_s" not in options:
        fields["initial_trial_duration_s"] = min(DEFAULTS["initial_trial_duration_s"], fields["final_trial_duration_s"])
    try:
        search_plan = SearchPlan(
            algorithm=algorithm,
            goals=tuple(_complete_goals(goals)),
            min_load_pps=max_load_pps / SPAN if min_load_pps is None else min_load_pps,
            max_load_pps=max_load_pps,
            **fields,
        )
    except ValidationError as error:
        from nodrop.model.validation_message import format_validation_error  # loads the YAML reader

        raise ConfigError(format_validation_error(error, "search")) from None
    check_goal_attributes(algorithm, dict(_iter_attributes(search_plan.goals)))
    _check_labels(search_plan.goals)
    search_plan.check()
    return search_plan


def _complete_goals(goals: Mapping[str, float] | Iterable[Goal]) -> Iterable[Goal]:
    if isinstance(goals, Mapping):
        return [Goal(label=label, loss_ratio=ratio) for label, ratio in goals.items()]
    return goals


def _iter_attributes(goals: Iterable[Goal]) -> Iterator[tuple[str, str]]:
    """Yield path and value of every attribute that goals have in addition to their loss ratios."""
    for goal in goals:
        for name, value in goal.model_dump(exclude={"label", "loss_ratio"}).items():
            if value:
                yield f"goals.{goal.label}.{name}", f"{value:g}"


def _check_labels(goals: Iterable[Goal]) -> None:
    labels = [goal.label for goal in goals]
    duplicates = sorted({label for label in labels if labels.count(label) > 1})
    if duplicates:
        raise ConfigError(f"goals: more than one goal is labeled {' and '.join(duplicates)}; use unique labels")
