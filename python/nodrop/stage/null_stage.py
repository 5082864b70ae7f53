"""A stage without a lab, for a simulated SUT."""

from typing import Self

from nodrop.model.facts import StageFacts
from nodrop.stage.base import FixedChains


class NullStage(FixedChains):
    """Brings up nothing; see `nodrop.stage.base.Stage`."""

    def __init__(self, sut: str) -> None:
        self._sut = sut

    def __enter__(self) -> Self:
        """Bring up nothing."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Take down nothing."""

    @property
    def facts(self) -> StageFacts:
        """Facts that name the simulation."""
        return StageFacts(
            name="simulated",
            sut=self._sut,
            privilege="nobody",
            tester_pid=0,
            sut_pid=0,
            sut_shares_tester_cpu=False,
            interfaces=(),
        )

    def check_alive(self) -> None:
        """Never raise: a model cannot fail."""
