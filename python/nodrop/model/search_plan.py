"""The search of a plan: goals, bounds and durations."""

from collections.abc import Callable, Mapping

from pydantic import Field

from nodrop.errors import ConfigError
from nodrop.model.base import Value
from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.trial import Trial
from nodrop.units import format_pps, format_seconds

GOAL_ATTRIBUTE_SEARCHES: frozenset[AlgorithmName] = frozenset({"nodrop", "mlrsearch-rfc9971"})
"""Searches that use every attribute of a goal; the others use only its loss ratio."""

TRIAL_MIN_S = 0.15
"""Shortest trial of nodrop's own search; shorter ones are not worth their overhead."""

PathOf = Callable[[str, str], str]
"""Path of the configuration key that set an attribute of a goal, by the goal's label and the attribute's key."""


class SearchPlan(Value):
    """Goals, bounds and durations of the search."""

    algorithm: AlgorithmName
    goals: tuple[Goal, ...] = Field(min_length=1)
    min_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    max_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    initial_trial_duration_s: float = Field(gt=0)
    final_trial_duration_s: float = Field(gt=0)
    width_ratio: float = Field(gt=0, lt=1)
    """(upper - lower) / upper of bounds that are close enough."""
    intermediate_phases: int = Field(ge=0)
    expansion_coefficient: float = Field(gt=1)
    search_duration_max_s: float = Field(gt=0)
    """Time limit of the search, dead time included."""
    budgeted: bool = False
    """Whether the time limit is a budget: reaching it is then a normal end, else a failure."""
    repeat_invalid: int = Field(ge=0)
    """Retries of an invalid trial before the search fails."""
    excludes_disturbed: bool = False
    """Whether trials are judged without the time in which other work on the machine disturbed tester or SUT."""
    overhead_s: float = Field(default=0.5, ge=0)
    """Time of a trial in addition to sending, as assumed by searches."""
    doublings: int = Field(default=1, ge=1)
    """mlrsearch-03: how often the width is doubled in an external search."""
    preceding_targets: int = Field(default=2, ge=0)
    """mlrsearch-rfc9971: coarser targets before the final one of each goal."""
    fail_fast: bool = False
    """mlrsearch-rfc9971: end the whole search when a goal fails at the lowest load."""
    joint: bool = True
    """binary: whether trials for one goal count for the others."""
    verify_trial_count: int = Field(default=2, ge=1)
    """binary-loss-verification, back-to-back: trials at a load before its loss counts, the first included (TST 009
    max(r))."""
    verify_lost_count: int | None = Field(default=None, ge=0)
    """binary-loss-verification, back-to-back: least loss, in frames, that is not verified (TST 009 z); None: always
    verified."""
    load_epsilon_ratio: float = Field(default=0.001, gt=0, lt=1)
    """nfvbench: share of the line rate, `max_load_pps`, at which the range is narrow enough."""
    trial_count: int = Field(default=10, ge=1)
    """mrr: trials at the highest load."""
    initial_count: int = Field(default=50, ge=0)
    """plrsearch: duration of the first trial, in duration increments."""
    duration_increment_s: float = Field(default=0.1, gt=0)
    """plrsearch: increase of the duration from trial to trial."""
    load_step_ratio: float = Field(default=0.1, ge=0.001, le=0.1)
    """frame-loss-rate: difference between two loads, as a share of the highest."""
    direction_count: int = Field(default=1, ge=1)
    """back-to-back: directions, each of which sends the burst at the same rate."""
    burst_max_s: float = Field(default=2.0, ge=0.01, le=30)
    """back-to-back: sending time of the longest burst."""
    burst_rest_s: float = Field(default=2.0, ge=0)
    """back-to-back: least time without traffic before a burst (RFC 9004 section 5.4: 2 s)."""
    burst_repeat_count: int = Field(default=50, ge=1)
    """back-to-back: searches of the longest burst (RFC 2544 section 26.4: at least 50)."""
    earlier: tuple["EarlierGoal", ...] = ()
    """nodrop: bounds of an earlier search of the same SUT, to start from."""

    @property
    def direction_load_pps(self) -> float:
        """The highest load of each direction, where all have the same."""
        return self.max_load_pps / self.direction_count

    def fit_trial(self, trial: Trial, started_s: float) -> Trial | None:
        """Return the trial if the remaining time allows it, by nodrop's own search also a shorter one; else None.

        Args:
            trial: the trial that the search requested.
            started_s: time since the start of the search.
        """
        remaining_s = self.search_duration_max_s - started_s
        if trial.duration_s <= remaining_s:
            return trial
        # Published searches prescribe the duration of each trial.
        is_shorter_useful = self.algorithm == "nodrop" and remaining_s >= TRIAL_MIN_S
        return trial.replace(duration_s=remaining_s) if is_shorter_useful else None

    def complete(self, goal: Goal) -> Goal:
        """Return a goal with every attribute: its own or, where it has none, the search's."""
        final_s = goal.final_trial_duration_s or self.final_trial_duration_s
        return goal.replace(
            initial_trial_duration_s=goal.initial_trial_duration_s or min(self.initial_trial_duration_s, final_s),
            final_trial_duration_s=final_s,
            duration_sum_s=goal.duration_sum_s or final_s,
            width_ratio=goal.width_ratio or self.width_ratio,
        )

    def check(self, path_of: PathOf | None = None, single_load: bool = False) -> None:
        """Raise ConfigError, with the paths of the keys, for values that contradict each other.

        Args:
            path_of: where an attribute of a goal was set; by default under `goals` if the goal has it, else `search`.
            single_load: whether the lowest load may equal the highest.
        """
        self._check_loads(single_load)
        _check_order(
            "search.initial_trial_duration",
            self.initial_trial_duration_s,
            "search.final_trial_duration",
            self.final_trial_duration_s,
        )
        for goal in self.goals:
            self._check_durations(goal, path_of or self._path_of)

    def _check_loads(self, single_load: bool) -> None:
        if self.min_load_pps > self.max_load_pps or (self.min_load_pps == self.max_load_pps and not single_load):
            raise ConfigError(
                f"search.max_load: {format_pps(self.max_load_pps)} is not above search.min_load "
                f"({format_pps(self.min_load_pps)}); raise search.max_load or lower search.min_load"
            )

    def _check_durations(self, goal: Goal, path_of: PathOf) -> None:
        """Require initial trial <= final trial <= duration sum (RFC 9971 Search Goal)."""
        complete = self.complete(goal)
        assert complete.initial_trial_duration_s and complete.final_trial_duration_s and complete.duration_sum_s
        initial, final, total = (path_of(goal.label, key) for key in DURATIONS)
        _check_order(initial, complete.initial_trial_duration_s, final, complete.final_trial_duration_s)
        _check_order(final, complete.final_trial_duration_s, total, complete.duration_sum_s)

    def _path_of(self, label: str, key: str) -> str:
        goal = next(goal for goal in self.goals if goal.label == label)
        return f"goals.{label}.{key}" if getattr(goal, f"{key}_s") else f"search.{key}"


