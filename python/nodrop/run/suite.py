"""Several runs that belong together, frame sizes, repeats, set-ups in turn: one after the other, each with a result of
its own.

A run that fails does not keep the others from being measured; one that is interrupted does.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from nodrop import store
from nodrop.errors import ConfigError, NodropError, SearchError
from nodrop.formatting import turn_text
from nodrop.model.event import Event, OnEvent, RunDone, RunStarted, SuiteDone, SuitePlace
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult, Status
from nodrop.model.rule_cost import Pricing
from nodrop.model.suite import Suite, SuiteRun
from nodrop.run.execute import Parts, execute, parts_here
from nodrop.run.stage_pool import StagePool
from nodrop.search.goal_results import require_found
from nodrop.store import suites


class Failure(NamedTuple):
    """A run that did not get to its end, or that did not find what it was asked for."""

    frame_size: str
    error: NodropError
    turn: str = ""
    """Which of several at that frame size, as `A 2 of 5`."""

    @property
    def name(self) -> str:
        """The run by its place among the others: `64`, `64, A 2 of 5`."""
        return f"{self.frame_size}, {self.turn}" if self.turn else self.frame_size


Wanted = Callable[[Plan, Sequence[RunResult]], bool]
"""Whether a plan is still to be carried out, after the results so far."""


class SuiteOutcome(NamedTuple):
    """What came of all runs."""

    suite: Suite
    results: tuple[RunResult, ...]
    """Of every run that began, also of those that failed."""
    failures: tuple[Failure, ...]


def interleaved(a: Sequence[Plan], b: Sequence[Plan]) -> tuple[Plan, ...]:
    """Plans of two set-ups, repeat by repeat and size by size, in turn: A B, B A, B A, A B, and so on.

    Which of the two is first follows the sequence of Thue and Morse: after every second repeat a steady drift of the
    machine has favoured neither, after every fourth neither has one that grows or fades steadily.

    Raises: ConfigError when there is not one of A for each of B, or their results go to different places.
    """
    for key, of_a, of_b in (
        ("frame_sizes", len({plan.frame_size for plan in a}), len({plan.frame_size for plan in b})),
        ("repeat", a[0].repeat_count, b[0].repeat_count),
        ("results_dir", a[0].results_dir, b[0].results_dir),
        ("results_index", a[0].results_index, b[0].results_index),
        ("ship", a[0].ship, b[0].ship),
    ):
        if of_a != of_b:
            shown = f"{of_a} for A and {of_b} for B asked" if key != "ship" else "asked otherwise for B than for A"
            raise ConfigError(f"{key}: {shown}, they are measured in turn; leave it out of B")
    turns: list[Plan] = []
    for plan_a, plan_b in zip(a, b, strict=True):
        turn = (plan_a.model_copy(update={"variant": "A"}), plan_b.model_copy(update={"variant": "B"}))
        turns += turn if (plan_a.repeat - 1).bit_count() % 2 == 0 else turn[::-1]
    return tuple(turns)


def in_turns(of_each: Sequence[Sequence[Plan]], names: Sequence[str]) -> tuple[Plan, ...]:
    """Plans of any number of set-ups, one of each repeat by repeat: forth, back, back, forth, and so on.

    As `interleaved`: after every second repeat a steady drift of the machine has favoured none of them.

    Args:
        of_each: the plans of every set-up, as many repeats of each.
        names: what the set-ups are called, in the same order.
    """
    turns: list[Plan] = []
    for together in zip(*of_each, strict=True):
        turn = [plan.model_copy(update={"variant": name}) for plan, name in zip(together, names, strict=True)]
        turns += turn if (together[0].repeat - 1).bit_count() % 2 == 0 else turn[::-1]
    return tuple(turns)


def execute_suite(
    plans: Sequence[Plan],
    on_event: OnEvent,
    parts: Parts | None = None,
    pricing: Pricing | None = None,
    wanted: Wanted | None = None,
) -> SuiteOutcome:
    """Carry out several plans and store each result, and after each the list of them.

    Args:
        plans: what to do, in this order; all with the same results directory.
        on_event: is told everything as it happens; the start of each run says which of how many it is, and the last
            event is SuiteDone.
        parts: what to run them with, if not with their plans' stages and generators. What stands in a cloud is kept
            from one run to the next that wants the same.
        pricing: the rules that they break, to be kept with the list.
        wanted: says of each, when its turn comes, whether it is still to be carried out after those before it.

    Raises: KeyboardInterrupt, after what was measured by then was stored.
    """
    keeper = _Keeper(plans, on_event, pricing)
    failures: list[Failure] = []
    try:
        with StagePool(parts or parts_here()) as held:
            for plan in plans:
                if wanted and not wanted(plan, keeper.results):
                    keeper.skip()
                    continue
                try:
                    execute(plan, keeper.hear, held.parts)
                except NodropError as error:
                    failures.append(_failure(plan, error))
    except KeyboardInterrupt as stopped:
        keeper.end(Status.INTERRUPTED, str(stopped) or "interrupted")
        raise
    texts = [f"{failure.name}: {failure.error}" for failure in failures]
    keeper.end(Status.FAILED if failures else Status.COMPLETE, "; ".join(texts) or None)
    return SuiteOutcome(keeper.suite, tuple(keeper.results), (*failures, *_without_answer(keeper.results)))


def _without_answer(results: Sequence[RunResult]) -> Iterator[Failure]:
    """Runs that got to their end and did not find what they were asked for."""
    for result in results:
        try:
            require_found(result)
        except SearchError as error:
            yield _failure(result.plan, error)


def _failure(plan: Plan, error: NodropError) -> Failure:
    return Failure(plan.frame_size, error, turn_text(plan.variant, plan.repeat, plan.repeat_count))


class _Keeper:
    """Hears the runs, says which of how many each is, and keeps the list of those that are done."""

    def __init__(self, plans: Sequence[Plan], on_event: OnEvent, pricing: Pricing | None) -> None:
        self._pricing = pricing
        self.suite_id = store.new_run_id()
        self.results: list[RunResult] = []
        self._count = len(plans)
        self._repeat_count = max(plan.repeat_count for plan in plans)
        self._frame_sizes = tuple(dict.fromkeys(plan.frame_size for plan in plans))
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
            plan = event.plan
            place = SuitePlace(
                suite_id=self.suite_id,
                number=self._begun_count,
                count=self._count,
                variant=plan.variant,
                repeat=plan.repeat,
                repeat_count=plan.repeat_count,
            )
            event = event.model_copy(update={"place": place})
        if isinstance(event, RunDone):
            self.results.append(event.result)
            self._store(Status.INTERRUPTED, None)  # what it is if nothing comes after this
        self._on_event(event)

    def skip(self) -> None:
        """One fewer is to come."""
        self._count -= 1

    def end(self, status: Status, error: str | None) -> None:
        """Store the list for good and tell of it."""
        path = self._store(status, error)
        self._on_event(SuiteDone(suite=self.suite, path=path))

    def _store(self, status: Status, error: str | None) -> str | None:
        self.suite = self._as_of_now(status, error)
        return str(suites.save(self.suite, self._results_dir)) if self.results else None

    def _as_of_now(self, status: Status, error: str | None) -> Suite:
        runs = (
            SuiteRun(
                frame_size=result.plan.frame_size,
                run_id=result.run_id,
                variant=result.plan.variant,
                repeat=result.plan.repeat,
                status=result.status,
            )
            for result in self.results
        )
        return Suite(
            suite_id=self.suite_id,
            started_at=self._started_at,
            wall_s=time.monotonic() - self._start_s,
            status=status,
            error=error,
            frame_sizes=self._frame_sizes,
            repeat_count=self._repeat_count,
            pricing=self._pricing,
            runs=tuple(runs),
        )
