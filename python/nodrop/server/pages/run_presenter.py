"""What the page of a run says of it: values for its templates."""

from collections.abc import Iterator
from typing import Any

from nodrop.formatting import found_text, goal_text, shown_loss_ratio, stop_text, width_text
from nodrop.model.base import Value
from nodrop.model.event import TrialProgress
from nodrop.model.goal import GoalResult
from nodrop.model.latency import latency_of
from nodrop.model.trial import FIXED, TrialResult
from nodrop.report.stage_progress import staging_text
from nodrop.server.pages.run_view import SEARCH, Watched
from nodrop.server.rest.schemas import State
from nodrop.units import format_ns, format_pps, format_ratio, format_seconds

NOTHING_YET = TrialProgress(index=0, elapsed_s=0.0, offered_count=0, received_count=0)
PERCENTILES = (50.0, 99.0, 99.9)


def doing(watched: Watched) -> str:
    """What happens now, in words."""
    view = watched.view
    if view.state.is_over:
        return view.error or ""
    if view.state is State.QUEUED:
        before_count = (view.place or 1) - 1
        return f"Waits for {before_count} others in the queue." if before_count else "Next in the queue."
    return _running(watched)


def _running(watched: Watched) -> str:
    plan, started = watched.plan, watched.started
    if plan is None:
        return f"{watched.note[:1].upper()}{watched.note[1:]}." if watched.note else "Starts."
    if watched.facts is None:
        staging = watched.way.staging
        how_far = f" {staging_text(staging)}." if staging else ""
        return f"Brings up the lab: {plan.lab.sut_text}.{how_far}"
    if started:
        load, asked_s = format_pps(started.trial.intended_load_pps), format_seconds(started.trial.duration_s)
        return f"Trial {started.index}: {load} for {asked_s}, {started.trial.reason or started.phase}."
    if watched.trials:
        return "Decides what to try next."
    return "Path checked; begins to measure." if watched.checked else "Checks the path, end to end."


def headline(watched: Watched) -> str:
    """How far it is in a few words, for the title of the window and for screen readers: it changes seldom."""
    state = watched.view.state
    if state is not State.RUNNING:
        return str(state).capitalize()
    if not watched.plan or not watched.facts:
        return "Sets up"
    if watched.plan.fixed:
        return "Measures at the rate asked for"
    phase = watched.started.phase if watched.started else watched.trials[-1].phase if watched.trials else SEARCH
    if phase != SEARCH:
        return f"Measures {phase}"
    found = [goal_text(each.goal) for each in watched.goals if each.regular]
    return f"Searches; {' and '.join(found)} found" if found else "Searches"


class Numbers(Value):
    """What passes in a trial; None where that is not known yet."""

    index: int
    intended_load_pps: float
    duration_s: float
    elapsed_s: float = 0.0
    sent_pps: float | None = None
    received_pps: float | None = None
    lost_count: int = 0
    loss: str = "-"


def numbers(watched: Watched) -> Numbers | None:
    """What passes in the running trial, as of the latest counts; between two what passed in the last one."""
    if watched.view.state.is_over:
        return None
    if watched.started is None:
        return _passed(watched.trials[-1]) if watched.trials else None
    trial = watched.started.trial
    found = Numbers(index=watched.started.index, intended_load_pps=trial.intended_load_pps, duration_s=trial.duration_s)
    if not watched.progress:
        return found
    now, before = watched.progress[-1], watched.progress[-2] if len(watched.progress) > 1 else NOTHING_YET
    since_s = now.elapsed_s - before.elapsed_s
    rates = {
        "sent_pps": (now.offered_count - before.offered_count) / since_s,
        "received_pps": (now.received_count - before.received_count) / since_s,
    }
    lost = {"lost_count": now.lost_count, "loss": format_ratio(_share(now.lost_count, now.offered_count))}
    elapsed = {"elapsed_s": min(now.elapsed_s, trial.duration_s)}
    return found.model_copy(update=elapsed | lost | (rates if since_s > 0 else {}))


def _passed(trial: TrialResult) -> Numbers:
    return Numbers(
        index=trial.index,
        intended_load_pps=trial.trial.intended_load_pps,
        duration_s=trial.duration_s,
        elapsed_s=trial.duration_s,
        sent_pps=trial.offered_load_pps,
        received_pps=trial.forwarding_rate_pps,
        lost_count=trial.lost_count,
        loss=format_ratio(_share(trial.lost_count, trial.offered_count)),
    )


def _share(count: int, of_count: int) -> float:
    return count / of_count if of_count else 0.0


def bounds(watched: Watched) -> Iterator[dict[str, Any]]:
    """What is known of each goal."""
    plan = watched.plan
    if not plan or plan.fixed or plan.no_traffic:
        return
    found = {each.goal.label: each for each in watched.goals}
    for goal in plan.search.goals:
        known = found.get(goal.label)
        yield {
            "goal": goal_text(goal),
            "met_at": found_text(known) if known and known.lower else "?",
            "upper_pps": known.upper.load_pps if known and known.upper else None,
            "width": width_text(known) if known else "-",
            "asked": format_ratio(goal.width_ratio) if goal.width_ratio else "-",
            "regular": bool(known and known.regular),
            "why": _meaning(known),
        }


def _meaning(known: GoalResult | None) -> str:
    """What the bounds say as long as they move, and why they are where they are once they do not."""
    if known is None or (known.lower is None and known.upper is None):
        return "no load is decided yet"
    if known.regular:
        return known.explanation
    if known.upper is None:
        return "met at every load tried in earnest so far"
    return "closing in" if known.lower else "not met so far, looks further down"


def latencies(watched: Watched) -> Iterator[dict[str, Any]]:
    """Latency where it was measured for its own sake, else that of the last trial."""
    wanted = [trial for trial in watched.trials if trial.phase != SEARCH] or watched.trials[-1:]
    for trial in wanted:
        figures = latency_of(trial, PERCENTILES)
        if figures:
            is_own = trial.phase not in (SEARCH, FIXED)
            shown = [format_ns(figures.percentiles_ns[each]) for each in PERCENTILES if each in figures.percentiles_ns]
            yield {
                "at": trial.phase.removeprefix("latency ") if is_own else f"trial {trial.index}",
                "load_pps": trial.trial.intended_load_pps,
                "percentiles": [*shown, *["-"] * (len(PERCENTILES) - len(shown))],
                "max": format_ns(figures.max_ns),
            }


def trials(watched: Watched) -> list[dict[str, Any]]:
    """All trials, the latest first."""
    return [_trial(trial) for trial in reversed(watched.trials)]


def _trial(trial: TrialResult) -> dict[str, Any]:
    return {
        "trial": trial,
        "load_pps": trial.trial.intended_load_pps,
        "loss": format_ratio(shown_loss_ratio(trial)),
        "stop": stop_text(trial),
        "reason": trial.trial.reason or trial.phase,
        "doubts": [doubt.text for doubt in trial.validity.doubts],
    }