DURATIONS = ("initial_trial_duration", "final_trial_duration", "duration_sum")
"""Keys of a goal's durations; each duration is at most the next."""


def check_goal_attributes(algorithm: AlgorithmName, values: Mapping[str, str]) -> None:
    """Raise ConfigError for attributes of goals that a search ignores.

    Args:
        algorithm: the search.
        values: value of each attribute that was set, by the path of its key.
    """
    if algorithm in GOAL_ATTRIBUTE_SEARCHES:
        return
    for path, value in values.items():
        users = " or ".join(sorted(GOAL_ATTRIBUTE_SEARCHES, reverse=True))
        fix = "remove it, write it under search:" if path.startswith("goals.") else "remove it"
        raise ConfigError(
            f"{path}: {value} has no effect, the search {algorithm} uses only the loss ratio of a goal; "
            f"{fix} or set search.algorithm to {users}"
        )


def _check_order(shorter: str, shorter_s: float, longer: str, longer_s: float) -> None:
    if shorter_s > longer_s:
        raise ConfigError(
            f"{shorter}: {format_seconds(shorter_s)} exceeds {longer} ({format_seconds(longer_s)}); "
            f"make {longer.rpartition('.')[2]} at least as long"
        )


class EarlierGoal(Value):
    """Bounds of a goal in an earlier result."""

    loss_ratio: float
    final_trial_duration_s: float
    lower_pps: float
    upper_pps: float
