"""Summaries of results: SUT, setup, time, and measures with stable keys.

ndr, pdr_0.5%                 highest load that meets a goal, by label and loss ratio; `low`, `high`: its bounds
mrr                           the rate received at the highest load, of the search of that name
pdr_0.5%_estimate             the threshold estimated by a search without bounds
latency_p99_at_ndr            p50, p99, p99.9 and max at each measured load: of a goal, a share of it
latency_p99_at_50%_of_ndr     (`50%_of_ndr`), or a fixed rate as configured (`10kpps`)
forwarding_rate_at_10kpps     of a run at a fixed rate
loss_at_10kpps
"""

from collections.abc import Iterator

from nodrop.formatting import format_sut_name
from nodrop.formatting.messages import format_message
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.latency import compute_trial_latency
from nodrop.model.plan import Plan, count_flows, is_bidirectional, name_frame_size, name_path
from nodrop.model.result import RunResult
from nodrop.model.summary import Measure, MissingGoal, Summary
from nodrop.model.trial import FIXED, TrialResult, ValidityStatus
from nodrop.store.metrics import build_goal_measure, build_latency_measure, make_slug, name_goal
from nodrop.store.setup_key import compute_setup_key
from nodrop.units import format_ratio

ESTIMATORS = ("mrr", "plrsearch")
"""Searches that estimate a rate instead of proving bounds."""
PERCENTILES = (50.0, 99.0, 99.9)
WIDE_FACTOR = 5.0
"""Distance of the bounds, in widths of the goal, above which the lower one is only a lower limit."""


def summarize_result(result: RunResult) -> Summary:
    """Summarize a nodrop run, with all measures that can be compared between runs."""
    plan, facts = result.plan, result.facts
    return Summary(
        run_id=result.run_id,
        started_at=result.started_at,
        wall_s=result.wall_s,
        status=result.status,
        error=result.error,
        label=plan.label,
        sut=format_sut_name(result),
        path=name_path(plan),
        chain_count=plan.lab.chain_count,
        flow_count=count_flows(plan),
        frame_size=name_frame_size(plan),
        frame_bytes=plan.traffic.frame_bytes,
        bidirectional=is_bidirectional(plan),
        asked=_format_goals_or_rate(plan),
        algorithm="" if plan.fixed or plan.no_traffic else plan.search.algorithm,
        host=facts.host.name if facts else "",
        kernel=facts.host.kernel if facts else "",
        cpu_model=facts.host.cpu_model if facts else "",
        backend=_format_backend(result),
        version=facts.versions.nodrop if facts else "",
        trial_count=len(result.trials),
        setup=compute_setup_key(result),
        measures=tuple(list_measures(result)),
        missing_goals=tuple(_list_missing_goals(result)),
    )


def _list_missing_goals(result: RunResult) -> Iterator[MissingGoal]:
    """Yield the goals without a lower bound, of searches that have bounds."""
    if result.plan.search.algorithm not in ESTIMATORS:
        for goal_result in result.goals:
            if not goal_result.lower:
                _, text = name_goal(goal_result.goal)
                yield MissingGoal(text=text, reason=format_message(goal_result.explanation))


def list_measures(result: RunResult) -> Iterator[Measure]:
    """Yield all measures of a run, most important first."""
    for goal_result in result.goals:
        yield from _list_goal_measures(result, goal_result)
    for trial in result.trials:
        if result.plan.fixed and trial.phase == FIXED and trial.validity.verdict is not ValidityStatus.INVALID:
            yield from _list_fixed_measures(trial, result.plan.fixed.asked)
    yield from _list_latency_measures(result)


