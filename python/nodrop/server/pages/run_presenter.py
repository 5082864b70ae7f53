"""Values that the templates of a run's page show."""

from collections.abc import Iterator
from typing import Any

from nodrop.formatting import compute_reported_loss, format_goal, format_goal_load, format_stop_reason, format_width
from nodrop.formatting.messages import format_message
from nodrop.model.base import Value
from nodrop.model.event import TrialProgress
from nodrop.model.goal import GoalResult
from nodrop.model.latency import compute_trial_latency
from nodrop.model.trial import FIXED, SEARCH, Doubt, TrialResult
from nodrop.report.document.warnings import REASONS
from nodrop.report.stage_progress import format_stage_step
from nodrop.server.pages.render import format_clock, format_short_id
from nodrop.server.pages.run_view import LiveRun
from nodrop.server.rest.schemas import LifecycleState, RunView
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

NO_COUNTS = TrialProgress(index=0, elapsed_s=0.0, offered_count=0, received_count=0)
PERCENTILES = (50.0, 99.0, 99.9)


def describe_activity(run: LiveRun) -> str:
    """Return one sentence on the current activity."""
    view = run.view
    if view.state.is_over:
        return view.error or ""
    if view.state is LifecycleState.QUEUED or view.is_waiting:
        return f"{describe_wait(view)}."
    return _describe_running(run)


def get_display_state(view: RunView) -> str:
    """Return the state of a run, `waiting` before its turn on this machine."""
    return "waiting" if view.is_waiting else view.state.value


def describe_wait(view: RunView) -> str:
    """Describe the reason for which a run waits: `Waiting for run e392bc of root, active since 13:06:11 UTC`."""
    wait = view.waiting
    ahead_count = (view.place or 1) - 1
    if wait is None:
        ahead = format_count(ahead_count, "run")
        return f"Waiting for {ahead} ahead in the queue" if ahead_count else "Next in the queue"
    name = f"run {format_short_id(wait.run_id)}" if wait.run_id else "another run"
    user = f" of {wait.user}" if wait.user else ""
    since = f", active since {format_clock(wait.since)} UTC" if wait.since else ""
    left = f", about {format_seconds(round(wait.remaining_s))} left" if wait.remaining_s is not None else ""
    then = f"; then {format_count(ahead_count, 'queued run')} more" if ahead_count else ""
    need = f"; both need {wait.resource}" if wait.resource else ""
    return f"Waiting for {name}{user}{since}{left}{need}{then}"


def _describe_running(run: LiveRun) -> str:
    plan, started, state = run.plan, run.running_trial, run.state
    if plan is None:
        return f"{run.note[:1].upper()}{run.note[1:]}." if run.note else "Starting."
    if state.facts is None:
        progress = f" {format_stage_step(state.stage_progress)}." if state.stage_progress else ""
        return f"Bringing up the lab: {plan.lab.sut_text}.{progress}"
    if started:
        load, duration = format_pps(started.trial.intended_load_pps), format_seconds(started.trial.duration_s)
        return f"Trial {started.index}: {load} for {duration}, {format_message(started.trial.reason) or started.phase}."
    if state.trials:
        return "Selecting the next trial."
    return "Path checked; starting to measure." if state.path_checked else "Checking the path end to end."


def format_headline(run: LiveRun) -> str:
    """Return the progress in a few words that change seldom, for the window title and screen readers."""
    lifecycle, state = run.view.state, run.state
    if run.view.is_waiting:
        return "Waiting for another run"
    if lifecycle is not LifecycleState.RUNNING:
        return str(lifecycle).capitalize()
    if not run.plan or not state.facts:
        return "Setting up"
    if run.plan.fixed:
        return "Measuring at a fixed rate"
    started = run.running_trial
    phase = started.phase if started else state.trials[-1].phase if state.trials else SEARCH
    if phase != SEARCH:
        return f"Measuring {phase}"
    decided = [format_goal(each.goal) for each in state.goals if each.regular]
    return f"Searching; {' and '.join(decided)} found" if decided else "Searching"


class TrialFigures(Value):
    """Rates and loss of a trial; None if not known yet."""

    index: int
    intended_load_pps: float
    duration_s: float
    elapsed_s: float = 0.0
    sent_pps: float | None = None
    received_pps: float | None = None
    lost_count: int = 0
    loss: str = "-"


