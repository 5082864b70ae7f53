"""The first screen of a report: measurement and result in words and cards, and how far to trust them."""

from collections.abc import Iterator, Sequence

from nodrop.formatting import (
    LIMIT_NAMES,
    describe_run,
    describe_traffic,
    format_goal,
    format_goal_load,
    format_load_per_direction,
    format_small_ratio,
    format_width,
    format_wire_rate,
)
from nodrop.formatting.messages import format_message
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.latency import LatencyFigures, compute_trial_latency
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.report.document.blocks import Card, Tone
from nodrop.report.document.labels import describe_path_check, describe_sut, format_time, is_simulated, name_runs
from nodrop.report.document.repeatability import describe_repeatability
from nodrop.report.document.warnings import list_warnings
from nodrop.units import format_count, format_ns, format_pps, format_ratio, format_seconds

RUNS_MAX = 8
"""Runs up to which the first screen has a figure of each."""
ERROR_PROBABILITY_MIN = 0.1
"""The probability of a figure being too high that reduces the trust in it."""
CARD_PERCENTILES = {50.0: "median", 99.0: "p99", 99.9: "p99.9"}
TRUST_OPENINGS: dict[Tone, str] = {
    "bad": "Do not rely on this result",
    "caution": "Read these figures with care",
    "good": "No reason to doubt these figures",
}


def build_sentence(results: Sequence[RunResult]) -> str:
    """Return measurement and result for readers new to the field."""
    return _describe_run(results[0]) if len(results) == 1 else _describe_runs(results)


def _describe_runs(results: Sequence[RunResult]) -> str:
    """Return the first figure of each run, if they are few and of one goal."""
    suts = ", ".join(dict.fromkeys(map(describe_sut, results)))
    named = zip(name_runs(results), results, strict=True)
    figures = [f"{format_goal_load(each.goals[0]) if each.goals else 'none'} ({name})" for name, each in named]
    goals = {result.goals[0].goal.loss_ratio for result in results if result.goals}
    if len(goals) != 1 or len(figures) > RUNS_MAX:
        return f"nodrop made {format_count(len(results), 'run')} through {suts}. The tables below compare them."
    return f"The highest rate through {suts}, {_describe_loss_limit(goals.pop())}: {', '.join(figures)}."


def _describe_run(result: RunResult) -> str:
    plan, sut = result.plan, describe_sut(result)
    sent = f"nodrop sent {describe_traffic(plan.traffic)}, through {sut},"
    if plan.no_traffic:
        return f"nodrop brought up the path through {sut}. {describe_path_check(result)}"
    if trial := result.fixed_trial:
        lost = (
            f"{format_small_ratio(trial.lost_count / trial.offered_count)} of them were"
            if trial.lost_count
            else "None was"
        )
        rate = f"at {format_pps(trial.offered_load_pps)} for {format_seconds(trial.duration_s)}"
        return f"{sent} {rate}. {lost} lost."
    if not result.goals:
        return f"{sent} {describe_run(plan)}. The run ended without a result."
    rates = [
        f"{format_goal_load(each)} {_describe_loss_limit(each.goal.loss_ratio)} ({each.goal.label})"
        for each in result.goals
        if each.lower
    ]
    if not rates:
        return f"{sent} to find the highest rate. No rate met the goals."
    return f"{sut} forwards {' and '.join(rates)}. To find that, nodrop sent it {describe_traffic(plan.traffic)}."


def _describe_loss_limit(loss_ratio: float) -> str:
    return f"losing at most {format_small_ratio(loss_ratio)} of the frames" if loss_ratio else "without losing a frame"


def build_cards(results: Sequence[RunResult]) -> tuple[Card, ...]:
    """Return the figures of a run, or a card for each of several runs."""
    if len(results) > 1:
        named = zip(name_runs(results), results, strict=True)
        return tuple(_build_run_card(name, result) for name, result in named)[:RUNS_MAX]
    result = results[0]
    if trial := result.fixed_trial:
        return tuple(_build_fixed_cards(result, trial))
    return tuple(_build_goal_card(goal_result, result) for goal_result in result.goals)