def _list_goal_measures(result: RunResult, goal_result: GoalResult) -> Iterator[Measure]:
    key, text = name_goal(goal_result.goal)
    if goal_result.lower:
        upper_pps = goal_result.upper.load_pps if goal_result.upper else None
        # Bounds so far apart say little more than the lower one.
        limit = Limit.UNKNOWN if _is_wide(goal_result) else goal_result.limit
        yield build_goal_measure(goal_result.goal, goal_result.lower.load_pps, upper_pps, limit)
    if goal_result.estimate_pps is None:
        return
    if result.plan.search.algorithm == "mrr":
        if goal_result is result.goals[0]:  # the same for all goals
            yield Measure(
                key="mrr",
                text="MRR",
                unit="pps",
                better="higher",
                value=goal_result.estimate_pps,
                limit=_find_mrr_limit(result),
            )
    elif not goal_result.lower:
        sd_pps = goal_result.estimate_sd_pps or 0.0
        yield Measure(
            key=f"{key}_estimate",
            text=f"{text} (estimate)",
            unit="pps",
            better="higher",
            value=goal_result.estimate_pps,
            low=goal_result.estimate_pps - sd_pps,
            high=goal_result.estimate_pps + sd_pps,
            limit=_find_mrr_limit(result),
        )


def _is_wide(goal_result: GoalResult) -> bool:
    lower, upper, width_ratio = goal_result.lower, goal_result.upper, goal_result.goal.width_ratio
    if not lower or not upper or not width_ratio or goal_result.limit.sut_may_exceed:
        return False
    return (upper.load_pps - lower.load_pps) / upper.load_pps > WIDE_FACTOR * width_ratio


def _find_mrr_limit(result: RunResult) -> Limit:
    """Return the limit of an estimate: the tester, where most lost frames were never sent."""
    lost_count = sum(trial.lost_count for trial in result.trials)
    return Limit.TESTER if sum(trial.unsent_count for trial in result.trials) > lost_count else Limit.SUT


def _list_fixed_measures(trial: TrialResult, rate: str) -> Iterator[Measure]:
    """Yield received rate and loss at a fixed rate; without loss the SUT may forward more."""
    at = make_slug(rate)
    short = trial.has_shortfall
    lost_limit = Limit.TESTER if short else Limit.SUT
    yield Measure(
        key=f"forwarding_rate_at_{at}",
        text=f"forwarding rate at {rate}",
        unit="pps",
        better="higher",
        value=trial.forwarding_rate_pps,
        limit=lost_limit if trial.lost_count or short else Limit.MAX_LOAD,
    )
    if trial.offered_count:
        yield Measure(
            key=f"loss_at_{at}",
            text=f"loss at {rate}",
            unit="ratio",
            better="lower",
            value=trial.lost_count / trial.offered_count,
            limit=lost_limit,
        )


def _list_latency_measures(result: RunResult) -> Iterator[Measure]:
    for point in result.latencies:
        latency = compute_trial_latency(result.trials[point.trial_index], PERCENTILES)
        if latency is None:
            continue
        figures = {f"p{each:g}": float(latency.percentiles_ns[each]) for each in latency.percentiles_ns}
        at_key, at_text = _name_point(result, point.label)
        for name, value_ns in (figures | {"max": float(latency.max_ns)}).items():
            yield build_latency_measure(name, value_ns, at_key, at_text)


def _name_point(result: RunResult, label: str) -> tuple[str, str]:
    """Return key and display text of a latency trial's load."""
    goals = {goal_result.goal.label: goal_result.goal for goal_result in result.goals}
    point = next((each for each in result.plan.latency.points if each.label == label), None)
    if point is None or point.goal_label not in goals:
        return make_slug(label), label
    key, text = name_goal(goals[point.goal_label])
    if point.load_ratio == 1.0:
        return key, text
    share = format_ratio(point.load_ratio)
    return f"{make_slug(share)}_of_{key}", f"{share} of {text}"


def _format_goals_or_rate(plan: Plan) -> str:
    if plan.no_traffic:
        return "no traffic"
    return plan.fixed.asked if plan.fixed else "_".join(goal.label for goal in plan.search.goals).lower()


def _format_backend(result: RunResult) -> str:
    """Return the back end of the opened ports, or the planned one before ports are open."""
    if result.facts is None:
        return result.plan.engine.backend
    if result.facts.stage.name == "simulated":
        return "simulated"
    return "+".join(dict.fromkeys(port.backend for port in result.facts.ports)) or result.plan.engine.backend
