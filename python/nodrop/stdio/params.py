"""Parameters of a search, from the client and from the command line."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from nodrop.config.schema import GoalConfig, Load, Seconds, Share, Width
from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.validation_message import format_validation_error
from nodrop.search.plan_builder import plan
from nodrop.units import parse_seconds

PARAMS, FLAGS = "params", "command line"
"""Origin of a value, for messages."""
EXAMPLE = '{"params": {"max_load": 1e6}}'
DEFAULT_RATIOS = (0.0, 0.005)
LENIENT = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True, allow_inf_nan=False)
DeadTime = Annotated[float, Field(ge=0), BeforeValidator(parse_seconds)]


class StdioGoal(GoalConfig):
    """A goal with its own attributes."""

    model_config = LENIENT
    label: str | None = None
    """NDR or PDR by default."""


class StdioParams(BaseModel):
    """All parameters, as numbers or as text in the form of the command line; null means the default."""

    model_config = LENIENT
    max_load: Load | None = None
    """Highest load to try; required."""
    min_load: Load | None = None
    """Lowest load to try."""
    ratios: Annotated[tuple[Share, ...], Field(min_length=1)] | None = None
    """Loss ratios to find a load for."""
    goals: Annotated[tuple[StdioGoal, ...], Field(min_length=1)] | None = None
    """The same with attributes; overrides `ratios`."""
    relative_width: Width | None = Field(default=None, validation_alias=AliasChoices("relative_width", "width"))
    """(upper - lower) / upper at which a goal is found; `width` on the command line and in goals."""
    initial_trial_duration: Seconds | None = None
    """Duration of the shortest trials."""
    final_trial_duration: Seconds | None = None
    """Duration of the trials that decide."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that high-loss trials may take at a load that still meets the goal."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load."""
    intermediate_phases: int | None = Field(default=None, ge=0, le=10)
    """Phases between the shortest and the final trials."""
    timeout: Seconds | None = Field(default=None, validation_alias=AliasChoices("timeout", "budget"))
    """Time for the entire search, dead time included; `budget` on the command line."""
    overhead: DeadTime | None = None
    """Dead time after each trial."""


OPTIONS = {
    "relative_width": "width_ratio",
    "initial_trial_duration": "initial_trial_duration_s",
    "final_trial_duration": "final_trial_duration_s",
    "intermediate_phases": "intermediate_phases",
    "timeout": "search_duration_max_s",
    "overhead": "overhead_s",
}
"""Parameters of the entire search, and their names in the plan."""
ATTRIBUTES = {
    "relative_width": "width",
    "initial_trial_duration": "initial_trial_duration",
    "final_trial_duration": "final_trial_duration",
    "exceed_ratio": "exceed_ratio",
    "duration_sum": "duration_sum",
}
"""Parameters that a goal may override, and their names there."""


def parse_params(content: object, source: str) -> StdioParams:
    """Return the parameters of a message or of the command line. Raises ConfigError that names the source."""
    if not isinstance(content, Mapping):
        raise ConfigError(f"{source}: not a mapping ({content!r}); write e.g. {EXAMPLE}")
    try:
        return StdioParams.model_validate(content)
    except ValidationError as error:
        raise ConfigError(format_validation_error(error, source)) from None


def build_plan(params: StdioParams, flags: StdioParams, algorithm: AlgorithmName) -> SearchPlan:
    """Return the plan of parameters and flags; flags take precedence. Raises ConfigError."""
    merged = _override(params, flags)
    if merged.max_load is None:
        raise ConfigError(f"{PARAMS}: max_load is missing; write e.g. {EXAMPLE}")
    goals = merged.goals or tuple(
        StdioGoal(loss_ratio=ratio) for ratio in dict.fromkeys(merged.ratios or DEFAULT_RATIOS)
    )
    ratios = [goal.loss_ratio for goal in goals]
    return plan(
        max_load_pps=merged.max_load,
        min_load_pps=merged.min_load,
        goals=[_build_goal(goal, goal.label or _make_default_label(goal.loss_ratio, ratios), merged) for goal in goals],
        algorithm=algorithm,
        **{name: value for key, name in OPTIONS.items() if (value := getattr(merged, key)) is not None},
    )


def _override(params: StdioParams, flags: StdioParams) -> StdioParams:
    """Return the parameters with the flags applied, which override the attributes of every goal as well."""
    overrides = {key: value for key, value in flags if value is not None}
    cleared = {name: None for key, name in ATTRIBUTES.items() if key in overrides}
    goals = params.goals and tuple(goal.replace(**cleared) for goal in params.goals)
    return params.model_copy(update={"goals": goals} | overrides)


def _build_goal(goal: StdioGoal, label: str, params: StdioParams) -> Goal:
    exceed_ratio = params.exceed_ratio if goal.exceed_ratio is None else goal.exceed_ratio
    return Goal(
        label=label,
        loss_ratio=goal.loss_ratio,
        exceed_ratio=exceed_ratio or 0.0,
        initial_trial_duration_s=goal.initial_trial_duration,
        final_trial_duration_s=goal.final_trial_duration,
        duration_sum_s=goal.duration_sum or params.duration_sum,
        width_ratio=goal.width,
    )


def _make_default_label(ratio: float, ratios: Sequence[float]) -> str:
    """Return NDR, PDR, or PDR with its ratio if there are several."""
    if not ratio:
        return "NDR"
    return "PDR" if sum(each > 0 for each in ratios) == 1 else f"PDR {ratio:g}"
