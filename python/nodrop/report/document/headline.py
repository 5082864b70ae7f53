"""The first screen of a report: what was measured and found, in words and cards, and how far it can be believed."""

from collections.abc import Iterator, Sequence

from nodrop.formatting import (
    LIMIT_NAMES,
    describe_run,
    format_load_per_direction,
    format_goal_load,
    format_goal,
    format_small_ratio,
    describe_traffic,
    format_width,
    format_wire_rate,
)
from nodrop.model.goal import GoalResult, Limit
from nodrop.model.latency import LatencyFigures, latency_of
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite
from nodrop.model.trial import TrialResult, ValidityStatus
from nodrop.report.document.blocks import Card, Tone
from nodrop.report.document.labels import counted, is_simulated, known_sut_text, names, when_text
from nodrop.report.fixed import fixed_trial
from nodrop.report.terminal import no_traffic_text, warning_lines
from nodrop.units import format_ns, format_pps, format_ratio, format_seconds

TOLD_MAX = 8
"""Runs whose figures fit into a sentence."""
UNSURE = 0.1
"""Chance of a figure to be too high from which on that is said first."""
SHOWN = (50.0, 99.0, 99.9)
"""Percentiles on cards."""


def sentence(results: Sequence[RunResult]) -> str:
    """What was measured and found, for somebody who knows nothing of it."""
    return _sentence(results[0]) if len(results) == 1 else _sentence_of_several(results)


def _sentence_of_several(results: Sequence[RunResult]) -> str:
    """The first figure of each, in a row where they are few."""
    suts = ", ".join(dict.fromkeys(map(known_sut_text, results)))
    told = [f"{_first_figure(result)} ({name})" for name, result in zip(names(results), results, strict=True)]
    goals = {result.goals[0].goal.loss_ratio for result in results if result.goals}
    if len(goals) != 1 or len(told) > TOLD_MAX:
        return f"nodrop made {counted(len(results), 'run')} through {suts}. They stand side by side below."
    (ratio,) = goals
    fate = f"losing at most {format_small_ratio(ratio)} of the frames" if ratio else "without losing a frame"
    return f"The highest rate that comes through {suts}, {fate}: {', '.join(told)}."


def _first_figure(result: RunResult) -> str:
    return format_goal_load(result.goals[0]) if result.goals else "none"


def _sentence(result: RunResult) -> str:
    plan, known = result.plan, known_sut_text(result)
    sent = f"nodrop sent {describe_traffic(plan.traffic)}, through {known},"
    if plan.no_traffic:
        return f"nodrop brought up the path through {known}. {no_traffic_text(result)}"
    if trial := fixed_trial(result):
        return f"{sent} at {format_pps(trial.offered_load_pps)} for {format_seconds(trial.duration_s)}. {_lost(trial)}"
    if not result.goals:
        return f"{sent} {describe_run(plan)}. It ended before anything was found."
    found = [text for text in map(_found_sentence, result.goals) if text]
    if not found:
        return f"{sent} to find the highest rate that comes through. No rate was found that meets what was asked."
    how = f"To find that, nodrop sent it {describe_traffic(plan.traffic)}."
    return f"{known} forwards {' and '.join(found)}. {how}"


def _lost(trial: TrialResult) -> str:
    if not trial.lost_count:
        return "All of them came through."
    return f"{format_small_ratio(trial.lost_count / trial.offered_count)} of them were lost."


def _found_sentence(found: GoalResult) -> str:
    if not found.lower:
        return ""
    ratio = found.goal.loss_ratio
    fate = f"losing at most {format_small_ratio(ratio)} of the frames" if ratio else "without losing a frame"
    return f"{format_goal_load(found)} {fate} ({found.goal.label})"


def cards(results: Sequence[RunResult]) -> tuple[Card, ...]:
    """The figures of a run; of several, a card for each."""
    if len(results) > 1:
        named = zip(names(results), results, strict=True)
        return tuple(_run_card(name, result) for name, result in named)[:TOLD_MAX]
    result = results[0]
    if trial := fixed_trial(result):
        return tuple(_fixed_cards(result, trial))
    return tuple(_goal_card(found, result) for found in result.goals)


