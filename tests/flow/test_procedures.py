"""A test procedure carried out over a model: its runs, their failures, and the suite that is stored."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.running import MILLION, Listener, NullStage, make_plan

from nodrop.errors import NodropError, SearchError, StageError
from nodrop.model.event import RunStarted
from nodrop.model.plan import Plan
from nodrop.model.procedure import FailoverPlan
from nodrop.model.result import RunResult, Status
from nodrop.model.trial import TrialResult
from nodrop.model.trial_event import parse_event
from nodrop.procedure.base import Procedure, RunRequest
from nodrop.run.execute import RunEnvironment
from nodrop.run.suite import SuiteOutcome, execute_procedure
from nodrop.simulation import SimulatedMeasurer
from nodrop.store import suites

RUNS = 3
"""Complete runs that the procedure requests."""
ATTEMPTS_MAX = 5


class RateProcedure(Procedure):
    """Requests runs with 1, 2 and 3 kpps, each until it is complete, five at most; one gives an answer."""

    plan = FailoverPlan(
        stream_count=1,
        stream_count_max=1,
        growth_ratio=0.1,
        stream_rate_pps=1000,
        sla_s=1,
        repeat_count=RUNS,
        steady_s=1,
        settle_s=1,
        trigger=(parse_event("0s kill 0"),),
    )

    def request_run(self, results: Sequence[RunResult]) -> RunRequest | None:
        number = self._count_complete(results) + 1
        if number > RUNS or len(results) >= ATTEMPTS_MAX:
            return None
        return RunRequest({"rate": f"{number}kpps"}, f"{number} kpps", 1, 1)

    def find_shortfall(self, results: Sequence[RunResult]) -> str | None:
        return None if self._count_complete(results) else "no run is complete"

    def describe_extent(self) -> str:
        return "3 runs"

    def _count_complete(self, results: Sequence[RunResult]) -> int:
        return sum(result.status is Status.COMPLETE for result in results)


def carry_out(
    tmp_path: Path, errors: Sequence[BaseException | None] = (), on_event: Callable[..., None] | None = None
) -> SuiteOutcome:
    """Carry out the procedure; the n-th run raises the n-th error."""
    remaining = list(errors)

    class Failing(SimulatedMeasurer):
        def measure(self, *args: Any) -> TrialResult:
            if remaining and (error := remaining.pop(0)):
                raise error
            return super().measure(*args)

    def make_run(run: RunRequest) -> Plan:
        plan = make_plan(tmp_path, duration="1s", **run.settings)
        return plan.replace(variant=run.variant, repeat=run.repeat, repeat_count=run.repeat_count)

    environment = RunEnvironment(lambda *_: NullStage(), lambda plan, _stage: Failing(plan.traffic, MILLION))
    return execute_procedure(RateProcedure(), make_run, on_event or Listener(), environment)


def test_each_run_is_chosen_from_the_results_before_it(tmp_path: Path) -> None:
    listener = Listener()
    outcome = carry_out(tmp_path, on_event=listener)
    assert [result.plan.fixed.load_pps for result in outcome.results if result.plan.fixed] == [1e3, 2e3, 3e3]
    places = [event.place for event in listener.events if isinstance(event, RunStarted)]
    assert [(place.text, place.variant) for place in places if place] == [
        ("1", "1 kpps"),
        ("2", "2 kpps"),
        ("3", "3 kpps"),
    ]
    stored = suites.load("latest", tmp_path)
    assert stored and stored.suite == outcome.suite and stored.suite.procedure == RateProcedure.plan
    assert (outcome.suite.status, outcome.failures) == (Status.COMPLETE, ())


def test_an_invalid_run_is_repeated_and_is_no_failure_of_the_procedure(tmp_path: Path) -> None:
    outcome = carry_out(tmp_path, [None, SearchError("the trial is invalid")])
    assert [(result.plan.variant, result.status) for result in outcome.results] == [
        ("1 kpps", Status.COMPLETE),
        ("2 kpps", Status.FAILED),
        ("2 kpps", Status.COMPLETE),
        ("3 kpps", Status.COMPLETE),
    ]
    assert (outcome.suite.status, outcome.failures) == (Status.COMPLETE, ())


@pytest.mark.parametrize(
    ("errors", "count"),
    [
        ([None, StageError("event 'kill 0': exit status 1")], 2),
        ([SearchError("the trial is invalid")] * 9, ATTEMPTS_MAX),
    ],
)
def test_other_failures_and_too_many_invalid_runs_end_it(
    tmp_path: Path, errors: list[NodropError | None], count: int
) -> None:
    outcome = carry_out(tmp_path, errors)
    assert len(outcome.results) == count
    assert outcome.suite.status is Status.FAILED and outcome.suite.error
    assert str(outcome.failures[0].error) == str(next(filter(None, errors))) and str(errors[-1]) in outcome.suite.error


def test_an_interrupt_keeps_the_runs_before(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        carry_out(tmp_path, [None, KeyboardInterrupt()])
    stored = suites.load("latest", tmp_path)
    assert stored and stored.suite.status is Status.INTERRUPTED
    assert [result.status for result in stored.results] == [Status.COMPLETE, Status.INTERRUPTED]
