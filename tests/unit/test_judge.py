"""What limited a goal, told from what the trials counted."""

import pytest
from tests.searching import search_plan

from nodrop.judge import judge
from nodrop.model.goal import Goal, GoalResult, Limit
from nodrop.model.trial import StreamCounts, Trial, TrialResult, Validity, Verdict, Windows
from nodrop.search.base import Interval

PLAN = search_plan(min_load_pps=1000.0, max_load_pps=1e6, final_s=1.0, width_ratio=0.01)
NDR = Goal(label="NDR", loss_ratio=0.0)
PDR = Goal(label="PDR", loss_ratio=0.005)


def trial(index: int, load_pps: float, *, unsent: int = 0, lost: int = 0) -> TrialResult:
    """A trial of one second."""
    intended = round(load_pps)
    stream = StreamCounts(
        stream_id=0,
        tx_port=0,
        rx_port=1,
        intended_count=intended,
        offered_count=intended - unsent,
        received_count=intended - unsent - lost,
        lost_count=lost,
        duplicate_count=0,
        out_of_order_count=0,
        latency=None,
        lateness=None,
    )
    return TrialResult(
        trial=Trial(intended_load_pps=load_pps, duration_s=1.0),
        index=index,
        phase="search",
        started_at="2026-01-01T00:00:00+00:00",
        duration_s=1.0,
        stopped_early=False,
        streams=(stream,),
        tester_drop_count=0,
        tester_cpu_ratio=1.0,
        windows=Windows(end_s=(), offered_count=((),), received_count=((),)),
        validity=Validity(verdict=Verdict.VALID),
    )


def result_of(
    *trials: TrialResult,
    goal: Goal = NDR,
    lower: bool = True,
    upper: bool = True,
    final: bool = True,
    shared: bool = False,
) -> GoalResult:
    """The result of a goal between the first trial and the last."""
    interval = Interval(
        goal=goal,
        lower_index=trials[0].index if trials else None,
        lower_load_pps=trials[0].trial.intended_load_pps if trials else None,
        lower_valid=lower,
        upper_index=trials[-1].index if trials else None,
        upper_load_pps=trials[-1].trial.intended_load_pps if trials else None,
        upper_valid=upper,
        final=final,
    )
    (found,) = judge(PLAN, [interval], trials, shared)
    return found


def test_frames_that_were_offered_and_lost_are_the_suts() -> None:
    found = result_of(trial(0, 99_500), trial(1, 100_000, lost=250))
    assert found.limit is Limit.SUT
    assert found.explanation == "At 100.0 kpps the SUT lost 250 of 100,000 frames (0.25 %) where 0 % is allowed."
    assert found.regular


def test_frames_that_were_never_sent_are_the_testers() -> None:
    found = result_of(trial(0, 99_500), trial(1, 100_000, unsent=10_000))
    assert found.limit is Limit.TESTER
    assert found.explanation == (
        "At 100.0 kpps only 90,000 of 100,000 frames could be sent, and the SUT lost 0 of these: "
        "the tester was the limit, the SUT may forward more."
    )


def test_frames_that_were_never_sent_are_the_shared_cpus_where_there_is_one() -> None:
    found = result_of(trial(0, 99_500), trial(1, 100_000, unsent=10_000), shared=True)
    assert found.limit is Limit.SHARED_CPU


def test_real_loss_is_the_suts_also_on_a_shared_cpu() -> None:
    found = result_of(trial(0, 99_500), trial(1, 100_000, unsent=10_000, lost=1), shared=True)
    assert found.limit is Limit.SUT


@pytest.mark.parametrize(("lost", "limit"), [(400, Limit.TESTER), (600, Limit.SUT)])
def test_loss_that_a_goal_allows_is_not_held_against_the_sut(lost: int, limit: Limit) -> None:
    assert result_of(trial(0, 99_500), trial(1, 100_000, unsent=1000, lost=lost), goal=PDR).limit is limit


def test_a_goal_met_at_the_highest_load_is_limited_by_it() -> None:
    found = result_of(trial(0, 1e6), upper=False)
    assert (found.limit, found.upper, found.regular) == (Limit.MAX_LOAD, None, False)
    assert found.explanation == "The goal is still met at the highest load allowed, 1.000 Mpps."


def test_a_goal_missed_at_the_lowest_load_has_no_figure() -> None:
    found = result_of(trial(0, 1000, lost=10), lower=False)
    assert (found.limit, found.lower, found.regular) == (Limit.MIN_LOAD, None, False)
    assert found.explanation == "Even at the lowest load allowed, 1.000 kpps, 1 % was lost where 0 % is allowed."


@pytest.mark.parametrize(
    ("lower", "upper", "missing"),
    [(True, False, "upper bound"), (False, True, "lower bound"), (False, False, "lower and upper bound")],
)
def test_a_search_that_ended_early_says_what_it_has_not_found(lower: bool, upper: bool, missing: str) -> None:
    found = result_of(trial(0, 50_000), trial(1, 60_000), lower=lower, upper=upper)
    assert (found.limit, found.explanation) == (Limit.UNKNOWN, f"The search ended before it had {missing}.")


def test_before_the_first_trial_nothing_is_known() -> None:
    assert result_of(lower=False, upper=False).limit is Limit.UNKNOWN


def test_bounds_of_shorter_trials_or_too_far_apart_are_not_regular() -> None:
    assert not result_of(trial(0, 99_500), trial(1, 100_000, lost=1), final=False).regular
    assert not result_of(trial(0, 90_000), trial(1, 100_000, lost=1)).regular
