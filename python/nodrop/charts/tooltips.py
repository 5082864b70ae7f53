"""Texts of trials and runs in charts: outcomes and tooltips."""

from collections.abc import Sequence

from nodrop.formatting import format_goal, format_goal_load, format_small_ratio, format_stop_reason
from nodrop.formatting.messages import format_message
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.units import format_count, format_pps, format_seconds

DID_NOT_COUNT = "invalid trial"


def list_met_goals(result: RunResult, trial: TrialResult) -> tuple[str, ...] | None:
    """Return the labels of the goals whose loss ratio a trial met; None for an invalid trial."""
    if trial.validity.verdict is ValidityStatus.INVALID:
        return None
    return tuple(goal.label for goal in result.plan.search.goals if trial.loss_ratio <= goal.loss_ratio)


def format_outcome(result: RunResult, labels: tuple[str, ...] | None) -> str:
    """Format the outcome of a trial: `trial meets PDR only`."""
    if labels is None:
        return DID_NOT_COUNT
    if not labels:
        return "trial meets none"
    only = "" if len(labels) == len(result.plan.search.goals) else " only"
    return f"trial meets {' and '.join(labels)}{only}"


def format_lost_frames(trial: TrialResult) -> str:
    """Format the loss of a trial: `lost 120 of 1,000,000 frames (0.012 %)`."""
    frames = f"{format_count(trial.offered_count)} frames"
    if trial.lost_count <= 0:
        return f"lost none of {frames}"
    ratio = format_small_ratio(trial.lost_count / trial.offered_count)
    return f"lost {format_count(trial.lost_count)} of {frames} ({ratio})"


def format_loss(trial: TrialResult) -> str:
    """Format the loss and the unsent frames of a trial: `lost none of 1,000,000 frames, 30 more could not be sent`."""
    unsent = f", {format_count(trial.unsent_count)} more could not be sent" if trial.unsent_count else ""
    return f"{format_lost_frames(trial)}{unsent}"


def format_trial(result: RunResult, trial: TrialResult) -> str:
    """Describe a trial: load, duration, loss, outcome, reason and doubts."""
    load = format_pps(trial.trial.intended_load_pps)
    parts = [
        f"Trial {trial.index}: {load} for {format_seconds(trial.duration_s)}, {format_loss(trial)}",
        format_outcome(result, list_met_goals(result, trial)) if trial.phase == "search" else "",
        format_stop_reason(trial),
        f"why: {format_message(trial.trial.reason)}" if trial.trial.reason else "",
        *map(format_message, trial.validity.doubts),
    ]
    return "; ".join(part for part in parts if part)


def format_sut(result: RunResult) -> str:
    """Return the short name of the SUT."""
    return result.facts.stage.sut if result.facts else result.plan.lab.sut_text


def format_goals(result: RunResult) -> str:
    """Format the goal results: `NDR 0 % 1.02 Mpps, PDR 0.5 % at least 1.40 Mpps`."""
    return (
        ", ".join(f"{format_goal(goal_result.goal)} {format_goal_load(goal_result)}" for goal_result in result.goals)
        or "nothing found"
    )


def format_frame_size(result: RunResult) -> str:
    """Format the configured frame size: `64 bytes`, `IMIX`."""
    size = result.plan.frame_size or f"{result.plan.traffic.frame_bytes:g}"
    return f"{size} bytes" if size.isdigit() else size


def label_runs(results: Sequence[RunResult]) -> list[str]:
    """Label each run distinctly: by frame size, else by label, SUT, or id."""
    candidates = (
        [format_frame_size(result) for result in results],
        [result.plan.label or "" for result in results],
        [format_sut(result) for result in results],
        [f"{format_frame_size(result)}, {result.run_id[-6:]}" for result in results],
    )
    return next((names for names in candidates if len(set(names)) == len(names)), [result.run_id for result in results])


def format_suts(results: Sequence[RunResult]) -> str:
    """Return the SUT of several runs, or the number of SUTs."""
    suts = dict.fromkeys(format_sut(result) for result in results)
    return next(iter(suts)) if len(suts) == 1 else f"{len(suts)} SUTs"


def format_runs(results: Sequence[RunResult]) -> str:
    """Format the ids of the runs."""
    ids = [result.run_id for result in results]
    return f"run {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs, {ids[0]} to {ids[-1]}"
