"""What may not be said of a measure, however clear its figures look."""

from collections.abc import Mapping

from nodrop.analysis.statistics import Drift
from nodrop.analysis.types import Series, Verdict
from nodrop.model.goal import Flag

DRIFT_CHANCE = 0.01
"""Below that a slope is believed."""
EXPLAINED = 0.5
"""From this share of a difference on it may be the drift's."""
Blocked = Mapping[Verdict, str]
"""Verdicts that are not to be had, each with the reason."""


def blocked(a: Series, b: Series, higher_is_better: bool, missing: tuple[int, int]) -> Blocked:
    """What figures that are not the SUT's, or are not there, rule out.

    A figure that is only "at least" may in truth be better: beside one that is known, that it is no worse can be said.
    """
    stops: dict[Verdict, str] = {}
    if a.at_least:
        stops |= _limited("A", Verdict.BETTER, higher_is_better)
    if b.at_least:
        stops |= _limited("B", Verdict.WORSE, higher_is_better)
    if missing[0]:
        stops |= _missing("A", missing[0], Verdict.WORSE)
    if missing[1]:
        stops |= _missing("B", missing[1], Verdict.BETTER)
    return stops


def drift_flag(drift: Drift | None) -> Flag | None:
    """That figures went one way while the runs of a side were made."""
    if drift is None or drift.p >= DRIFT_CHANCE:
        return None
    way = "rose" if drift.slope > 0 else "fell"
    return Flag(
        code="drift",
        text=f"Figures {way} from run to run: the machine or the SUT drifts; measured in turn that cancels.",
    )


def drifted(carried: float, effect: float, higher_is_better: bool) -> Blocked:
    """What a drift rules out where one side was measured after the other: the difference that it makes by itself.

    Args:
        carried: what the drift would have made of no difference at all, from the middle of A's runs to that of B's.
        effect: what is seen.
        higher_is_better: of the measure.
    """
    if carried * effect <= 0 or abs(carried) < EXPLAINED * abs(effect):
        return {}
    made = Verdict.BETTER if (effect > 0) == higher_is_better else Verdict.WORSE
    reason = "the machine drifted that way, and one side was measured after the other"
    return dict.fromkeys((made, Verdict.EQUIVALENT), reason)


def _limited(side: str, unknowable: Verdict, higher_is_better: bool) -> Blocked:
    if not higher_is_better:
        reason = f"{side}'s figure was taken where something other than the SUT was the limit"
        return dict.fromkeys((Verdict.WORSE, Verdict.BETTER, Verdict.EQUIVALENT), reason)
    reason = f"{side} forwards at least that; something other than the SUT was the limit, so it may be more"
    return dict.fromkeys((unknowable, Verdict.EQUIVALENT), reason)


def _missing(side: str, count: int, flattering: Verdict) -> Blocked:
    """Runs without an answer may be those that went worst."""
    runs = "one run has" if count == 1 else f"{count} runs have"
    return dict.fromkeys((flattering, Verdict.EQUIVALENT), f"of {side} {runs} no such figure")
