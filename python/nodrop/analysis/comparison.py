"""The comparison of two sides, metric by metric."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from nodrop.analysis import text
from nodrop.analysis.blocked_outcomes import BlockedOutcomes, find_blocked_outcomes, find_drift_blocks
from nodrop.analysis.flags import flag_drift, flag_impossible_values, flag_irregular_runs, flag_run_order
from nodrop.analysis.paired_metrics import PairedMetric, pair_metrics, scale_margin, to_effect
from nodrop.analysis.run_order import is_b_later, pair_alternating_runs
from nodrop.analysis.statistics import (
    PAIRS_MIN,
    EffectEstimate,
    adjust_p_values,
    count_assignments,
    estimate_drift,
    estimate_effect,
    find_repeats_needed,
)
from nodrop.analysis.types import (
    DEFAULT_MARGINS,
    Comparison,
    ComparisonOutcome,
    Margins,
    MetricComparison,
    SetupDifference,
    Side,
)
from nodrop.model.summary import MeasureUnit, Summary

HEADLINE_ALPHA_SHARE = 0.8
"""Share of the family-wise error rate that the headline measures get."""
SCATTER_MIN: dict[MeasureUnit, float] = {"pps": 0.001, "ns": 0.01, "ratio": 1e-5}
"""Smallest credible standard deviation between runs: 0.1 % of a rate, 1 % of a latency."""
SCATTER_ASSUMED: dict[MeasureUnit, float] = {"pps": 0.02, "ns": 0.2, "ratio": 0.001}
"""Standard deviation assumed for a single run of each side: as observed on a shared machine."""
HEADLINE_ORDER: tuple[MeasureUnit, ...] = ("pps", "ratio", "ns")
"""Units in order of preference for headline measures."""


def compare(
    a: Sequence[Summary],
    b: Sequence[Summary],
    *,
    margins: Margins = DEFAULT_MARGINS,
    confidence: float = 0.95,
    metrics: Sequence[str] = (),
    differences: Sequence[SetupDifference] = (),
) -> Comparison:
    """Compare B with A.

    Args:
        a, b: runs of one setup each, in any order; runs are compared by frame size.
        margins: equivalence margins.
        confidence: of the intervals; 1 - confidence bounds the probability that any measure is called better or worse
            where nothing differs.
        metrics: keys of the measures to compare, all as headlines; empty: all measures, with rates as headlines.
        differences: differences between the setups, stored in the comparison.

    Raises: ConfigError where the sides have no measure in common.
    """
    subjects = list(pair_metrics(a, b, metrics))
    headlines = _mark_headlines(subjects, bool(metrics))
    estimates = [_estimate(subject) for subject in subjects]
    weights = _compute_weights(headlines)
    chances = adjust_p_values([each.p for each in estimates], weights)
    judged = [
        _compare_metric(subject, each, chance, DecisionRule(headline, weight, margins, confidence))
        for subject, each, chance, headline, weight in zip(
            subjects, estimates, chances, headlines, weights, strict=True
        )
    ]
    judged.sort(key=lambda metric: not metric.headline)
    verdict = combine_outcomes(judged)
    return Comparison(
        verdict=verdict,
        sentence=text.format_headline(verdict, judged, confidence),
        a=_build_side(a),
        b=_build_side(b),
        confidence=confidence,
        paired=any(metric.method == "paired" for metric in judged),
        metrics=tuple(judged),
        flags=(*flag_impossible_values(a, b), *flag_run_order(a, b)),
        advice=tuple(text.suggest_next_steps(verdict, judged, pair_alternating_runs(a, b), bool(differences))),
        differences=tuple(differences),
    )


def combine_outcomes(metrics: Sequence[MetricComparison]) -> ComparisonOutcome:
    """Return the overall outcome: worse if any measure is worse."""
    outcomes = {metric.verdict for metric in metrics}
    for strong in (ComparisonOutcome.WORSE, ComparisonOutcome.BETTER):
        if strong in outcomes:
            return strong
    headlines = {metric.verdict for metric in metrics if metric.headline}
    return ComparisonOutcome.EQUIVALENT if headlines == {ComparisonOutcome.EQUIVALENT} else ComparisonOutcome.UNDECIDED


class DecisionRule(NamedTuple):
    """The parameters for the comparison of one measure."""

    headline: bool
    weight: float
    """The share of the measure in the family-wise error rate."""
    margins: Margins
    confidence: float

    @property
    def alpha(self) -> float:
        """The error rate."""
        return 1 - self.confidence

    @property
    def ways_needed(self) -> int:
        """Fewest assignments of runs to sides with which chance alone rarely separates the sides."""
        return math.ceil(1 / self.alpha - 1e-9)


def _compare_metric(
    subject: PairedMetric, estimate: EffectEstimate, chance: float, rule: DecisionRule
) -> MetricComparison:
    unit = subject.unit
    margin = scale_margin(getattr(rule.margins, unit), unit)
    slope = flag_drift(drifting := estimate_drift(*subject.values))
    blocked = find_blocked_outcomes(subject.a, subject.b, subject.higher_is_better, subject.missing)
    later = is_b_later(subject.a.points, subject.b.points)
    if slope and drifting and later is not None:
        steps = (len(subject.a.points) + len(subject.b.points)) / 2 * (1 if later else -1)
        blocked = {**blocked, **find_drift_blocks(drifting.slope * steps, estimate.effect, subject.higher_is_better)}
    p_equivalent = estimate.p_equivalent(margin)
    needs_repeats = _count_assignments(estimate, subject) < rule.ways_needed
    if needs_repeats:
        verdict, reason = (
            ComparisonOutcome.UNDECIDED,
            text.explain_too_few_runs(len(subject.a.points), len(subject.b.points)),
        )
    else:
        verdict, reason = _decide(estimate, subject, blocked, rule, chance=chance, p_equivalent=p_equivalent)
    low, high = estimate.interval(rule.confidence)
    needed = None
    if verdict is ComparisonOutcome.UNDECIDED and rule.headline and not blocked:
        needed = _find_repeats_needed(estimate, margin, subject, rule)
    return MetricComparison(
        key=subject.key,
        text=subject.text,
        frame_size=subject.frame_size,
        unit=unit,
        higher_is_better=subject.higher_is_better,
        headline=rule.headline,
        verdict=verdict,
        effect=to_effect(estimate.effect, unit),
        low=to_effect(low, unit),
        high=to_effect(high, unit),
        margin=getattr(rule.margins, unit),
        p=estimate.p,
        p_adjusted=chance,
        p_equivalent=p_equivalent,
        method=estimate.method,
        a=subject.a,
        b=subject.b,
        repeats_needed=needed,
        reason=reason,
        needs_repeats=needs_repeats,
        flags=(*flag_irregular_runs(subject.a, subject.b, unit), *((slope,) if slope else ())),
    )


def _decide(
    estimate: EffectEstimate,
    subject: PairedMetric,
    blocked: BlockedOutcomes,
    rule: DecisionRule,
    *,
    chance: float,
    p_equivalent: float,
) -> tuple[ComparisonOutcome, str]:
    """Return the outcome of enough runs, and the reason where it is undecided."""
    if p_equivalent <= rule.alpha / 2:  # the whole interval is inside the margin
        outcome = ComparisonOutcome.EQUIVALENT
    elif chance <= rule.alpha:
        outcome = (
            ComparisonOutcome.BETTER if (estimate.effect > 0) == subject.higher_is_better else ComparisonOutcome.WORSE
        )
    else:
        return ComparisonOutcome.UNDECIDED, text.explain_no_difference(estimate.p <= rule.alpha)
    if outcome in blocked:
        return ComparisonOutcome.UNDECIDED, blocked[outcome]
    return outcome, ""


def _count_assignments(estimate: EffectEstimate, subject: PairedMetric) -> int:
    """Return the number of ways to assign the runs to the sides."""
    count_a, count_b = len(subject.a.points), len(subject.b.points)
    return 2**count_a if estimate.method == "paired" else count_assignments(count_a, count_b)


def _find_repeats_needed(
    estimate: EffectEstimate, margin: float, subject: PairedMetric, rule: DecisionRule
) -> int | None:
    fewest = min(len(subject.a.points), len(subject.b.points))
    at_least = next(count for count in range(2, 100) if count_assignments(count, count) >= rule.ways_needed)
    enough = find_repeats_needed(estimate, margin, rule.alpha * rule.weight, rule.alpha / 2, max(at_least, fewest + 1))
    return None if enough is None else enough - fewest


def _estimate(subject: PairedMetric) -> EffectEstimate:
    a, b = subject.values
    pairs = pair_alternating_runs(subject.a.points, subject.b.points) if a.runs >= PAIRS_MIN else ()
    return estimate_effect(a, b, SCATTER_MIN[subject.unit], SCATTER_ASSUMED[subject.unit], pairs)


def _mark_headlines(subjects: Sequence[PairedMetric], named: bool) -> list[bool]:
    units = {subject.unit for subject in subjects}
    first = next(unit for unit in HEADLINE_ORDER if unit in units)
    return [named or subject.unit == first for subject in subjects]


def _compute_weights(headlines: Sequence[bool]) -> list[float]:
    """Return the shares of the measures in the family-wise error rate; their sum is 1."""
    count = sum(headlines)
    other_count = len(headlines) - count
    share = HEADLINE_ALPHA_SHARE if other_count else 1.0
    return [share / count if headline else (1 - share) / other_count for headline in headlines]


def _build_side(runs: Sequence[Summary]) -> Side:
    ordered = sorted(runs, key=lambda run: (run.started_at, run.run_id))
    labels = {run.label for run in ordered}
    label = labels.pop() if len(labels) == 1 else None
    suts = list(dict.fromkeys(run.sut for run in ordered))
    sut = suts[0] if len(suts) == 1 else f"{suts[0]} and {len(suts) - 1} more"
    return Side(
        name=label or (ordered[0].run_id if len(ordered) == 1 else sut),
        run_ids=tuple(run.run_id for run in ordered),
        sut=sut,
    )
