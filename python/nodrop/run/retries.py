"""Trials that say nothing of the SUT: known as such, and measured again so often as is worth it."""

from collections.abc import Sequence

from nodrop.errors import SearchError
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Doubt, TimeSummary, TrialResult, Validity, Verdict
from nodrop.units import format_count, format_pps, format_seconds

ON_TIME_NS = 1_000_000
"""A sender half of whose frames are less late than this is fast enough for the load."""


def without_hold_ups(result: TrialResult, plan: SearchPlan, earlier: Sequence[TrialResult]) -> TrialResult:
    """The trial; invalid where nothing but a hold-up of the tester decides a goal, so that it is measured again.

    A sender that other work keeps off its CPU lets frames go unsent. They count as lost, but say nothing of the SUT,
    nor of the rate the tester can send. Where that happens again at each repeat, the last trial stands.

    Args:
        result: a trial of the search.
        plan: what is searched for.
        earlier: the trials before it.
    """
    if not _is_decided_by_hold_up(result, plan) or _invalid_count(earlier) >= plan.repeat_invalid:
        return result
    latest_ns = max(lateness.max_ns for lateness in _lateness(result))
    doubt = Doubt(
        code="held_up",
        verdict=Verdict.INVALID,
        text=f"the tester, on time with most frames, was held up for up to {format_seconds(latest_ns / 1e9)}; "
        f"the {format_count(result.unsent_count)} frames it did not send would decide this trial",
    )
    doubts = (*result.validity.doubts, doubt)
    return result.model_copy(update={"validity": Validity(verdict=Verdict.INVALID, doubts=doubts)})


def _is_decided_by_hold_up(result: TrialResult, plan: SearchPlan) -> bool:
    """Whether some goal is missed for unsent frames alone, though the tester can send that load."""
    if not result.unsent_count or result.validity.verdict is Verdict.INVALID:
        return False
    sut_loss_ratio = result.lost_count / (result.offered_count + result.unsent_count)
    medians_ns = [lateness.p50_ns for lateness in _lateness(result)]
    is_decided = any(sut_loss_ratio <= goal.loss_ratio < result.loss_ratio for goal in plan.goals)
    return is_decided and bool(medians_ns) and max(medians_ns) < ON_TIME_NS


def _lateness(result: TrialResult) -> list[TimeSummary]:
    return [sender.lateness for sender in result.senders if sender.lateness]


def _invalid_count(trials: Sequence[TrialResult]) -> int:
    """How many of the latest trials are invalid, up to the last that is not."""
    verdicts = [result.validity.verdict is Verdict.INVALID for result in reversed(trials)]
    return verdicts.index(False) if False in verdicts else len(verdicts)


def check_repeats(trials: Sequence[TrialResult], repeat_invalid: int) -> None:
    """Raises SearchError when the latest trials, one more than may be repeated, are all invalid."""
    if _invalid_count(trials) <= repeat_invalid:
        return
    latest = trials[-1]
    raise SearchError(
        f"a valid trial at {format_pps(latest.trial.intended_load_pps)} asked, "
        f"{repeat_invalid + 1} in a row were invalid: {_reasons(latest)}; "
        "give the tester more room (--max-load; engine.queue_slots of nodrop's own) or more tries "
        "(search.repeat_invalid)"
    )


def check_valid(trial: TrialResult) -> None:
    """Raises SearchError for a trial at a fixed rate that says nothing of the SUT."""
    if trial.validity.verdict is Verdict.INVALID:
        raise SearchError(
            f"a valid trial at {format_pps(trial.trial.intended_load_pps)} asked, it is invalid: {_reasons(trial)}; "
            "ask for less (rate), or give the tester more room (engine.queue_slots of nodrop's own)"
        )


def _reasons(trial: TrialResult) -> str:
    return "; ".join(doubt.text for doubt in trial.validity.doubts if doubt.verdict is Verdict.INVALID)
