"""No lab at all: what stands between the tester's ports is a model."""

from collections.abc import Sequence
from typing import Self

from nodrop.model.facts import StageFacts


class NullStage:
    """Nothing to bring up or take down; see `nodrop.stage.base.Stage`."""

    def __init__(self, sut: str) -> None:
        self._sut = sut

    def __enter__(self) -> Self:
        """Nothing to bring up."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Nothing to take down."""

    @property
    def facts(self) -> StageFacts:
        """That it is simulated."""
        return StageFacts(
            name="simulated",
            sut=self._sut,
            privilege="nobody",
            tester_pid=0,
            sut_pid=0,
            sut_shares_tester_cpu=False,
            interfaces=(),
        )

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002 - there is nothing to gain by it
        """It stands as it stands."""
        return False

    def check_alive(self) -> None:
        """It cannot fall down."""
