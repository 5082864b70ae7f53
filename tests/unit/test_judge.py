"""The limit of a goal, derived from the trials' counts."""

from typing import Any

import pytest
from tests.factories import stream_counts, trial_result
from tests.searching import search_plan

from nodrop.formatting.messages import format_message
from nodrop.model.goal import Flag, Goal, GoalResult, Limit
from nodrop.model.trial import Trial, TrialResult, Validity, ValidityStatus
from nodrop.search.base import Interval
from nodrop.search.goal_results import compute_goal_results

PLAN = search_plan(min_load_pps=1000.0, max_load_pps=1e6, final_s=1.0, width_ratio=0.01)
NDR = Goal(label="NDR", loss_ratio=0.0)
PDR = Goal(label="PDR", loss_ratio=0.005)


def trial(index: int, load_pps: float, *, unsent: int = 0, lost: int = 0, sent_s: float = 1.0) -> TrialResult:
    """Return a trial of one second, stopped earlier if given."""
    stream = stream_counts(round(load_pps * sent_s), unsent=unsent, lost=lost)
    return trial_result(
        load_pps,
        index=index,
        duration_s=sent_s,
        trial=Trial(intended_load_pps=load_pps, duration_s=1.0),
        stopped_early=sent_s < 1.0,
        streams=(stream,),
        tester_cpu_ratio=1.0,
    )


def goal_result(
    *trials: TrialResult,
    goal: Goal = NDR,
    lower: bool = True,
    upper: bool = True,
    final: bool = True,
    shared: bool = False,
    out_of_time: bool = False,
    **result: Any,
) -> GoalResult:
    """Return the result of a goal between the first trial and the last."""
    interval = Interval(
        goal=goal,
        lower_index=trials[0].index if trials else None,
        lower_load_pps=trials[0].trial.intended_load_pps if trials else None,
        lower_valid=lower,
        upper_index=trials[-1].index if trials else None,
        upper_load_pps=trials[-1].trial.intended_load_pps if trials else None,
        upper_valid=upper,
        final=final,
    ).model_copy(update=result)
    (judged,) = compute_goal_results(PLAN, [interval], trials, shared, out_of_time)
    return judged


def test_frames_that_were_offered_and_lost_are_the_suts() -> None:
    result = goal_result(trial(0, 99_500), trial(1, 100_000, lost=250))
    assert result.limit is Limit.SUT
    assert (
        format_message(result.explanation)
        == "At 100.0 kpps the SUT lost 250 of 100,000 frames (0.25 %) where 0 % is allowed."
    )
    assert result.regular


def test_frames_that_were_never_sent_are_the_testers() -> None:
    result = goal_result(trial(0, 99_500), trial(1, 100_000, unsent=10_000))
    assert result.limit is Limit.TESTER
    assert format_message(result.explanation) == (
        "At 100.0 kpps only 90,000 of 100,000 frames could be sent, and the SUT lost 0 of these: "
        "the tester was the limit, the SUT may forward more."
    )


def test_frames_that_were_never_sent_are_the_shared_cpus_where_there_is_one() -> None:
    result = goal_result(trial(0, 99_500), trial(1, 100_000, unsent=10_000), shared=True)
    assert result.limit is Limit.SHARED_CPU


def test_real_loss_is_the_suts_also_on_a_shared_cpu() -> None:
    result = goal_result(trial(0, 99_500), trial(1, 100_000, unsent=10_000, lost=1), shared=True)
    assert result.limit is Limit.SUT


@pytest.mark.parametrize(("lost", "limit"), [(400, Limit.TESTER), (600, Limit.SUT)])
def test_loss_that_a_goal_allows_is_not_held_against_the_sut(lost: int, limit: Limit) -> None:
    assert goal_result(trial(0, 99_500), trial(1, 100_000, unsent=1000, lost=lost), goal=PDR).limit is limit


def test_a_goal_met_at_the_highest_load_is_limited_by_it() -> None:
    result = goal_result(trial(0, 1e6), upper=False)
    assert (result.limit, result.upper, result.regular) == (Limit.MAX_LOAD, None, False)
    assert format_message(result.explanation) == "The goal is still met at the highest load allowed, 1.000 Mpps."