def _run_card(name: str, result: RunResult) -> Card:
    """The first goal of a run in large, the others under it."""
    if trial := fixed_trial(result):
        first, *_ = cards = tuple(_fixed_cards(result, trial))
        details = tuple(f"{card.label}: {card.text}" for card in cards[1:])
        return first.model_copy(update={"label": f"{name}: sent", "details": details})
    cards = tuple(_goal_card(found, result) for found in result.goals)
    if not cards:
        return Card(label=name, text="nothing", about=result.error or "nothing was found", tone="bad")
    others = tuple(f"{card.label}: {card.text}" for card in cards[1:])
    return cards[0].model_copy(
        update={"label": f"{name}: {cards[0].label}", "details": (*others, *cards[0].details[1:])}
    )


def _goal_card(found: GoalResult, result: RunResult) -> Card:
    ratio = found.goal.loss_ratio
    asked = f"at most {format_small_ratio(ratio)} lost" if ratio else "no frame lost"
    return Card(
        label=format_goal(found.goal) if ratio else found.goal.label,
        text=format_goal_load(found),
        about=f"highest rate with {asked}",
        details=tuple(_goal_details(found, result)),
        tone="good" if found.regular and found.limit is Limit.SUT else "caution",
    )


def _goal_details(found: GoalResult, result: RunResult) -> Iterator[str]:
    traffic = result.plan.traffic
    if not found.lower:
        yield found.explanation
        return
    yield f"{format_load_per_direction(found.lower.load_pps, traffic)}, {format_wire_rate(found.lower.load_pps, traffic)} on the wire"
    if found.upper:
        yield f"not at {format_pps(found.upper.load_pps)} any more, {format_width(found)} above"
    at = next((each for each in result.latencies if each.label == found.goal.label), None)
    if at and (latency := latency_of(result.trials[at.trial_index], SHOWN)):
        yield f"latency {latency_text(latency)}"
    yield f"limited by {LIMIT_NAMES[found.limit]}" if found.limit is not Limit.UNKNOWN else "the limit is not known yet"
    if found.lower_error_probability is not None:
        yield f"chance that it is too high: {format_ratio(found.lower_error_probability)}"


def latency_text(latency: LatencyFigures) -> str:
    """`12 µs median, 43 µs p99`; what is not known is left out."""
    known = latency.percentiles_ns
    names = {50.0: "median", 99.0: "p99", 99.9: "p99.9"}
    parts = [f"{format_ns(known[each])} {names[each]}" for each in SHOWN if each in known]
    return ", ".join(parts or [f"{format_ns(latency.mean_ns)} mean"])


def _fixed_cards(result: RunResult, trial: TrialResult) -> Iterator[Card]:
    traffic, offered_pps = result.plan.traffic, trial.offered_load_pps
    fell_short = trial.offered_count < trial.intended_count * 0.9999
    yield Card(
        label="Sent",
        text=format_pps(offered_pps),
        about=f"asked for {result.plan.fixed.asked if result.plan.fixed else ''}",
        details=(f"{format_load_per_direction(offered_pps, traffic)}, {format_wire_rate(offered_pps, traffic)} on the wire",),
        tone="caution" if fell_short else "plain",
    )
    ratio = trial.lost_count / trial.offered_count if trial.offered_count else 0.0
    yield Card(
        label="Lost",
        text=format_small_ratio(ratio),
        about="share of the frames sent that did not arrive",
        details=(f"{trial.lost_count:,} of {trial.offered_count:,} frames",),
        tone="caution" if trial.lost_count else "good",
    )
    if latency := latency_of(trial, SHOWN):
        yield Card(
            label="Latency",
            text=format_ns(latency.percentiles_ns.get(50.0, latency.mean_ns)),
            about="half of the frames were faster",
            details=(latency_text(latency).partition(", ")[2], f"at most {format_ns(latency.max_ns)}"),
        )


