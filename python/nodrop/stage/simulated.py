"""No lab at all: what stands between the tester's ports is a model."""

from typing import Self

from nodrop.model.facts import StageFacts


class SimulatedStage:
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

    def check_alive(self) -> None:
        """It cannot fall down."""