def test_a_goal_missed_at_the_lowest_load_has_no_figure() -> None:
    result = goal_result(trial(0, 1000, lost=10), lower=False)
    assert (result.limit, result.lower, result.regular) == (Limit.MIN_LOAD, None, False)
    assert (
        format_message(result.explanation)
        == "Even at the lowest load allowed, 1.000 kpps, 1 % was lost where 0 % is allowed."
    )


@pytest.mark.parametrize(
    ("lower", "upper", "missing"),
    [(True, False, "an upper bound"), (False, True, "a lower bound"), (False, False, "any bounds")],
)
def test_a_search_that_ended_early_says_what_it_has_not_found(lower: bool, upper: bool, missing: str) -> None:
    result = goal_result(trial(0, 50_000), trial(1, 60_000), lower=lower, upper=upper)
    assert (result.limit, format_message(result.explanation)) == (
        Limit.UNKNOWN,
        f"The search ended before it had {missing}.",
    )


def test_before_the_first_trial_nothing_is_known() -> None:
    assert goal_result(lower=False, upper=False).limit is Limit.UNKNOWN


def test_bounds_of_shorter_trials_or_too_far_apart_are_not_regular() -> None:
    assert not goal_result(trial(0, 99_500), trial(1, 100_000, lost=1), final=False).regular
    assert not goal_result(trial(0, 90_000), trial(1, 100_000, lost=1)).regular


def test_a_goal_is_regular_within_its_own_width_whatever_the_searchs() -> None:
    """RFC 9971 regular goal result: both bounds, no further apart than the goal's width."""
    wide = NDR.model_copy(update={"width_ratio": 0.2})
    narrow = NDR.model_copy(update={"width_ratio": 0.001})
    assert goal_result(trial(0, 90_000), trial(1, 100_000, lost=1), goal=wide).regular
    assert not goal_result(trial(0, 99_500), trial(1, 100_000, lost=1), goal=narrow).regular


def test_bounds_exactly_one_width_apart_are_regular_whatever_the_last_digits_are() -> None:
    upper = 1013146.5407845534
    lower = 1003015.0753767078
    assert (upper - lower) / upper > 0.01
    assert goal_result(trial(0, lower), trial(1, upper, lost=1)).regular


def test_most_of_the_trials_at_the_upper_bound_say_whose_limit_it_is() -> None:
    by_tester = [trial(index, 100_000, unsent=5000) for index in (1, 2)]
    by_sut = [trial(index, 100_000, lost=7) for index in (3, 4, 5)]
    result = goal_result(trial(0, 99_500), *by_tester, *by_sut[:1])
    assert result.limit is Limit.TESTER
    result = goal_result(trial(0, 99_500), *by_tester, *by_sut, trial(6, 100_000))
    assert result.limit is Limit.SUT
    assert format_message(result.explanation) == (
        "At 100.0 kpps the SUT lost 7 of 100,000 frames (0.007 %) where 0 % is allowed, "
        "as in 5 of 6 trials at this load."
    )


def test_an_upper_bound_shown_by_a_part_of_a_trial_is_the_suts() -> None:
    result = goal_result(trial(0, 99_500), trial(1, 100_000, lost=50, sent_s=0.5), goal=PDR)
    assert result.limit is Limit.SUT
    assert format_message(result.explanation) == (
        "At 100.0 kpps the SUT lost 50 of 50,000 frames within 0.5 s, "
        "which comes to more than the 0.5 % allowed in 1 s."
    )


def test_an_upper_bound_at_the_lowest_load_alone_says_that_nothing_meets_the_goal() -> None:
    result = goal_result(trial(0, 1000, lost=10), lower=False, lower_index=None, lower_load_pps=None)
    assert (result.limit, result.lower) == (Limit.MIN_LOAD, None)


def test_an_estimate_without_bounds_is_told_as_one() -> None:
    result = goal_result(trial(0, 9e5, lost=1), lower=False, upper=False, estimate_pps=8e5, estimate_sd_pps=1e3)
    assert (result.estimate_pps, result.estimate_sd_pps) == (8e5, 1e3)
    assert format_message(result.explanation) == "This is an estimate; the search does not look for bounds."


