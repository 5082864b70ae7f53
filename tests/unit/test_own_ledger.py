"""Evidence of trials for one goal: full-length, short, in parts, set aside, decided early."""

import pytest
from tests.own import NDR, PDR, SHORT
from tests.traces import LOAD_PPS, trace

from nodrop.model.goal import Goal
from nodrop.search.probe_search.goal_evidence import GoalEvidence
from nodrop.search.probe_search.trial_trace import Trace

OVERHEAD_S = 0.5


def evidence(goal: Goal, *traces: Trace) -> GoalEvidence:
    """Return the evidence with these trials, each extrapolated."""
    result = GoalEvidence(goal, OVERHEAD_S)
    for each in traces:
        result.add(each, each.loss_ratio)
    return result


def lossless_trial(seconds: int, load_pps: float = LOAD_PPS, index: int = 0) -> Trace:
    return trace([0] * seconds, load_pps, window_s=1.0, index=index)


def lossy_trial(seconds: int, load_pps: float = LOAD_PPS, index: int = 0, ratio: float = 0.1) -> Trace:
    return trace([ratio * load_pps] * seconds, load_pps, window_s=1.0, index=index)


def test_a_trial_that_ran_its_time_decides_where_one_trial_does() -> None:
    assert evidence(NDR, lossless_trial(30)).classification(LOAD_PPS).is_lower
    assert evidence(NDR, lossy_trial(30)).classification(LOAD_PPS).is_upper
    assert evidence(NDR, lossless_trial(30), lossy_trial(30, 1.1e6, 1)).bounds() == (LOAD_PPS, 1.1e6)


def test_a_clocks_rounding_does_not_make_a_trial_short() -> None:
    rounded = trace([0] * 30, window_s=29.9999 / 30)
    assert evidence(NDR, rounded).classification(LOAD_PPS).is_lower


def test_a_trial_stopped_with_more_lost_than_its_whole_time_allows_counts_as_full_length() -> None:
    # PDR 0.5 % of 30 Mframes allows 150,000: lost within two seconds of an overload of 10 %.
    (counted,) = evidence(PDR, trace([100_000.0] * 2, window_s=1.0, intended_s=30.0)).at(LOAD_PPS)
    assert counted.duration_s == 30.0
    assert counted.loss_ratio == pytest.approx(200_000 / 30e6)


def test_a_short_trial_without_loss_counts_for_nothing() -> None:
    assert evidence(NDR, lossless_trial(29)).at(LOAD_PPS) == []


def test_a_short_trial_counts_as_short_where_it_lost_steadily_and_clearly_too_much() -> None:
    (counted,) = evidence(PDR, trace([1_000.0] * 10, intended_s=1.0)).at(LOAD_PPS)  # 1 % of a second
    assert counted.duration_s == pytest.approx(1.0)
    assert evidence(PDR, trace([501.0] * 10, intended_s=1.0)).at(LOAD_PPS) == []  # hardly more than 0.5 %
    assert evidence(PDR, trace([1_000.0], intended_s=1.0)).at(LOAD_PPS) == []  # a tenth of a second


@pytest.mark.parametrize("loss_ratio", [0.005, 0.05, 0.5])
def test_what_is_clear_is_a_tenth_of_the_ratio_or_of_the_width_whichever_is_less(loss_ratio: float) -> None:
    result = evidence(PDR.model_copy(update={"loss_ratio": loss_ratio}))
    assert result.clearly_exceeds(loss_ratio + 0.00051)
    assert not result.clearly_exceeds(loss_ratio + 0.00049)
    assert not result.clearly_exceeds(loss_ratio + 0.00051, times=2.0)


def test_parts_of_a_long_trial_count_where_many_trials_decide() -> None:
    whole = evidence(SHORT[0], trace([0] * 10 + [100.0] * 5, window_s=1.0))
    assert len(whole.at(LOAD_PPS)) == 15
    assert [each.loss_ratio > 0.0 for each in whole.at(LOAD_PPS)] == [False] * 10 + [True] * 5
    assert sum(each.effective_s for each in whole.at(LOAD_PPS)) == pytest.approx(15.0 + OVERHEAD_S)
    assert whole.in_parts


