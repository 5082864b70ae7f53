"""What stands in a cloud, kept from one run to the next that wants the same, and taken away after the last of them."""

from collections.abc import Sequence
from typing import Self

from nodrop.errors import StageError
from nodrop.model.cloud import CloudPlan
from nodrop.model.facts import StageFacts
from nodrop.model.plan import Plan
from nodrop.run.execute import Parts
from nodrop.run.recorder import RunRecorder
from nodrop.stage.base import Stage
from nodrop.stage.external import ExternalStage
from nodrop.system.log_files import LOGGER


class StagePool:
    """Stages in clouds that outlive their runs; a context manager around all of these."""

    def __init__(self, parts: Parts) -> None:
        self._make = parts.stage
        self.parts = parts._replace(stage=self._stage)
        """What runs are put together from: the same, but for stages in clouds."""
        self._plan: CloudPlan | None = None
        self._held: Stage | None = None

    def __enter__(self) -> Self:
        """Nothing stands yet."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Take away what stands."""
        self._let_go()

    def lend(self, plan: Plan, record: RunRecorder) -> tuple[Stage, bool]:
        """The stage for a plan, and whether it was brought up for it just now. Raises StageError."""
        if self._held and self._plan == plan.cloud and _is_alive(self._held):
            return self._held, False
        self._let_go()
        stage = self._make(plan, record)
        stage.__enter__()
        self._held, self._plan = stage, plan.cloud
        return stage, True

    def _stage(self, plan: Plan, record: RunRecorder) -> Stage:
        return BorrowedStage(self, plan, record) if plan.cloud else self._make(plan, record)

    def _let_go(self) -> None:
        held, self._held = self._held, None
        if held:
            held.__exit__(None, None, None)


class BorrowedStage:
    """A stage for the time of a run; see `nodrop.stage.base.Stage`."""

    def __init__(self, holder: StagePool, plan: Plan, record: RunRecorder) -> None:
        self._holder = holder
        self._plan = plan
        self._record = record
        self._stage: Stage | None = None
        self._is_new = True

    def __enter__(self) -> Self:
        """Bring it up, or go on with what stands. Raises StageError."""
        self._stage, self._is_new = self._holder.lend(self._plan, self._record)
        if not self._is_new and self._plan.lab.tester_is_here:
            with ExternalStage(self._plan.lab):  # larger frames may not fit through these interfaces
                pass
        return self

    def __exit__(self, *exc: object) -> None:
        """It stays for the next run."""

    @property
    def facts(self) -> StageFacts:
        """What stands now; that it took no time where it stood before."""
        facts = self._standing.facts
        return facts if self._is_new else facts.model_copy(update={"up_s": None})

    def restage(self, chains: Sequence[int]) -> bool:
        """Make these chains anew. Raises StageError."""
        return self._standing.restage(chains)

    def check_alive(self) -> None:
        """Raise StageError when the path has fallen down since."""
        self._standing.check_alive()

    @property
    def _standing(self) -> Stage:
        if not self._stage:
            raise StageError("facts of chains in a cloud asked, they do not stand; enter the stage first")
        return self._stage


def _is_alive(stage: Stage) -> bool:
    try:
        stage.check_alive()
    except StageError as error:
        LOGGER.warning("what stood for the run before is made anew: %s", error)
        return False
    return True