def test_what_the_search_is_sure_of_is_kept() -> None:
    sure = {"conditional_throughput_pps": 99e3, "lower_error_probability": 0.01, "upper_error_probability": 0.02}
    flag = Flag(code="drift", text="The SUT became slower.")
    result = goal_result(trial(0, 99_500), trial(1, 100_000, lost=1), flags=(flag,), **sure)
    assert {name: getattr(result, name) for name in sure} == sure
    assert result.flags == (flag,)


@pytest.mark.parametrize(("lost", "limit"), [(0, 2.9957), (1, 4.7439), (10, 16.962), (100, 118.08)])
def test_the_confidence_limit_of_the_loss_is_poissons(lost: int, limit: float) -> None:
    """Exact upper 95 % limits of a Poisson mean: half the 95 % quantile of chi-square with 2 (n + 1) degrees."""
    result = goal_result(trial(0, 1e6, lost=lost), upper=False)
    assert result.loss_ratio_limit == pytest.approx(limit / 1e6, rel=0.01)


def test_the_confidence_limit_counts_all_valid_trials_at_the_lower_bound() -> None:
    spoiled = trial(2, 50_000, lost=9).model_copy(update={"validity": Validity(verdict=ValidityStatus.INVALID)})
    result = goal_result(trial(0, 50_000), trial(1, 50_000), spoiled, upper=False)
    assert result.loss_ratio_limit == pytest.approx(3e-5, rel=0.02)
    assert goal_result(trial(0, 50_000, lost=9), lower=False).loss_ratio_limit is None


def test_a_bound_that_is_the_testers_is_flagged() -> None:
    for shared in (False, True):
        result = goal_result(trial(0, 99_500), trial(1, 100_000, unsent=10_000), shared=shared)
        assert [flag.code for flag in result.flags] == ["tester-limited"]
    assert goal_result(trial(0, 99_500), trial(1, 100_000, lost=1)).flags == ()


def test_a_goal_whose_search_ran_out_of_time_is_flagged_unless_it_was_found() -> None:
    far = (trial(0, 90_000), trial(1, 100_000, lost=1))
    near = (trial(0, 99_500), trial(1, 100_000, lost=1))
    assert [flag.code for flag in goal_result(*far, out_of_time=True).flags] == ["out-of-time"]
    assert goal_result(*near, out_of_time=True).flags == ()
    assert goal_result(*far, out_of_time=True, estimate_pps=9.5e4).flags == ()
    message = (Flag(code="out-of-time", text="The time was over."),)
    assert goal_result(*far, flags=message).flags == message
    assert goal_result(*near, flags=message).flags == ()


@pytest.mark.parametrize(
    ("ndr_pps", "pdr_pps", "is_contradictory"),
    [
        ((800, 808), (800, 808), False),
        ((800, 808), (808, 816), False),
        ((808, 816), (800, 816), True),
        ((800, 816), (800, 808), True),
        ((808, 816), (None, 808), True),
        ((None, 808), (None, None), False),
    ],
)
def test_a_bound_above_that_of_a_goal_that_allows_more_loss_is_flagged(
    ndr_pps: tuple[int | None, int], pdr_pps: tuple[int | None, int | None], is_contradictory: bool
) -> None:
    loads_pps = [800, 808, 816]
    intervals = [
        Interval(
            goal=goal,
            lower_index=None if lower is None else loads_pps.index(lower),
            lower_load_pps=lower,
            lower_valid=lower is not None,
            upper_index=None if upper is None else loads_pps.index(upper),
            upper_load_pps=upper,
            upper_valid=upper is not None,
            final=True,
        )
        for goal, (lower, upper) in ((NDR, ndr_pps), (PDR, pdr_pps))
    ]
    trials = [trial(index, load_pps) for index, load_pps in enumerate(loads_pps)]
    ndr, pdr = compute_goal_results(PLAN, intervals, trials, sut_shares_tester_cpu=False)
    assert "contradictory-goals" not in {flag.code for flag in ndr.flags}
    assert ("contradictory-goals" in {flag.code for flag in pdr.flags}) is is_contradictory
