"""Several runs that belong together: frame sizes, repeats, alternating setups, the runs of a test procedure.

Each run has its own result. After a failed run the others are still measured, except in a procedure, which only repeats
an invalid one; an interrupt ends the suite.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from nodrop import store
from nodrop.analysis.expectations import require_outcome
from nodrop.errors import ConfigError, NodropError, SearchError
from nodrop.formatting import format_repeat
from nodrop.model.event import Event, OnEvent, RunDone, RunStarted, SuiteDone, SuitePosition
from nodrop.model.plan import Plan
from nodrop.model.procedure import ProcedurePlan
from nodrop.model.result import RunResult, Status
from nodrop.model.rule_cost import RuleCostPlan
from nodrop.model.suite import Suite, SuiteRun
from nodrop.procedure.base import Procedure, RunRequest
from nodrop.run.execute import LOCAL, RunEnvironment, execute
from nodrop.run.stage_pool import StagePool
from nodrop.stage import require_programs
from nodrop.store import suites
from nodrop.store.fallback import save_elsewhere


class Failure(NamedTuple):
    """A run that failed, or that missed a required goal, fixed rate or expectation."""

    frame_size: str
    error: NodropError
    position: str = ""
    """Position among the runs of that frame size, for example `A 2 of 5`."""

    @property
    def name(self) -> str:
        """The run by its position in the suite: `64`, `64, A 2 of 5`."""
        return f"{self.frame_size}, {self.position}" if self.position else self.frame_size


RunFilter = Callable[[Plan, Sequence[RunResult]], bool]
"""Whether to carry out a plan, given the results so far."""


class SuiteOutcome(NamedTuple):
    """The results of all runs."""

    suite: Suite
    results: tuple[RunResult, ...]
    """Those of every run that began, including failed ones."""
    failures: tuple[Failure, ...]


def interleave(a: Sequence[Plan], b: Sequence[Plan]) -> tuple[Plan, ...]:
    """Return the plans of two setups alternating by repeat and frame size: A B, B A, B A, A B, and so on.

    The order follows the Thue-Morse sequence: after every second repeat a constant drift of the machine has favored
    neither setup, after every fourth repeat neither has a drift that grows or fades linearly.

    Raises: ConfigError if the plans of A and B do not pair up, or their results go to different directories.
    """
    for key, of_a, of_b in (
        ("frame_sizes", len({plan.frame_size for plan in a}), len({plan.frame_size for plan in b})),
        ("repeat", a[0].repeat_count, b[0].repeat_count),
        ("results_dir", a[0].results_dir, b[0].results_dir),
        ("results_index", a[0].results_index, b[0].results_index),
        ("ship", a[0].ship, b[0].ship),
    ):
        if of_a != of_b:
            values = f"{of_a} for A but {of_b} for B" if key != "ship" else "differs between A and B"
            raise ConfigError(f"{key}: {values}, which alternate in one suite; remove it from B")
    plans: list[Plan] = []
    for plan_a, plan_b in zip(a, b, strict=True):
        pair = (plan_a.replace(variant="A"), plan_b.replace(variant="B"))
        plans += pair if (plan_a.repeat - 1).bit_count() % 2 == 0 else pair[::-1]
    return tuple(plans)


def alternate_variants(variants: Sequence[Sequence[Plan]], names: Sequence[str]) -> tuple[Plan, ...]:
    """Return the plans of any number of variants, one repeat of each per round, every other round in reverse order.

    As with `interleave`, a constant drift of the machine has favored none of them after every second repeat.

    Args:
        variants: the plans of each variant, with the same number of repeats.
        names: names of the variants, in the same order.
    """
    plans: list[Plan] = []
    for repeat in zip(*variants, strict=True):
        plans_of_round = [plan.replace(variant=name) for plan, name in zip(repeat, names, strict=True)]
        plans += plans_of_round if (repeat[0].repeat - 1).bit_count() % 2 == 0 else plans_of_round[::-1]
    return tuple(plans)


def execute_suite(
    plans: Sequence[Plan],
    on_event: OnEvent,
    environment: RunEnvironment | None = None,
    pricing: RuleCostPlan | None = None,
    run_filter: RunFilter | None = None,
) -> SuiteOutcome:
    """Carry out several plans; store each result and, after each run, the suite.

    Args:
        plans: the runs in order; all with the same results directory.
        on_event: receives every event as it happens; RunStarted holds the run's place in the suite, and the last event
            is SuiteDone.
        environment: the collaborators of all runs; by default LOCAL. Consecutive runs with the same cloud plan share
            one stage.
        pricing: the placement rules that the runs break, stored with the suite.
        run_filter: decides before each run, from the results so far, whether to carry it out.

    Raises: StageError if a program is missing, before the first run; KeyboardInterrupt, after the results so far were
    stored.
    """
    for plan in plans:
        require_programs(plan)
    suite = _make_suite(plans, pricing=pricing)
    recorder = _SuiteRecorder(suite, plans[0].results_dir, on_event, len(plans))
    failures: list[Failure] = []

    def iter_plans() -> Iterator[Plan]:
        for plan in plans:
            if run_filter and not run_filter(plan, recorder.results):
                recorder.skip()
            else:
                yield plan

    _execute_each(iter_plans(), recorder, environment or LOCAL, failures)
    texts = [f"{failure.name}: {failure.error}" for failure in failures]
    recorder.end(Status.FAILED if failures else Status.COMPLETE, "; ".join(texts) or None)
    return SuiteOutcome(recorder.suite, tuple(recorder.results), (*failures, *_iter_missed_outcomes(recorder.results)))


def execute_procedure(
    procedure: Procedure,
    make_plan: Callable[[RunRequest], Plan],
    on_event: OnEvent,
    environment: RunEnvironment | None = None,
) -> SuiteOutcome:
    """Carry out the runs of a procedure, each chosen from the results before it.

    An invalid run is repeated, any other failure ends the procedure.

    Args:
        procedure: chooses the runs; the first one exists.
        make_plan: makes the plan of a run.
        on_event: as for `execute_suite`; the number of runs is unknown.
        environment: the collaborators of all runs; by default LOCAL.

    Returns: the failure that ended the procedure; those of repeated runs as well if it has no answer.

    Raises: KeyboardInterrupt as `execute_suite`; ConfigError and StageError if a run cannot be planned.
    """
    first = procedure.request_run(())
    assert first is not None
    plan = make_plan(first)
    require_programs(plan)
    recorder = _SuiteRecorder(_make_suite((plan,), procedure=procedure.plan), plan.results_dir, on_event, None)
    failures: list[Failure] = []

    def list_ends() -> list[Failure]:
        return [failure for failure in failures if not isinstance(failure.error, SearchError)]

    def iter_plans() -> Iterator[Plan]:
        yield plan
        count = 0
        while len(recorder.results) > count and not list_ends():
            count = len(recorder.results)
            if (request := procedure.request_run(recorder.results)) is None:
                return
            yield make_plan(request)

    _execute_each(iter_plans(), recorder, environment or LOCAL, failures)
    shortfall = procedure.find_shortfall(recorder.results)
    reported = failures if shortfall else list_ends()
    texts = [f"{failure.name}: {failure.error}" for failure in reported]
    recorder.end(Status.FAILED if shortfall or reported else Status.COMPLETE, "; ".join(texts) or shortfall)
    return SuiteOutcome(recorder.suite, tuple(recorder.results), tuple(reported))


def _execute_each(
    plans: Iterator[Plan], recorder: "_SuiteRecorder", environment: RunEnvironment, failures: list[Failure]
) -> None:
    """Carry out plans and append failures; store the suite if an interrupt or a plan that cannot be made ends it."""
    try:
        with StagePool(environment) as pool:
            for plan in plans:
                try:
                    execute(plan, recorder.on_event, pool.environment)
                except NodropError as error:
                    failures.append(_make_failure(plan, error))
    except KeyboardInterrupt as interrupt:
        recorder.end(Status.INTERRUPTED, str(interrupt) or "interrupted")
        raise
    except NodropError as error:
        recorder.end(Status.FAILED, str(error))
        raise


def _iter_missed_outcomes(results: Sequence[RunResult]) -> Iterator[Failure]:
    """Yield the runs that completed without a required goal, fixed rate or expectation."""
    for result in results:
        try:
            require_outcome(result)
        except NodropError as error:
            yield _make_failure(result.plan, error)


def _make_failure(plan: Plan, error: NodropError) -> Failure:
    return Failure(plan.frame_size, error, format_repeat(plan.variant, plan.repeat, plan.repeat_count))


def _make_suite(
    plans: Sequence[Plan], *, pricing: RuleCostPlan | None = None, procedure: ProcedurePlan | None = None
) -> Suite:
    """Return the suite before its first run."""
    return Suite(
        suite_id=store.make_run_id(),
        started_at=datetime.now(UTC).isoformat(),
        wall_s=0.0,
        status=Status.INTERRUPTED,
        frame_sizes=tuple(dict.fromkeys(plan.frame_size for plan in plans)),
        repeat_count=max(plan.repeat_count for plan in plans),
        pricing=pricing,
        procedure=procedure,
        runs=(),
    )


class _SuiteRecorder:
    """Adds the place in the suite to the events of the runs, and stores the suite after each run."""

    def __init__(self, suite: Suite, results_dir: str, on_event: OnEvent, count: int | None) -> None:
        """Start with an empty suite; `count` is the number of its runs, None if it is unknown."""
        self.suite = suite
        self.results: list[RunResult] = []
        self._results_dir = results_dir
        self._on_event = on_event
        self._count = count
        self._started_count = 0
        self._start_s = time.monotonic()

    def on_event(self, event: Event) -> None:
        """Forward an event; store the suite at the end of a run."""
        if isinstance(event, RunStarted):
            self._started_count += 1
            plan = event.plan
            place = SuitePosition(
                suite_id=self.suite.suite_id,
                number=self._started_count,
                count=self._count,
                variant=plan.variant,
                repeat=plan.repeat,
                repeat_count=plan.repeat_count,
            )
            event = event.replace(place=place)
        if isinstance(event, RunDone):
            self.results.append(event.result)
            self._store(Status.INTERRUPTED, None)  # its status if the process dies before the next run ends
        self._on_event(event)

    def skip(self) -> None:
        """Count one run less."""
        self._count = self._count and self._count - 1

    def end(self, status: Status, error: str | None) -> None:
        """Store the suite with its final status and report it."""
        path = self._store(status, error)
        self._on_event(SuiteDone(suite=self.suite, path=path))

    def _store(self, status: Status, error: str | None) -> str | None:
        self.suite = self._update_suite(status, error)
        if not self.results:
            return None
        try:
            return str(suites.save(self.suite, self._results_dir))
        except ConfigError:  # each run, whose result cannot be stored either, reports it
            kept = save_elsewhere(lambda directory: suites.save(self.suite, directory))
            return str(kept) if kept else None

    def _update_suite(self, status: Status, error: str | None) -> Suite:
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
        wall_s = time.monotonic() - self._start_s
        return self.suite.replace(wall_s=wall_s, status=status, error=error, runs=tuple(runs))
