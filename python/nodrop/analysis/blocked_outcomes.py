"""Outcomes ruled out for a metric regardless of its statistics."""

from collections.abc import Mapping

from nodrop.analysis.types import ComparisonOutcome, MetricSeries

DRIFT_SHARE_MIN = 0.5
"""Smallest share of a difference, explained by drift, that blocks an outcome."""
BlockedOutcomes = Mapping[ComparisonOutcome, str]
"""Outcomes that are ruled out, each with the reason."""


def find_blocked_outcomes(
    a: MetricSeries, b: MetricSeries, higher_is_better: bool, missing: tuple[int, int]
) -> BlockedOutcomes:
    """Return the outcomes that limited or missing values rule out.

    A value limited by something other than the SUT is a lower limit: it can show "not worse", but not "worse".
    """
    stops: dict[ComparisonOutcome, str] = {}
    if a.at_least:
        stops |= _block_for_limit("A", ComparisonOutcome.BETTER, higher_is_better)
    if b.at_least:
        stops |= _block_for_limit("B", ComparisonOutcome.WORSE, higher_is_better)
    if missing[0]:
        stops |= _block_for_missing_runs("A", missing[0], ComparisonOutcome.WORSE)
    if missing[1]:
        stops |= _block_for_missing_runs("B", missing[1], ComparisonOutcome.BETTER)
    return stops


def find_drift_blocks(carried: float, effect: float, higher_is_better: bool) -> BlockedOutcomes:
    """Return the outcomes that drift rules out where one side was measured after the other.

    Args:
        carried: the difference that drift alone would cause, from the middle of A's runs to the middle of B's.
        effect: the measured difference.
        higher_is_better: the direction of the measure.
    """
    if carried * effect <= 0 or abs(carried) < DRIFT_SHARE_MIN * abs(effect):
        return {}
    apparent = ComparisonOutcome.BETTER if (effect > 0) == higher_is_better else ComparisonOutcome.WORSE
    reason = "the machine drifted in the same direction, and one side was measured after the other"
    return dict.fromkeys((apparent, ComparisonOutcome.EQUIVALENT), reason)


def _block_for_limit(side: str, unknowable: ComparisonOutcome, higher_is_better: bool) -> BlockedOutcomes:
    if not higher_is_better:
        reason = f"something other than the SUT limited the measurement of {side}"
        return dict.fromkeys((ComparisonOutcome.WORSE, ComparisonOutcome.BETTER, ComparisonOutcome.EQUIVALENT), reason)
    reason = f"{side} forwards at least this rate; something other than the SUT was the limit"
    return dict.fromkeys((unknowable, ComparisonOutcome.EQUIVALENT), reason)


def _block_for_missing_runs(side: str, count: int, flattering: ComparisonOutcome) -> BlockedOutcomes:
    """Block the outcomes that missing runs would flatter: they may be the worst ones."""
    runs = "one run of" if count == 1 else f"{count} runs of"
    return dict.fromkeys((flattering, ComparisonOutcome.EQUIVALENT), f"{runs} {side} did not measure it")
