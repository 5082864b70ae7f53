"""The interface of all stages."""

from collections.abc import Sequence
from typing import Protocol, Self

from nodrop.errors import StageError
from nodrop.model.facts import StageFacts
from nodrop.stage.holder_protocol import InstanceChange, InstanceChanged


class OnProgress(Protocol):
    """Receives the progress of a stage that takes long to come up."""

    def __call__(self, text: str, done_count: int, count: int, /) -> None:
        """Report the current step, the number of steps done and their total."""


def ignore_progress(_text: str, _done_count: int, _count: int) -> None:
    """Discard progress."""


class Stage(Protocol):
    """A path under test as a context manager: brought up on entry, always taken down on exit."""

    def __enter__(self) -> Self:
        """Bring the path up. Raises StageError with the problem and its fix."""

    def __exit__(self, *exc: object) -> None:
        """Take down everything that was brought up; never raises."""

    @property
    def facts(self) -> StageFacts:
        """Facts of the path while it is up."""

    def restage(self, chains: Sequence[int]) -> bool:
        """Re-create chains that pass no frames.

        Returns: whether they were re-created; False if this stage cannot, or has done so before. Raises StageError.
        """

    def check_alive(self) -> None:
        """Raise StageError if the path is no longer up. Cheap: called several times a second."""

    def schedule_changes(
        self, changes: Sequence[InstanceChange], begin_ns: int | None = None
    ) -> tuple[InstanceChanged, ...]:
        """Let instances of a pool change at their times, instead of changes whose time has not come; return the changes
        that were carried out since the last call. Raises StageError without instances.

        Args:
            changes: the changes.
            begin_ns: begin of a trial in which the pool may scale out, in nanoseconds since the epoch; None: no trial.
        """


class FixedInstances:
    """A part of stages that are no pool."""

    def schedule_changes(
        self,
        changes: Sequence[InstanceChange],
        begin_ns: int | None = None,  # noqa: ARG002
    ) -> tuple[InstanceChanged, ...]:
        """Raise StageError if there is a change: there are no instances."""
        if changes:
            raise StageError(f"event '{changes[0].name}': this path has no instances; use sut: pool, in a private lab")
        return ()


class FixedChains(FixedInstances):
    """A part of stages whose chains cannot be created again."""

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002 - there is nothing to gain by it
        """Return False: no chain is re-created."""
        return False