def _build_run_card(name: str, result: RunResult) -> Card:
    """Return the first goal of a run in large, the others below it."""
    if trial := result.fixed_trial:
        first, *more = tuple(_build_fixed_cards(result, trial))
        details = tuple(f"{card.label}: {card.text}" for card in more)
        return first.replace(label=f"{name}: sent", details=details)
    cards = tuple(_build_goal_card(goal_result, result) for goal_result in result.goals)
    if not cards:
        return Card(label=name, text="nothing", about=result.error or "no result", tone="bad")
    details = tuple(f"{card.label}: {card.text}" for card in cards[1:])
    return cards[0].replace(label=f"{name}: {cards[0].label}", details=(*details, *cards[0].details[1:]))


def _build_goal_card(goal_result: GoalResult, result: RunResult) -> Card:
    ratio = goal_result.goal.loss_ratio
    loss = f"at most {format_small_ratio(ratio)} lost" if ratio else "no frame lost"
    return Card(
        label=format_goal(goal_result.goal) if ratio else goal_result.goal.label,
        text=format_goal_load(goal_result),
        about=f"highest rate with {loss}",
        details=tuple(_list_goal_details(goal_result, result)),
        tone="caution" if needs_care(goal_result, result) else "good",
    )


def needs_care(goal_result: GoalResult, result: RunResult) -> bool:
    """Return whether a figure is unconfirmed, not the SUT's, wide, perhaps too high, or of suspect trials."""
    return (
        not goal_result.lower
        or not goal_result.regular
        or goal_result.limit is not Limit.SUT
        or (goal_result.lower_error_probability or 0.0) >= ERROR_PROBABILITY_MIN
        or any(flag.code == "wide-interval" for flag in goal_result.flags)
        or any(
            result.trials[index].validity.verdict is not ValidityStatus.VALID
            for index in _list_bound_trials(goal_result)
        )
    )


def _list_bound_trials(goal_result: GoalResult) -> list[int]:
    """Return the indices of the trials behind the bounds."""
    return [bound.trial_index for bound in (goal_result.lower, goal_result.upper) if bound]


def _list_goal_details(goal_result: GoalResult, result: RunResult) -> Iterator[str]:
    if not goal_result.lower:
        yield format_message(goal_result.explanation)
        return
    yield _format_rates(goal_result.lower.load_pps, result)
    if goal_result.upper:
        yield f"fails at {format_pps(goal_result.upper.load_pps)}, {format_width(goal_result)} above"
    measured = next((each for each in result.latencies if each.label == goal_result.goal.label), None)
    if measured and (latency := compute_trial_latency(result.trials[measured.trial_index], tuple(CARD_PERCENTILES))):
        yield f"latency {_format_latency(latency)}"
    limit = goal_result.limit
    yield "limit not known yet" if limit is Limit.UNKNOWN else f"limited by {LIMIT_NAMES[limit]}"
    if goal_result.lower_error_probability is not None:
        yield f"chance that it is too high: {format_ratio(goal_result.lower_error_probability)}"


def _format_rates(load_pps: float, result: RunResult) -> str:
    traffic = result.plan.traffic
    return f"{format_load_per_direction(load_pps, traffic)}, {format_wire_rate(load_pps, traffic)} on the wire"


def _format_latency(latency: LatencyFigures) -> str:
    """Return `12 µs median, 43 µs p99` without unknown percentiles."""
    percentiles_ns = latency.percentiles_ns
    parts = [
        f"{format_ns(percentiles_ns[each])} {name}" for each, name in CARD_PERCENTILES.items() if each in percentiles_ns
    ]
    return ", ".join(parts or [f"{format_ns(latency.mean_ns)} mean"])


def _build_fixed_cards(result: RunResult, trial: TrialResult) -> Iterator[Card]:
    yield Card(
        label="Sent",
        text=format_pps(trial.offered_load_pps),
        about=f"requested: {result.plan.fixed.asked if result.plan.fixed else ''}",
        details=(_format_rates(trial.offered_load_pps, result),),
        tone="caution" if trial.has_shortfall else "plain",
    )
    ratio = trial.lost_count / trial.offered_count if trial.offered_count else 0.0
    yield Card(
        label="Lost",
        text=format_small_ratio(ratio),
        about="share of the frames sent that did not arrive",
        details=(f"{format_count(trial.lost_count)} of {format_count(trial.offered_count, 'frame')}",),
        tone="caution" if trial.lost_count else "good",
    )
    if latency := compute_trial_latency(trial, tuple(CARD_PERCENTILES)):
        yield Card(
            label="Latency",
            text=format_ns(latency.percentiles_ns.get(50.0, latency.mean_ns)),
            about="half of the frames were faster",
            details=(_format_latency(latency).partition(", ")[2], f"at most {format_ns(latency.max_ns)}"),
        )


