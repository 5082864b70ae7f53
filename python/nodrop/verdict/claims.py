"""What may not be said of a measure, however clear its figures look."""

from collections.abc import Mapping

from nodrop.verdict.values import Series, Verdict

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