def trust(results: Sequence[RunResult]) -> tuple[Tone, str]:
    """How far figures can be believed, and why."""
    tones: list[Tone] = []
    texts: list[str] = []
    for each, result in zip(names(results), results, strict=True):
        tone, reasons = _trust(result)
        tones.append(tone)
        name = f"{each}: " if len(results) > 1 else ""
        texts += [f"{name}{reason}" for reason in reasons]
    worst: Tone = "bad" if "bad" in tones else "caution" if "caution" in tones else "good"
    opening = {
        "bad": "Not a result to rely on",
        "caution": "Read these figures with care",
        "good": "Nothing speaks against these figures",
    }[worst]
    return worst, f"{opening}: {'; '.join(dict.fromkeys(texts))}."


def _trust(result: RunResult) -> tuple[Tone, list[str]]:
    if result.status is Status.FAILED:
        return "bad", ["the run failed" + (f" ({result.error})" if result.error else "")]
    reasons = ["no packet was sent, it is a model"] if is_simulated(result) else []
    if result.status is not Status.COMPLETE:
        reasons.append(f"the run is {result.status.value.replace('_', ' ')}")
    limits = {found.limit for found in result.goals if found.limit is not Limit.SUT}
    reasons += [f"the limit is {LIMIT_NAMES[limit]}, not the SUT" for limit in sorted(limits) if limit in TESTERS]
    if Limit.MAX_LOAD in limits:
        reasons.append("nothing higher was tried, the SUT may forward more")
    if unsure := [found.goal.label for found in result.goals if not found.regular and found.limit not in TESTERS]:
        reasons.append(f"{' and '.join(unsure)} {'is' if len(unsure) == 1 else 'are'} not confirmed on both sides")
    unlikely = [found for found in result.goals if (found.lower_error_probability or 0.0) >= UNSURE]
    reasons += [
        f"{found.goal.label} may be too high (chance {format_ratio(found.lower_error_probability or 0.0)})"
        for found in unlikely
    ]
    if suspect := _suspect(result):
        reasons.append(suspect)
    if reasons:
        return "caution", reasons
    warned = len(warning_lines(result))
    also = f", {warned} {'remark' if warned == 1 else 'remarks'} below" if warned else ""
    return "good", [f"{counted(len(result.trials), 'trial')} made, each figure confirmed on both sides{also}"]


TESTERS = frozenset({Limit.TESTER, Limit.SHARED_CPU})


def _suspect(result: RunResult) -> str:
    """That trials which figures rest on are doubtful, or that some did not count."""
    rests = {bound.trial_index for found in result.goals for bound in (found.lower, found.upper) if bound}
    rests |= {latency.trial_index for latency in result.latencies}
    suspect = sum(result.trials[index].validity.verdict is not ValidityStatus.VALID for index in rests)
    if not suspect:
        return ""
    if suspect == len(rests):
        return "the trial they rest on is suspect" if suspect == 1 else f"all {suspect} trials they rest on are suspect"
    return f"{suspect} of the {len(rests)} trials they rest on {'are' if suspect > 1 else 'is'} suspect"


def facts(results: Sequence[RunResult], suite: Suite | None = None) -> tuple[tuple[str, str], ...]:
    """When, where and with what, in short."""
    first = results[0]
    pairs = [
        ("measured", when_text(first)),
        ("label", ", ".join(list(dict.fromkeys(filter(None, (each.plan.label for each in results))))[:4])),
        ("run", first.run_id if len(results) == 1 else ""),
        ("suite", suite.suite_id if suite else ""),
        ("search", "" if first.plan.fixed or first.plan.no_traffic else _search_text(first)),
    ]
    if first.facts:
        host = first.facts.host
        pairs += [
            ("host", host.name),
            ("machine", f"{host.core_count} x {host.cpu_model}, Linux {host.kernel}"),
            ("packets by", " and ".join(dict.fromkeys(port.backend for port in first.facts.ports))),
        ]
    return tuple((name, text) for name, text in pairs if text)


def _search_text(result: RunResult) -> str:
    return f"{result.plan.search.algorithm}, {result.plan.profile} profile"
