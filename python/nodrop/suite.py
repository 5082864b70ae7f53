"""Several runs that belong together, one for each frame size: one after the other, each with a result of its own.

A run that fails does not keep the others from being measured; one that is interrupted does.
"""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from nodrop import store
from nodrop.errors import NodropError, SearchError
from nodrop.judge import require_found
from nodrop.model.event import Event, OnEvent, RunDone, RunStarted, SuiteDone, SuitePlace
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.suite import Suite, SuiteRun
from nodrop.run import Parts, execute
from nodrop.store import suites


class Failure(NamedTuple):
    """A run that did not get to its end, or that did not find what it was asked for."""

    frame_size: str
    error: NodropError


class SuiteOutcome(NamedTuple):
    """What came of all runs."""

    suite: Suite
    results: tuple[RunResult, ...]
    """Of every run that began, also of those that failed."""
    failures: tuple[Failure, ...]


def execute_suite(plans: Sequence[Plan], on_event: OnEvent, parts: Parts | None = None) -> SuiteOutcome:
    """Carry out several plans and store each result, and after each the list of them.

    Args:
        plans: what to do, in this order; all with the same results directory.
        on_event: is told everything as it happens; the start of each run says which of how many it is, and the last
            event is SuiteDone.
        parts: what to run them with, if not with a lab and the packet engine.

    Raises: KeyboardInterrupt, after what was measured by then was stored.
    """
    keeper = _Keeper(plans, on_event)
    failures: list[Failure] = []
    try:
        for plan in plans:
            try:
                execute(plan, keeper.hear, parts)
            except NodropError as error:
                failures.append(Failure(plan.frame_size, error))
    except KeyboardInterrupt as stopped:
        keeper.end(Status.INTERRUPTED, str(stopped) or "interrupted")
        raise
    texts = [f"{failure.frame_size}: {failure.error}" for failure in failures]
    keeper.end(Status.FAILED if failures else Status.COMPLETE, "; ".join(texts) or None)
    return SuiteOutcome(keeper.suite, tuple(keeper.results), (*failures, *_without_answer(keeper.results)))


def _without_answer(results: Sequence[RunResult]) -> Iterator[Failure]:
    """Runs that got to their end and did not find what they were asked for."""
    for result in results:
        try:
            require_found(result)
        except SearchError as error:
            yield Failure(result.plan.frame_size, error)


class _Keeper:
    """Hears the runs, says which of how many each is, and keeps the list of those that are done."""

    def __init__(self, plans: Sequence[Plan], on_event: OnEvent) -> None:
        self.suite_id = store.new_run_id()
        self.results: list[RunResult] = []
        self._frame_sizes = tuple(plan.frame_size for plan in plans)
        self._begun_count = 0
        self._results_dir = plans[0].results_dir
        self._on_event = on_event
        self._started_at = datetime.now(UTC).isoformat()
        self._start_s = time.monotonic()
        self.suite = self._as_of_now(Status.INTERRUPTED, None)

    def hear(self, event: Event) -> None:
        """Pass an event on; store the list when it is the end of a run."""
        if isinstance(event, RunStarted):
            self._begun_count += 1
            place = SuitePlace(suite_id=self.suite_id, number=self._begun_count, count=len(self._frame_sizes))
            event = event.model_copy(update={"place": place})
        if isinstance(event, RunDone):
            self.results.append(event.result)
            self._store(Status.INTERRUPTED, None)  # what it is if nothing comes after this
        self._on_event(event)

    def end(self, status: Status, error: str | None) -> None:
        """Store the list for good and tell of it."""
        path = self._store(status, error)
        self._on_event(SuiteDone(suite=self.suite, path=path))

    def _store(self, status: Status, error: str | None) -> str | None:
        self.suite = self._as_of_now(status, error)
        return str(suites.save(self.suite, self._results_dir)) if self.results else None

    def _as_of_now(self, status: Status, error: str | None) -> Suite:
        runs = (
            SuiteRun(frame_size=result.plan.frame_size, run_id=result.run_id, status=result.status)
            for result in self.results
        )
        return Suite(
            suite_id=self.suite_id,
            started_at=self._started_at,
            wall_s=time.monotonic() - self._start_s,
            status=status,
            error=error,
            frame_sizes=self._frame_sizes,
            runs=tuple(runs),
        )
