"""The one interface of all stages."""

from typing import Protocol, Self

from nodrop.model.facts import StageFacts


class Stage(Protocol):
    """A path under test as a context manager: up on entry, down on exit whatever happened."""

    def __enter__(self) -> Self:
        """Bring it up. Raises StageError with what was asked, found and what to do."""

    def __exit__(self, *exc: object) -> None:
        """Take down everything that was brought up; never raises."""

    @property
    def facts(self) -> StageFacts:
        """What stands now."""

    def check_alive(self) -> None:
        """Raise StageError when the path has fallen down since. Cheap: called several times a second."""
