"""Predictions before a trial: its consequences, and the remaining time of the search."""

from pathlib import Path

import pytest
from tests.recorded import SEARCHES, record_run
from tests.running import Listener, make_environment, make_plan
from tests.searching import search_plan
from tests.suts import SmoothCurve, Step

from nodrop.explain.decision_log import LoggedSearch
from nodrop.explain.lookahead import Lookahead
from nodrop.formatting.bound_changes import describe_bound_changes
from nodrop.formatting.messages import format_message
from nodrop.model.choices import AlgorithmName
from nodrop.model.event import TrialStarted
from nodrop.model.result import GoalState, TrialPreview
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.run.execute import execute
from nodrop.search import create
from nodrop.search.base import Interval
from nodrop.simulation.minimal_sut import MinimalSut, SteadyLossSut
from nodrop.simulation.search_run import simulate_trial
from nodrop.units import format_pps, format_seconds

CAPACITY_PPS = 1e6


def search_after(plan: SearchPlan, capacity_pps: float, trial_count: int) -> tuple[LoggedSearch, float]:
    """Return a search after some trials over a hard limit, and their duration."""
    search, now_s = LoggedSearch(plan), 0.0
    for index in range(trial_count):
        trial = search.ask()
        assert trial
        loss_ratio = max(0.0, 1 - capacity_pps / trial.intended_load_pps)
        outcome = simulate_trial(SteadyLossSut(loss_ratio), trial, index, now_s)
        search.tell(outcome)
        now_s += outcome.elapsed_s + plan.overhead_s
    return search, now_s


def plan_search(algorithm: AlgorithmName) -> SearchPlan:
    return search_plan().model_copy(update={"algorithm": algorithm, "search_duration_max_s": 600.0})


def test_a_trial_without_loss_has_the_consequence_that_was_said() -> None:
    plan = plan_search("mlrsearch-01")
    search, now_s = search_after(plan, CAPACITY_PPS, 3)
    trial = search.ask()
    assert trial
    preview = search.preview(trial, now_s)
    step = search.tell(simulate_trial(SteadyLossSut(0.0), trial, 3, now_s))
    following = search.ask()
    assert following
    assert format_message(preview.if_low_loss) == (
        f"{describe_bound_changes(step.before, step.after)}; "
        f"next {format_pps(following.intended_load_pps)} for {format_seconds(following.duration_s)}"
    )
    assert (format_message(step.if_low_loss), format_message(step.if_high_loss), step.left_s) == (
        format_message(preview.if_low_loss),
        format_message(preview.if_high_loss),
        preview.left_s,
    )


def test_the_outlook_does_not_disturb_the_search() -> None:
    plan = plan_search("mlrsearch-01")
    search, now_s = search_after(plan, CAPACITY_PPS, 4)
    before, trial = search.intervals(), search.ask()
    assert trial
    search.preview(trial, now_s)
    assert search.intervals() == before
    assert search.ask() == trial


def test_the_last_trial_is_said_to_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodrop.explain.lookahead.BUDGET_S", 60.0)  # A busy machine takes more CPU time.
    steps = record_run(tmp_path, Step(CAPACITY_PPS)).steps
    assert "the search ends" in format_message(steps[-1].if_low_loss) + format_message(steps[-1].if_high_loss)
    assert steps[-1].left_s == pytest.approx(1.5)  # one trial of a second, and the overhead of a trial


@pytest.mark.parametrize("algorithm", [name for name in SEARCHES if name not in ("plrsearch",)])
def test_the_time_left_is_about_what_a_hard_limit_takes(algorithm: AlgorithmName) -> None:
    plan = plan_search(algorithm)
    search, now_s = search_after(plan, CAPACITY_PPS, 1)
    trial = search.ask()
    assert trial
    left_s = search.preview(trial, now_s).left_s
    _, end_s = finish_search(plan)
    assert left_s is not None
    assert left_s == pytest.approx(end_s - now_s, rel=0.5)


def finish_search(plan: SearchPlan) -> tuple[LoggedSearch, float]:
    for trial_count in range(1, 200):
        search, now_s = search_after(plan, CAPACITY_PPS, trial_count)
        if search.ask() is None:
            return search, now_s
    raise AssertionError("the search does not come to an end")


def test_a_search_that_runs_out_of_time_is_thought_no_further_than_its_time() -> None:
    plan = plan_search("mlrsearch-01").model_copy(update={"search_duration_max_s": 3.0})
    search = LoggedSearch(plan)
    trial = search.ask()
    assert trial
    left_s = search.preview(trial, 0.0).left_s
    assert left_s is not None and left_s <= 3.0 + plan.overhead_s