def get_current_figures(run: LiveRun) -> TrialFigures | None:
    """Return the latest figures of the running trial; between two trials those of the last one."""
    if run.view.state.is_over:
        return None
    started = run.running_trial
    if started is None:
        return _build_final_figures(run.state.trials[-1]) if run.state.trials else None
    trial = started.trial
    figures = TrialFigures(index=started.index, intended_load_pps=trial.intended_load_pps, duration_s=trial.duration_s)
    if not run.windows:
        return figures
    now, before = run.windows[-1], run.windows[-2] if len(run.windows) > 1 else NO_COUNTS
    since_s = now.elapsed_s - before.elapsed_s
    rates = {
        "sent_pps": (now.offered_count - before.offered_count) / since_s,
        "received_pps": (now.received_count - before.received_count) / since_s,
    }
    lost = {"lost_count": now.lost_count, "loss": format_ratio(_compute_ratio(now.lost_count, now.offered_count))}
    elapsed = {"elapsed_s": min(now.elapsed_s, trial.duration_s)}
    return figures.replace(**elapsed, **lost, **(rates if since_s > 0 else {}))


def _build_final_figures(trial: TrialResult) -> TrialFigures:
    return TrialFigures(
        index=trial.index,
        intended_load_pps=trial.trial.intended_load_pps,
        duration_s=trial.duration_s,
        elapsed_s=trial.duration_s,
        sent_pps=trial.offered_load_pps,
        received_pps=trial.forwarding_rate_pps,
        lost_count=trial.lost_count,
        loss=format_ratio(_compute_ratio(trial.lost_count, trial.offered_count)),
    )


def _compute_ratio(count: int, total_count: int) -> float:
    return count / total_count if total_count else 0.0


def list_bounds(run: LiveRun) -> Iterator[dict[str, Any]]:
    """List the bounds of each goal of a search."""
    plan = run.plan
    if not plan or plan.fixed or plan.no_traffic:
        return
    results = {each.goal.label: each for each in run.state.goals}
    for goal in plan.search.goals:
        result = results.get(goal.label)
        yield {
            "goal": format_goal(goal),
            "met_at": format_goal_load(result) if result and result.lower else "?",
            "upper_pps": result.upper.load_pps if result and result.upper else None,
            "width": format_width(result) if result else "-",
            "target_width": format_ratio(goal.width_ratio) if goal.width_ratio else "-",
            "regular": bool(result and result.regular),
            "explanation": _explain_bounds(result),
        }


def _explain_bounds(result: GoalResult | None) -> str:
    """Return the status of bounds that still move, or the explanation of final ones."""
    if result is None or (result.lower is None and result.upper is None):
        return "no load decided yet"
    if result.regular:
        return format_message(result.explanation)
    if result.upper is None:
        return "met at every load decided so far"
    return "narrowing" if result.lower else "not met so far; trying lower loads"


def list_latencies(run: LiveRun) -> Iterator[dict[str, Any]]:
    """List the latency of the latency trials; before there are any, of the last trial."""
    trials = [trial for trial in run.state.trials if trial.phase != SEARCH] or run.state.trials[-1:]
    for trial in trials:
        figures = compute_trial_latency(trial, PERCENTILES)
        if figures:
            is_latency_trial = trial.phase not in (SEARCH, FIXED)
            values = [format_ns(figures.percentiles_ns[each]) for each in PERCENTILES if each in figures.percentiles_ns]
            yield {
                "at": trial.phase.removeprefix("latency ") if is_latency_trial else f"trial {trial.index}",
                "load_pps": trial.trial.intended_load_pps,
                "percentiles": [*values, *["-"] * (len(PERCENTILES) - len(values))],
                "max": format_ns(figures.max_ns),
            }


def name_doubt(doubt: Doubt) -> str:
    """Return a doubt in a few words, without figures."""
    return REASONS.get(doubt.code, doubt.code.replace("_", " "))


def list_trials(run: LiveRun) -> list[dict[str, Any]]:
    """List all trials, newest first."""
    return [_build_trial_row(trial) for trial in reversed(run.state.trials)]


def _build_trial_row(trial: TrialResult) -> dict[str, Any]:
    return {
        "trial": trial,
        "load_pps": trial.trial.intended_load_pps,
        "loss": format_ratio(compute_reported_loss(trial)),
        "stop": format_stop_reason(trial),
        "reason": format_message(trial.trial.reason) or trial.phase,
        "doubts": "; ".join(dict.fromkeys(map(name_doubt, trial.validity.doubts))),
        "doubt_sentences": "\n".join(map(format_message, trial.validity.doubts)),
    }
