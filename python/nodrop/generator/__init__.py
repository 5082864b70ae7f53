"""Traffic generators: each turns a Trial into a TrialResult."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from nodrop.generator.base import Measurer
    from nodrop.model.facts import StageFacts
    from nodrop.model.plan import Plan


class PathUnderTest(Protocol):
    """The part of a stage that generators use."""

    @property
    def facts(self) -> "StageFacts":
        """Facts of the stage while it is up."""

    def check_alive(self) -> None:
        """Raise StageError when the path is no longer up."""


def open_generator(plan: "Plan", stage: PathUnderTest) -> "Measurer":
    """Return the traffic generator of a plan, to be entered as a context manager while the stage is up."""
    if plan.trex:
        from nodrop.generator.trex.measurer import TrexMeasurer

        return TrexMeasurer(
            plan.trex,
            plan.traffic,
            plan.neighbors,
            check_alive=stage.check_alive,
            interfaces=plan.lab.tester_interfaces,
        )
    from nodrop.generator.engine import PROGRESS_S, EngineMeasurer
    from nodrop.model.trial import WINDOW_S

    return EngineMeasurer(
        plan.engine,
        plan.traffic,
        plan.neighbors,
        netns_pid=stage.facts.tester_pid,
        interfaces=plan.lab.tester_interfaces,
        check_alive=stage.check_alive,
        capture=plan.capture,
        sut_pids=tuple(process.pid for process in stage.facts.sut_processes),
        separates_disturbances=plan.search.excludes_disturbed,
        sut_shares_cpu=stage.facts.sut_shares_tester_cpu,
        progress_s=WINDOW_S if plan.interval_s else PROGRESS_S,
    )
