"""Of repeats the one that stands for all, where there is room for one."""

from collections.abc import Sequence

from nodrop.model.result import RunResult
from nodrop.model.trial import FIXED


def pick_median_runs(runs: Sequence[RunResult]) -> tuple[RunResult, ...]:
    """One run for each frame size, in order: of repeats the one in the middle, by what it found or received."""
    sizes: dict[str, list[RunResult]] = {}
    for run in runs:
        sizes.setdefault(run.plan.frame_size, []).append(run)
    return tuple(_middle(repeats) for repeats in sizes.values())


def _middle(repeats: Sequence[RunResult]) -> RunResult:
    measured = [run for run in repeats if run.trials] or list(repeats)
    ordered = sorted(measured, key=_rates)
    return ordered[(len(ordered) - 1) // 2]


def _rates(run: RunResult) -> tuple[float, ...]:
    """What repeats differ by: the loads found, goal by goal, or what came back of a fixed rate."""
    if run.plan.fixed:
        return tuple(trial.forwarding_rate_pps for trial in run.trials if trial.phase == FIXED)
    return tuple(found.lower.load_pps if found.lower else 0.0 for found in run.goals)
