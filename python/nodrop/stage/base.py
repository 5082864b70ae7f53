"""The one interface of all stages."""

from collections.abc import Sequence
from typing import Protocol, Self

from nodrop.model.facts import StageFacts


class OnProgress(Protocol):
    """Hears how far a stage is that takes its time."""

    def __call__(self, text: str, done_count: int, count: int, /) -> None:
        """Steps taken, of how many."""


def ignore_progress(_text: str, _done_count: int, _count: int) -> None:
    """Tells nobody."""


class Stage(Protocol):
    """A path under test as a context manager: up on entry, down on exit whatever happened."""

    def __enter__(self) -> Self:
        """Bring it up. Raises StageError with what was asked, found and what to do."""

    def __exit__(self, *exc: object) -> None:
        """Take down everything that was brought up; never raises."""

    @property
    def facts(self) -> StageFacts:
        """What stands now."""

    def restage(self, chains: Sequence[int]) -> bool:
        """Make these chains anew, through which nothing passes.

        Returns: whether that was done; False where it cannot be, or was done once already. Raises StageError.
        """

    def check_alive(self) -> None:
        """Raise StageError when the path has fallen down since. Cheap: called several times a second."""
