"""What the other side and the command line ask for, as a search plan."""

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
"""Who wrote a value."""
EXAMPLE = '{"params": {"max_load": 1e6}}'
DEFAULT_RATIOS = (0.0, 0.005)
LENIENT = ConfigDict(frozen=True, extra="ignore", use_attribute_docstrings=True, allow_inf_nan=False)
DeadTime = Annotated[float, Field(ge=0), BeforeValidator(parse_seconds)]


class StdioGoal(GoalConfig):
    """A goal with attributes of its own."""

    model_config = LENIENT
    label: str | None = None
    """NDR or PDR when not given."""


class StdioParams(BaseModel):
    """Everything that can be asked; numbers, or text as on the command line. What is null has a default."""

    model_config = LENIENT
    max_load: Load | None = None
    """Highest load to try; has to be there."""
    min_load: Load | None = None
    """Lowest load to try."""
    ratios: Annotated[tuple[Share, ...], Field(min_length=1)] | None = None
    """Loss ratios to find a load for."""
    goals: Annotated[tuple[StdioGoal, ...], Field(min_length=1)] | None = None
    """The same with attributes; goes before `ratios`."""
    relative_width: Width | None = Field(default=None, validation_alias=AliasChoices("relative_width", "width"))
    """(upper - lower) / upper at which a goal is found; `width` on the command line and in goals."""
    initial_trial_duration: Seconds | None = None
    """Duration of the shortest trials."""
    final_trial_duration: Seconds | None = None
    """Duration of the trials that decide."""
    exceed_ratio: Share | None = None
    """Share of the duration sum that trials with too much loss may take at a load that still counts as met."""
    duration_sum: Seconds | None = None
    """Trial time that decides a load."""
    intermediate_phases: int | None = Field(default=None, ge=0, le=10)
    """Phases between the shortest and the final trials."""
    timeout: Seconds | None = Field(default=None, validation_alias=AliasChoices("timeout", "budget"))
    """Time for the whole search: that of all trials, and the dead time after each; `budget` on the command line."""
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
"""What concerns the whole search, and the plan's names for it."""
ATTRIBUTES = {
    "relative_width": "width",
    "initial_trial_duration": "initial_trial_duration",
    "final_trial_duration": "final_trial_duration",
    "exceed_ratio": "exceed_ratio",
    "duration_sum": "duration_sum",
}
"""What a goal may have of its own, and its name there."""


def parse_params(written: object, where: str) -> StdioParams:
    """What somebody asks for. Raises ConfigError naming who wrote what cannot be used."""
    if not isinstance(written, Mapping):
        raise ConfigError(f"{where}: {written!r} asked, keys with values expected; write for example {EXAMPLE}")
    try:
        return StdioParams.model_validate(written)
    except ValidationError as error:
        raise ConfigError(format_validation_error(error, where)) from None


def build_plan(params: StdioParams, flags: StdioParams, algorithm: AlgorithmName) -> SearchPlan:
    """The plan that both add up to; flags win. Raises ConfigError for what is missing or does not go together."""
    asked = _overruled(params, flags)
    if asked.max_load is None:
        raise ConfigError(f"{PARAMS}: max_load asked, none found; write for example {EXAMPLE}")
    alone = dict.fromkeys(asked.ratios or DEFAULT_RATIOS)
    written = asked.goals or tuple(StdioGoal(loss_ratio=ratio) for ratio in alone)
    ratios = [goal.loss_ratio for goal in written]
    return plan(
        max_load_pps=asked.max_load,
        min_load_pps=asked.min_load,
        goals=[_goal(goal, goal.label or _label(goal.loss_ratio, ratios), asked) for goal in written],
        algorithm=algorithm,
        **{name: value for key, name in OPTIONS.items() if (value := getattr(asked, key)) is not None},
    )


def _overruled(params: StdioParams, flags: StdioParams) -> StdioParams:
    """What a flag says holds for every goal, also for one that had its own."""
    given = {key: value for key, value in flags if value is not None}
    cleared = {name: None for key, name in ATTRIBUTES.items() if key in given}
    goals = params.goals and tuple(goal.model_copy(update=cleared) for goal in params.goals)
    return params.model_copy(update={"goals": goals} | given)


def _goal(written: StdioGoal, label: str, asked: StdioParams) -> Goal:
    exceed_ratio = asked.exceed_ratio if written.exceed_ratio is None else written.exceed_ratio
    return Goal(
        label=label,
        loss_ratio=written.loss_ratio,
        exceed_ratio=exceed_ratio or 0.0,
        initial_trial_duration_s=written.initial_trial_duration,
        final_trial_duration_s=written.final_trial_duration,
        duration_sum_s=written.duration_sum or asked.duration_sum,
        width_ratio=written.width,
    )


def _label(ratio: float, ratios: Sequence[float]) -> str:
    """NDR, PDR, or PDR with its ratio where there are several."""
    if not ratio:
        return "NDR"
    return "PDR" if sum(each > 0 for each in ratios) == 1 else f"PDR {ratio:g}"
