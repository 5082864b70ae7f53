"""Orders of loads of the frame loss rate test, and the bounds that its trials show."""

from collections.abc import Callable
from itertools import count

import pytest
from tests.searching import drive, loss_ratio_of, search_plan
from tests.suts import Step

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search import create
from nodrop.search.base import Outcome

HIGHEST_PPS = 1e6


def make_plan(**changed: object) -> SearchPlan:
    update = {"algorithm": "frame-loss-rate", "max_load_pps": HIGHEST_PPS, "min_load_pps": 1.0, **changed}
    return search_plan().model_copy(update=update)


def list_shares(loses: Callable[[Trial], float], **changed: object) -> list[float]:
    """Return the load of each trial in percent of the highest."""
    return [trial.intended_load_pps / HIGHEST_PPS * 100 for trial in drive(create(make_plan(**changed)), loses)]


def test_two_successive_trials_without_loss_end_the_series() -> None:
    assert list_shares(loss_ratio_of(Step(0.62 * HIGHEST_PPS))) == pytest.approx([100, 90, 80, 70, 60, 50])
    assert list_shares(lambda _: 0.0) == pytest.approx([100, 90])


def test_a_dead_path_is_tried_down_to_the_step() -> None:
    assert list_shares(lambda _: 1.0) == pytest.approx([100, 90, 80, 70, 60, 50, 40, 30, 20, 10])
    assert list_shares(lambda _: 1.0, load_step_ratio=0.03)[-2:] == pytest.approx([4, 1])


def test_a_loss_below_a_clean_load_goes_on() -> None:
    losses = iter([0.05, 0.0, 0.05, 0.0, 0.0])
    assert len(list_shares(lambda _: next(losses))) == 5


def test_the_finding_has_the_loss_at_the_highest_load_and_the_load_where_it_ends() -> None:
    search = create(make_plan())
    drive(search, loss_ratio_of(Step(0.62 * HIGHEST_PPS)))
    assert search.intervals() == ()
    assert [format_message(finding) for finding in search.findings()] == [
        "At the highest load, 1 Mpps, 38 % of the frames sent were lost; from 600 kpps down, two successive trials "
        "lost none."
    ]
    search = create(make_plan())
    drive(search, lambda _: 1.0)
    assert "no two successive trials lost none" in format_message(search.findings()[0])


@pytest.mark.parametrize(
    ("tester_pps", "shares"), [(450_000.0, [100, 40, 30]), (45_000.0, [100, 10]), (995_000.0, [100, 90, 80])]
)
def test_loads_that_the_tester_does_not_reach_are_left_out(tester_pps: float, shares: list[float]) -> None:
    """Source: a tester that sends what it can, through a path that forwards everything."""
    search, loads = create(make_plan()), []
    for index in count():
        trial = search.ask()
        if trial is None:
            break
        load_pps = trial.intended_load_pps
        loads.append(load_pps / HIGHEST_PPS * 100)
        sent = round(min(load_pps, tester_pps) * trial.duration_s)
        unsent = round(load_pps * trial.duration_s) - sent
        outcome = Outcome(
            index=index,
            loss_ratio=unsent / (sent + unsent),
            elapsed_s=trial.duration_s,
            offered_count=sent,
            unsent_count=unsent,
        )
        search.tell(outcome)
    assert loads == pytest.approx(shares)
