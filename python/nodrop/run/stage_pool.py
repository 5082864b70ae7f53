"""Stages in clouds that are shared by consecutive runs with the same plan and removed after the last of them."""

from collections.abc import Sequence
from typing import Self

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan
from nodrop.model.facts import StageFacts
from nodrop.model.plan import Plan
from nodrop.run.execute import RunEnvironment
from nodrop.stage.base import OnProgress, Stage
from nodrop.stage.external import ExternalStage
from nodrop.stage.holder_protocol import InstanceChange, InstanceChanged
from nodrop.system.log_files import LOGGER


class StagePool:
    """At most one stage in a cloud, which outlives its runs; a context manager around all of them."""

    def __init__(self, environment: RunEnvironment) -> None:
        self._open_stage = environment.open_stage
        self.environment = environment._replace(open_stage=self._borrow_stage)
        """The environment of the runs: the same, except that stages in clouds come from this pool."""
        self._plan: CloudPlan | None = None
        self._stage: Stage | None = None

    def __enter__(self) -> Self:
        """Start with an empty pool."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the stage."""
        self._release()

    def acquire(self, plan: Plan, run_id: str, on_progress: OnProgress) -> tuple[Stage, bool]:
        """Return the stage for a plan, and whether it was brought up by this call. Raises StageError."""
        if self._stage and self._plan == plan.cloud and _is_alive(self._stage):
            return self._stage, False
        self._release()
        stage = self._open_stage(plan, run_id, on_progress)
        stage.__enter__()
        self._stage, self._plan = stage, plan.cloud
        return stage, True

    def _borrow_stage(self, plan: Plan, run_id: str, on_progress: OnProgress) -> Stage:
        if plan.cloud:
            return BorrowedStage(self, plan, run_id, on_progress)
        return self._open_stage(plan, run_id, on_progress)

    def _release(self) -> None:
        stage, self._stage = self._stage, None
        if stage:
            stage.__exit__(None, None, None)


class BorrowedStage:
    """A stage of the pool for the duration of one run; see `nodrop.stage.base.Stage`."""

    def __init__(self, pool: StagePool, plan: Plan, run_id: str, on_progress: OnProgress) -> None:
        self._pool = pool
        self._plan = plan
        self._run_id = run_id
        self._on_progress = on_progress
        self._borrowed: Stage | None = None
        self._is_new = True

    def __enter__(self) -> Self:
        """Bring the stage up, or reuse the one that is up. Raises StageError."""
        self._borrowed, self._is_new = self._pool.acquire(self._plan, self._run_id, self._on_progress)
        if not self._is_new and self._plan.lab.tester_is_here:
            with ExternalStage(self._plan.lab):  # checks that larger frames fit through these interfaces
                pass
        return self

    def __exit__(self, *exc: object) -> None:
        """Leave the stage up for the next run."""

    @property
    def facts(self) -> StageFacts:
        """The facts of the stage; without a time for bringing it up if it was up before."""
        facts = self._stage.facts
        return facts if self._is_new else facts.replace(up_s=None)

    def restage(self, chains: Sequence[int]) -> bool:
        """Re-create these chains. Raises StageError."""
        return self._stage.restage(chains)

    def check_alive(self) -> None:
        """Raise StageError if the path is no longer up."""
        self._stage.check_alive()

    def schedule_changes(
        self, changes: Sequence[InstanceChange], begin_ns: int | None = None
    ) -> tuple[InstanceChanged, ...]:
        """Let instances of a pool change at their times. Raises StageError."""
        return self._stage.schedule_changes(changes, begin_ns)

    @property
    def _stage(self) -> Stage:
        if not self._borrowed:
            raise StageError("the chains in the cloud are not up; enter the stage before using it")
        return self._borrowed


def _is_alive(stage: Stage) -> bool:
    try:
        stage.check_alive()
    except StageError as error:
        LOGGER.warning("the stage of the previous run is re-created: %s", error)
        return False
    return True