def test_where_one_trial_decides_the_first_stretch_of_a_longer_one_counts_alone() -> None:
    one_second = NDR.model_copy(update={"final_trial_duration_s": 1.0, "duration_sum_s": 1.0})
    result = evidence(one_second, trace([0] * 5 + [100.0] * 5, window_s=1.0))
    assert [each.loss_ratio for each in result.at(LOAD_PPS)] == [0.0]
    assert result.in_parts


def test_trials_of_the_duration_asked_are_not_in_parts() -> None:
    assert not evidence(NDR, lossless_trial(30), lossy_trial(30, 1.1e6, 1)).in_parts


def test_a_trial_set_aside_counts_no_longer_and_is_named() -> None:
    result = evidence(NDR, lossy_trial(30, index=4), lossless_trial(30, index=5))
    assert result.classification(LOAD_PPS).is_upper
    result.set_aside(4)
    assert result.classification(LOAD_PPS).is_lower
    assert result.set_aside_indices == {4}


def test_a_trial_that_never_counted_is_not_named_as_set_aside() -> None:
    result = evidence(NDR, lossless_trial(3, index=4))
    result.set_aside(4)
    assert result.set_aside_indices == frozenset()


def test_a_load_decided_early_is_an_upper_bound_until_its_trial_is_set_aside() -> None:
    result = evidence(SHORT[0], lossy_trial(2, index=7))
    assert result.bounds().upper is None
    result.decide_early(LOAD_PPS, 7)
    assert result.bounds().upper == LOAD_PPS and result.find_early(LOAD_PPS)
    result.set_aside(7)
    assert result.bounds().upper is None


def test_what_classification_says_anyway_is_not_early() -> None:
    result = evidence(NDR, lossy_trial(30, index=7))
    result.decide_early(LOAD_PPS, 7)
    assert not result.find_early(LOAD_PPS)


def test_a_load_accepted_after_a_short_trial_is_a_lower_bound_below_the_upper_one_only() -> None:
    result = evidence(NDR, lossless_trial(10, index=1), lossy_trial(30, 1.1e6, 2))
    result.accept(LOAD_PPS, 1)
    result.accept(1.2e6, 1)
    assert result.bounds() == (LOAD_PPS, 1.1e6)
    assert result.is_accepted(LOAD_PPS)


def test_trials_that_speak_against_a_load_are_those_that_failed_at_it_or_below() -> None:
    result = evidence(NDR, lossy_trial(30, 0.9e6, 1), lossless_trial(30, 1e6, 2), lossy_trial(30, 1.1e6, 3))
    assert result.high_loss_indices(1e6) == [1]


def test_one_trial_as_long_as_the_decision_takes_decides() -> None:
    for goal in (NDR, PDR, *SHORT):
        empty = evidence(goal)
        window_s = empty.decision_s() / 100.0
        good = evidence(goal, trace([0] * 100, window_s=window_s))
        bad = evidence(goal, trace([0.1 * LOAD_PPS * window_s] * 100, window_s=window_s))
        assert good.classification(LOAD_PPS).is_lower
        assert bad.classification(LOAD_PPS).is_upper


def test_half_of_the_time_lost_is_still_tolerated_so_that_deciding_takes_a_little_more() -> None:
    for goal in SHORT:
        assert 10.5 < evidence(goal).decision_s() + OVERHEAD_S < 10.6  # of 21 s, half of which may fail


def test_what_is_missing_after_half_of_the_decision_completes_it() -> None:
    result = evidence(SHORT[0], lossless_trial(5, index=0))
    assert result.classification(LOAD_PPS).undecided
    missing_s = result.missing_s(LOAD_PPS)
    assert missing_s == pytest.approx(10.5 - 5.0 - 2 * OVERHEAD_S, abs=0.05)
    result.add(trace([0] * 100, window_s=missing_s / 100, index=1), 0.0)
    assert result.classification(LOAD_PPS).is_lower
