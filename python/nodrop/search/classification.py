"""Classification of loads as bounds of a goal if several trials at a load may disagree.

A trial is high-loss if it lost more than the goal allows, full-length if it lasted at least the goal's final trial
duration, short otherwise. The durations of a load's trials of each kind decide, not their number. A load is a bound as
soon as no outcome of the missing full-length trials could make it the other one.

If the RFC's prose and its code differ, the code counts.

Source: RFC 9971 sections "Load Classification" and "Conditional Throughput", and the appendices with their code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from nodrop.model.goal import Goal

Load = TypeVar("Load", int, float)
"""Loads as packets per second, or as steps of a grid."""

ROUNDING = 1e-9
"""Share of a sum of durations that is due to rounding."""


class Evidence(NamedTuple):
    """The evidence of one trial about its load."""

    duration_s: float
    """Intended duration, which makes the trial short or full-length."""
    effective_s: float
    """Time it counts for: the duration, or that plus the trial's overhead (RFC 9971 Trial Effective Duration)."""
    loss_ratio: float
    trial_index: int = -1
    """The trial's position in the run; not used by the classification."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of one load for one goal."""

    optimistic: bool
    """Whether the load is a lower bound if all missing trials are low-loss."""
    pessimistic: bool
    """Whether the load is a lower bound even if all missing trials are high-loss."""
    full_low_s: float
    """Effective duration of the full-length low-loss trials; the other three accordingly."""
    full_high_s: float
    short_low_s: float
    short_high_s: float

    @property
    def is_lower(self) -> bool:
        """Whether the load meets the goal."""
        return self.optimistic and self.pessimistic

    @property
    def is_upper(self) -> bool:
        """Whether the load does not meet the goal."""
        return not self.optimistic and not self.pessimistic

    @property
    def undecided(self) -> bool:
        """Whether missing trials could still make the load either bound."""
        return self.optimistic != self.pessimistic


class RelevantBounds(NamedTuple, Generic[Load]):
    """The two loads that bound a goal, if any."""

    lower: Load | None
    upper: Load | None


def classify(trials: Sequence[Evidence], goal: Goal) -> Classification:
    """Classify a load for a goal; without trials the load is undecided.

    Args:
        trials: all trials at the load, of any duration.
        goal: with every attribute set, see `SearchPlan.complete`.
    """
    full_s, duration_sum_s = _list_durations_s(goal)
    allowed = goal.loss_ratio
    full_low_s = full_high_s = short_low_s = short_high_s = 0.0
    for trial in trials:
        if trial.duration_s >= full_s:
            if trial.loss_ratio > allowed:
                full_high_s += trial.effective_s
            else:
                full_low_s += trial.effective_s
        elif trial.loss_ratio > allowed:
            short_high_s += trial.effective_s
        else:
            short_low_s += trial.effective_s

    # Short low-loss trials only compensate short high-loss ones, at the rate the goal tolerates.
    compensated_s = short_low_s * goal.exceed_ratio / (1.0 - goal.exceed_ratio)
    high_s = full_high_s + max(0.0, short_high_s - compensated_s)
    total_s = max(full_low_s + high_s, duration_sum_s)
    tolerated_s = total_s * goal.exceed_ratio
    return Classification(
        optimistic=high_s <= tolerated_s,
        pessimistic=total_s - full_low_s <= tolerated_s,
        full_low_s=full_low_s,
        full_high_s=full_high_s,
        short_low_s=short_low_s,
        short_high_s=short_high_s,
    )


def compute_conditional_throughput(load_pps: float, trials: Sequence[Evidence], goal: Goal) -> float:
    """Return the forwarding rate to expect at a load that meets a goal, in packets per second.

    The rate is that of the full-length trial which, in ascending order of loss, completes the share of time that must
    be low-loss. Time not measured counts as total loss. The name applies at the goal's relevant lower bound only.
    """
    full_s, duration_sum_s = _list_durations_s(goal)
    full_length = sorted((t for t in trials if t.duration_s >= full_s), key=lambda t: t.loss_ratio)
    total_s = max(duration_sum_s, sum(trial.effective_s for trial in full_length))
    remaining_s = total_s * (1.0 - goal.exceed_ratio)
    for trial in full_length:
        remaining_s -= trial.effective_s
        if remaining_s <= total_s * ROUNDING:
            return load_pps * (1.0 - trial.loss_ratio)
    return 0.0


def find_relevant_bounds(trials_at: Mapping[Load, Sequence[Evidence]], goal: Goal) -> RelevantBounds[Load]:
    """Return the smallest load that is an upper bound, and the largest lower bound below that.

    Lower bounds above an upper bound do not count: with inverted loss, the result errs on the low side.
    """
    lower = None
    for load in sorted(trials_at):
        result = classify(trials_at[load], goal)
        if result.is_upper:
            return RelevantBounds(lower, load)
        if result.is_lower:
            lower = load
    return RelevantBounds(lower, None)


def _list_durations_s(goal: Goal) -> tuple[float, float]:
    """Return final trial duration and duration sum."""
    if goal.final_trial_duration_s is None or goal.duration_sum_s is None:
        raise ValueError(f"{goal.label}: a goal without durations; complete it with SearchPlan.complete")
    return goal.final_trial_duration_s, goal.duration_sum_s