def test_an_outlook_that_would_take_too_long_is_left_out() -> None:
    plan = plan_search("mlrsearch-01")
    search = create(plan)
    lookahead = Lookahead(plan)
    trial = search.ask()
    assert trial
    outcome = simulate_trial(SteadyLossSut(0.5), trial, 0, 0.0)
    search.tell(outcome)
    lookahead.tell(outcome, cpu_s=1.0)
    assert lookahead.preview(search.intervals(), trial, 1.0) == TrialPreview()


def test_every_search_trial_is_announced_with_its_outlook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodrop.explain.lookahead.BUDGET_S", 60.0)  # A busy machine is slow to compute.
    listener = Listener()
    result = execute(
        make_plan(tmp_path, search__algorithm="mlrsearch-01"), listener, make_environment(SmoothCurve(9e5))
    )
    message = [event for event in listener.events if isinstance(event, TrialStarted) and event.phase == "search"]
    assert [(e.index, format_message(e.outlook.if_low_loss)) for e in message] == [
        (s.trial_index, format_message(s.if_low_loss)) for s in result.steps
    ]
    assert all(format_message(event.outlook.if_high_loss) and event.outlook.left_s for event in message)


def interval(loss_ratio: float, lower_pps: float | None, upper_pps: float | None) -> Interval:
    (goal,) = search_plan(loss_ratios=(loss_ratio,)).goals
    return Interval(
        goal=goal,
        lower_index=0,
        lower_load_pps=lower_pps,
        lower_valid=lower_pps is not None,
        upper_index=1,
        upper_load_pps=upper_pps,
        upper_valid=upper_pps is not None,
        final=True,
    )


@pytest.mark.parametrize("forwarded_pps", [None, 1e5, 9.5e5, 5e6])
def test_the_supposed_sut_agrees_with_the_bounds(forwarded_pps: float | None) -> None:
    intervals = [interval(0.0, 9e5, 1e6), interval(0.005, 9.2e5, 1.1e6)]
    sut = MinimalSut(search_plan(), intervals, forwarded_pps)
    for each in intervals:
        assert each.lower_load_pps and each.upper_load_pps
        assert sut.loss_ratio(each.lower_load_pps) <= each.goal.loss_ratio < sut.loss_ratio(each.upper_load_pps)


def test_where_nothing_separates_the_goals_the_supposed_sut_is_a_hard_limit() -> None:
    sut = MinimalSut(search_plan(), [interval(0.0, None, 4e6), interval(0.005, None, 4e6)], 1e6)
    assert sut.loss_ratio(1e6) == 0.0
    assert sut.loss_ratio(1.002e6) == pytest.approx(1 - 1 / 1.002)
    assert sut.loss_ratio(2e6) == pytest.approx(0.5)


def test_a_supposed_trial_is_stopped_as_a_real_one() -> None:
    trial = Trial(intended_load_pps=1e6, duration_s=10.0, stop=StopRule(lost_count=100_000))
    outcome = simulate_trial(SteadyLossSut(0.1), trial, 7, 3.0)
    assert outcome.stopped_early
    assert outcome.elapsed_s == pytest.approx(1.05)  # the first window by whose end more than 100,000 are lost
    assert outcome.lost_count == outcome.samples[-1].lost_count == 105_000


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ((4.1e6, None), (4.3e6, None), "NDR lower bound rises from 4.100 to 4.300 Mpps"),
        ((None, 5e6), (9e5, 5e6), "NDR lower bound is now 900.0 kpps"),
        ((9e5, 1.2e6), (9e5, 9.5e5), "NDR upper bound falls from 1.200 Mpps to 950.0 kpps"),
        ((9e5, 1e6), (None, 1e6), "NDR lower bound no longer holds"),
        ((1e6, None), (1.000_01e6, None), "NDR lower bound rises a little, to 1.000 Mpps"),
        ((9e5, 1e6), (9e5, 1e6), "no bound moves"),
    ],
)
def test_a_change_of_bounds_reads_as_a_sentence(
    before: tuple[float | None, float | None], after: tuple[float | None, float | None], text: str
) -> None:
    states = [GoalState(label="NDR", lower_pps=lower, upper_pps=upper) for lower, upper in (before, after)]
    assert describe_bound_changes(states[:1], states[1:]) == text


def test_goals_whose_bounds_move_alike_share_a_sentence() -> None:
    before = [GoalState(label=label, lower_pps=None, upper_pps=4e6) for label in ("NDR", "PDR", "P1")]
    after = [state.model_copy(update={"upper_pps": 1e6}) for state in before]
    assert describe_bound_changes(before, after) == "NDR, PDR and P1 upper bounds fall from 4.000 to 1.000 Mpps"