def assess_trust(results: Sequence[RunResult]) -> tuple[Tone, str]:
    """Return how far to trust the figures, and why."""
    tones: list[Tone] = []
    names: dict[str, list[str]] = {}
    for name, result in zip(name_runs(results), results, strict=True):
        tone, reasons = _assess_run(result)
        tones.append(tone)
        for reason in reasons:
            names.setdefault(reason, []).append(name)
    texts = [
        f"{'' if len(results) == 1 else 'each run: '}{reason}"
        if len(concerned) == len(results)
        else f"{', '.join(concerned)}: {reason}"
        for reason, concerned in names.items()
    ]
    worst: Tone = "bad" if "bad" in tones else "caution" if "caution" in tones else "good"
    return worst, f"{TRUST_OPENINGS[worst]}: {'; '.join(texts)}."


def _assess_run(result: RunResult) -> tuple[Tone, list[str]]:
    if result.status is Status.FAILED:
        return "bad", ["the run failed" + (f" ({result.error})" if result.error else "")]
    reasons = ["a model was measured, without packets"] if is_simulated(result) else []
    if result.status is not Status.COMPLETE:
        reasons.append(f"the run is {result.status.value.replace('_', ' ')}")
    reasons += _list_goal_doubts(result)
    if suspect := _describe_suspects(result):
        reasons.append(suspect)
    if reasons:
        return "caution", reasons
    warnings = len(list_warnings(result))
    also = f", {format_count(warnings, 'remark')} below" if warnings else ""
    confirmed = "" if result.fixed_trial else ", each figure confirmed on both sides"
    return "good", [f"{format_count(len(result.trials), 'trial')} made{confirmed}{also}"]


def _list_goal_doubts(result: RunResult) -> Iterator[str]:
    limits = {each.limit for each in result.goals if each.limit is not Limit.SUT}
    yield from (f"the limit is {LIMIT_NAMES[limit]}, not the SUT" for limit in sorted(limits) if limit.is_tester)
    if Limit.MAX_LOAD in limits:
        yield "no higher load was tried, the SUT may forward more"
    unsure = [each.goal.label for each in result.goals if not each.regular and not each.limit.is_tester]
    if unsure:
        yield f"{' and '.join(unsure)} {'is' if len(unsure) == 1 else 'are'} not confirmed on both sides"
    for each in result.goals:
        probability = each.lower_error_probability or 0.0
        if probability >= ERROR_PROBABILITY_MIN:
            yield f"{each.goal.label} {'is likely' if each.is_likely_too_high else 'may be'} too high"


def _describe_suspects(result: RunResult) -> str:
    """Return how many trials behind the figures are suspect or invalid; empty if none is."""
    indices = {index for each in result.goals for index in _list_bound_trials(each)}
    indices |= {latency.trial_index for latency in result.latencies}
    suspect = sum(result.trials[index].validity.verdict is not ValidityStatus.VALID for index in indices)
    if not suspect:
        return ""
    if suspect == len(indices):
        return (
            "the only trial behind them is suspect" if suspect == 1 else f"all {suspect} trials behind them are suspect"
        )
    return f"{suspect} of the {len(indices)} trials behind them {'is' if suspect == 1 else 'are'} suspect"


def list_facts(results: Sequence[RunResult], suite: Suite | None = None) -> tuple[tuple[str, str], ...]:
    """Return time, host and tools in short."""
    first = results[0]
    is_search = not first.plan.fixed and not first.plan.no_traffic
    pairs = [
        ("measured", format_time(suite or first)),
        ("label", ", ".join(list(dict.fromkeys(filter(None, (each.plan.label for each in results))))[:4])),
        ("run", first.run_id if len(results) == 1 else ""),
        ("suite", suite.suite_id if suite else ""),
        ("repeatability", "; ".join(describe_repeatability(first)) if len(results) == 1 else ""),
        ("search", f"{first.plan.search.algorithm}, {first.plan.profile} profile" if is_search else ""),
    ]
    if first.facts:
        host = first.facts.host
        pairs += [
            ("host", host.name),
            ("machine", f"{host.core_count} x {host.cpu_model}, Linux {host.kernel}"),
            ("packets by", " and ".join(dict.fromkeys(port.backend for port in first.facts.ports))),
        ]
    return tuple((name, text) for name, text in pairs if text)
