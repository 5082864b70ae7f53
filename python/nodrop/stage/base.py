"""The interface of all stages."""

from collections.abc import Sequence
from typing import Protocol, Self

from nodrop.model.facts import StageFacts


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


class FixedChains:
    """A part of stages whose chains cannot be created again."""

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002 - there is nothing to gain by it
        """Return False: no chain is re-created."""
        return False
