"""A search in NFVbench's form: the resulting loads and the trials."""

from collections.abc import Iterator, Sequence

from nodrop.export.nfvbench.counts import (
    DirectionCounts,
    build_totals,
    build_warning,
    compute_end_s,
    compute_loss_percent,
    count_directions,
)
from nodrop.export.nfvbench.latency import LatencyUsec, compute_latency_usec
from nodrop.export.nfvbench.per_chain import build_paths
from nodrop.export.nfvbench.schema import GoalLoad, Iteration, Iterations, SearchedPort, SearchedResult, SearchedStats
from nodrop.formatting.messages import format_message
from nodrop.model.goal import GoalResult
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.trial import SEARCH, TrialResult
from nodrop.units import format_pps

RATE_TYPE = "rate_percent"
"""Unit of the loads in NFVbench's search."""
NAMED = ("ndr", "pdr")


def build_search_result(run: RunResult, frame_size: str) -> SearchedResult:
    """Build the result of a search: every goal, and the trials."""
    trials = [trial for trial in run.trials if trial.phase == SEARCH]
    decided = {name_goal(goal): _find_deciding_trial(run, goal, trials) for goal in run.goals}
    return SearchedResult.model_validate(
        {name_goal(goal): _build_goal_load(run, goal, frame_size, trials) for goal in run.goals}
        | {"iteration_stats": Iterations(ndr_pdr=tuple(_iter_iterations(run, trials, decided)))}
    )


def name_goal(goal: GoalResult) -> str:
    """Return NFVbench's name of a goal: its label in lower case."""
    return goal.goal.label.lower()


def format_missing_load(goal: GoalResult) -> str:
    """Explain why all numbers of a goal are zero."""
    tried = f"; the lowest failed load is {format_pps(goal.upper.load_pps)}" if goal.upper else ""
    about = f"; about {format_pps(goal.estimate_pps)} is estimated" if goal.estimate_pps else ""
    return f"{goal.goal.label}: no load was found that meets it{tried}{about}. {format_message(goal.explanation)}"


def _build_goal_load(run: RunResult, goal: GoalResult, frame_size: str, trials: Sequence[TrialResult]) -> GoalLoad:
    trial = _find_measuring_trial(run, goal)
    decided = _find_deciding_trial(run, goal, trials)
    began_s = compute_end_s(trials[0]) - trials[0].duration_s if trials else 0.0
    ended = compute_end_s(decided) if decided else began_s
    ways = count_directions(run.plan, trial) if trial else ()
    percents = [way.percent(way.offered_pps) for way in ways if way.has_traffic]
    return GoalLoad.model_validate(
        {
            "l2frame_size": frame_size,
            "duration_sec": round(trial.duration_s, 6) if trial else 0.0,
            "initial_rate_type": RATE_TYPE,
            "rate_percent": round(sum(percents), 6),
            "rate_pps": round(sum(way.offered_pps for way in ways)),
            "rate_bps": round(sum(way.wire_bps(way.offered_pps) for way in ways)),
            "load_percent_per_direction": round(sum(percents) / len(percents), 6) if percents else 0.0,
            "stats": _build_stats(run.plan, ways, trial, goal),
            "timestamp_sec": round(ended, 3),
            "time_taken_sec": round(ended - began_s, 3),
        }
        | ({"packet_path_stats": build_paths(run.plan, trial)} if trial else {})
    )


def _find_measuring_trial(run: RunResult, goal: GoalResult) -> TrialResult | None:
    """Return the trial that measured a goal's load, with the latency of the goal's latency trial, if any."""
    if not goal.lower:
        return None
    trial = run.trials[goal.lower.trial_index]
    timed = [run.trials[each.trial_index] for each in run.latencies if each.label == goal.goal.label]
    return trial.replace(directions=timed[0].directions) if timed and timed[0].directions else trial


def _build_stats(
    plan: Plan, ways: Sequence[DirectionCounts], trial: TrialResult | None, goal: GoalResult
) -> SearchedStats:
    percentiles = plan.percentiles
    overall = compute_latency_usec(trial.directions if trial else (), percentiles)
    forward, reverse = ([way for way in ways if way.forward is forward] for forward in (True, False))
    warning = build_warning(trial) if trial else {"warning": format_missing_load(goal)}
    return SearchedStats.model_validate(
        {
            "left": _build_port(forward, reverse, _merge_latency(reverse)),
            "right": _build_port(reverse, forward, _merge_latency(forward)),
            "overall": _build_port(ways, ways, overall),
        }
        | build_totals(plan, ways)
        | warning
    )


def _merge_latency(ways: Sequence[DirectionCounts]) -> LatencyUsec:
    return compute_latency_usec([times for way in ways for times in way.latency], (), False)


def _build_port(
    sent: Sequence[DirectionCounts], received: Sequence[DirectionCounts], latency: LatencyUsec
) -> SearchedPort:
    lost_count = sum(way.lost_count for way in received)
    return SearchedPort(
        tx_pkts=sum(way.offered_count for way in sent),
        rx_pkts=sum(way.received_count for way in received),
        dropped_pkts=lost_count,
        drop_percentage=compute_loss_percent(received),
        drop_pct=lost_count,
        avg_delay_usec=latency.mean,
        min_delay_usec=latency.smallest,
        max_delay_usec=latency.largest,
        **latency.details,
    )


def _find_deciding_trial(run: RunResult, goal: GoalResult, trials: Sequence[TrialResult]) -> TrialResult | None:
    """Return the trial that decided a goal's final bounds."""
    label = goal.goal.label
    moved = [
        step.trial_index
        for step in run.steps
        if [state for state in step.before if state.label == label]
        != [state for state in step.after if state.label == label]
    ]
    bounds = [bound.trial_index for bound in (goal.lower, goal.upper) if bound]
    last = max([*moved[-1:], *bounds], default=None)
    return next((trial for trial in trials if trial.index == last), None)


def _iter_iterations(
    run: RunResult, trials: Sequence[TrialResult], decided: dict[str, TrialResult | None]
) -> Iterator[Iteration]:
    goals = {name_goal(goal): goal for goal in run.goals}
    for trial in trials:
        decided_loads = {
            f"{name}_pps": round(run.trials[lower.trial_index].offered_load_pps) if (lower := goals[name].lower) else 0
            for name, last in decided.items()
            if name in NAMED and last is trial
        }
        lost = round(100 * trial.lost_count / trial.offered_count, 6) if trial.offered_count else 0.0
        yield Iteration.model_validate(
            {
                "tx_pps": round(trial.trial.intended_load_pps),
                "total_tx_pps": round(trial.offered_load_pps),
                "tx_pkts": trial.offered_count,
                "rx_pps": round(trial.forwarding_rate_pps),
                "rx_pkts": trial.received_count,
                "dropped_pkts": trial.lost_count,
                "drop_pct": trial.lost_count,
                "drop_percentage": lost,
                "time_ms": round(1000 * compute_end_s(trial)),
            }
            | build_warning(trial)
            | decided_loads
        )
