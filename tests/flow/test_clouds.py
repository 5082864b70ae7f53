"""Runs over chains in a cloud, with a stage that only counts: the order of staging, measuring and cleanup."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from tests.running import MILLION, Listener, NullStage

from nodrop.config.load import build_config
from nodrop.errors import GeneratorError, NoPathError, StageError
from nodrop.model.event import StageProgress
from nodrop.model.facts import ChainFacts, StageFacts
from nodrop.model.layer import Vlan
from nodrop.model.plan import Plan
from nodrop.model.result import DirectionCheck, Status
from nodrop.plan import build_each
from nodrop.run.execute import RunEnvironment, execute
from nodrop.run.suite import execute_suite
from nodrop.simulation import SimulatedMeasurer
from nodrop.stage.base import OnProgress, Stage

SHORT = {
    "sut": "openstack",
    "generator": "trex",
    "rate": "10kpps",
    "duration": "0.1s",
    "path_check_timeout": "10ms",
}


class CountingStage(NullStage):
    """Chains numbered by a cloud; fails or is restaged on request."""

    def __init__(self, on_progress: OnProgress, vlan: int) -> None:
        super().__init__()
        self.entered_count = self.left_count = 0
        self.restaged: tuple[int, ...] = ()
        self.is_fallen = False
        self._on_progress = on_progress
        self._vlan = vlan

    def __enter__(self) -> Self:
        self._on_progress("server nodrop-vm-0 is ACTIVE", 1, 1)
        self.entered_count += 1
        return self

    def __exit__(self, *exc: object) -> None:
        self.left_count += 1

    @property
    def facts(self) -> StageFacts:
        chain = ChainFacts(
            chain=0,
            tester_interfaces=("trex0", "trex1"),
            vlans=(self._vlan, self._vlan + 1),
            macs=("fa:16:3e:00:00:01", "fa:16:3e:00:00:02"),
        )
        return super().facts.model_copy(update={"name": f"restaged: {self.restaged}", "chains": (chain,), "up_s": 4.0})

    def restage(self, chains: Sequence[int]) -> bool:
        if self.restaged:
            return False
        self.restaged = tuple(chains)
        return True

    def check_alive(self) -> None:
        if self.is_fallen:
            raise StageError("a server was deleted")


class Cloud:
    """Creates such stages, and stores them."""

    def __init__(self) -> None:
        self.stages: list[CountingStage] = []
        self.wrong: list[BaseException | None] = []
        """The result or error of each run's measurer, in order."""

    @property
    def parts(self) -> RunEnvironment:
        return RunEnvironment(self._stage, self._measurer)

    def _stage(self, _plan: Plan, _run_id: str, on_progress: OnProgress) -> Stage:
        self.stages.append(CountingStage(on_progress, 700 + 10 * len(self.stages)))
        return self.stages[-1]

    def _measurer(self, plan: Plan, _stage: Stage) -> SimulatedMeasurer:
        wrong = self.wrong.pop(0) if self.wrong else None
        if wrong:
            raise wrong
        return SimulatedMeasurer(plan.traffic, MILLION)


def plans(results_dir: Path, **keys: Any) -> tuple[Plan, ...]:
    return build_each(build_config((), SHORT | {"results_dir": str(results_dir)} | keys), cpus=(0, 1))


def test_a_run_is_settled_with_the_vlans_and_stations_of_the_cloud(tmp_path: Path) -> None:
    cloud, listener = Cloud(), Listener()
    result = execute(plans(tmp_path)[0], listener, cloud.parts)
    assert [
        layer.id for stream in result.plan.traffic.streams for layer in stream.layers if isinstance(layer, Vlan)
    ] == [
        700,
        701,
    ]
    assert result.plan.traffic.streams[0].ethernet.dst == "fa:16:3e:00:00:01"
    assert [event.text for event in listener.events if isinstance(event, StageProgress)] == [
        "server nodrop-vm-0 is ACTIVE"
    ]
    assert (cloud.stages[0].entered_count, cloud.stages[0].left_count) == (1, 1)


def test_several_frame_sizes_are_measured_over_what_was_staged_once(tmp_path: Path) -> None:
    cloud, listener = Cloud(), Listener()
    outcome = execute_suite(plans(tmp_path, frame_sizes=[68, 128, 1518]), listener, cloud.parts)
    (stage,) = cloud.stages
    assert (stage.entered_count, stage.left_count) == (1, 1)
    assert [result.status for result in outcome.results] == [Status.COMPLETE] * 3
    assert [result.facts.stage.up_s for result in outcome.results if result.facts] == [4.0, None, None]
    assert {result.plan.lab.vlans for result in outcome.results} == {((700, 701),)}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorError("TRex is gone")])
def test_whatever_ends_it_what_was_staged_is_taken_away(tmp_path: Path, error: BaseException) -> None:
    cloud = Cloud()
    cloud.wrong = [None, error]
    if isinstance(error, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            execute_suite(plans(tmp_path, frame_sizes=[68, 128]), Listener(), cloud.parts)
    else:
        assert execute_suite(plans(tmp_path, frame_sizes=[68, 128]), Listener(), cloud.parts).failures
    assert [(stage.entered_count, stage.left_count) for stage in cloud.stages] == [(1, 1)]


def test_what_fell_down_between_two_runs_is_staged_anew(tmp_path: Path) -> None:
    cloud = Cloud()

    def fall(event: object) -> None:
        if type(event).__name__ == "RunDone":
            cloud.stages[0].is_fallen = True

    outcome = execute_suite(plans(tmp_path, frame_sizes=[68, 128]), fall, cloud.parts)
    assert [result.plan.lab.vlans for result in outcome.results] == [((700, 701),), ((710, 711),)]
    assert [(stage.entered_count, stage.left_count) for stage in cloud.stages] == [(1, 1), (1, 1)]


def test_another_cloud_is_staged_when_the_one_before_is_gone(tmp_path: Path) -> None:
    """Alternating setups: their names would clash."""
    cloud = Cloud()
    a, b = plans(tmp_path)[0], plans(tmp_path, **{"openstack.multiqueue": 2})[0]
    left_counts: list[list[int]] = []

    def hear(event: object) -> None:
        if type(event).__name__ == "StageUp":
            left_counts.append([stage.left_count for stage in cloud.stages])

    execute_suite((a, a, b), hear, cloud.parts)
    assert left_counts == [[0], [0], [1, 0]]
    assert [stage.left_count for stage in cloud.stages] == [1, 1]


class Blocked(SimulatedMeasurer):
    """Forwards nothing before its stage was restaged, or never."""

    def __init__(self, plan: Plan, stage: CountingStage, *, helps: bool = True) -> None:
        super().__init__(plan.traffic, MILLION)
        self._its = stage
        self._helps = helps

    def check_path(self) -> tuple[DirectionCheck, ...]:
        if not (self._its.restaged and self._helps):
            raise NoPathError("nothing arrived", (0,))
        return super().check_path()


def test_chains_through_which_nothing_passes_are_made_anew_once(tmp_path: Path) -> None:
    cloud = Cloud()
    parts = RunEnvironment(cloud.parts.open_stage, lambda plan, _stage: Blocked(plan, cloud.stages[-1]))
    result = execute(plans(tmp_path)[0], Listener(), parts)
    assert result.status is Status.COMPLETE
    assert cloud.stages[0].restaged == (0,)
    assert result.facts and result.facts.stage.name == "restaged: (0,)"


def test_chains_that_are_not_helped_by_that_are_told_to_have_been_made_anew(tmp_path: Path) -> None:
    cloud = Cloud()
    parts = RunEnvironment(cloud.parts.open_stage, lambda plan, _stage: Blocked(plan, cloud.stages[-1], helps=False))
    with pytest.raises(NoPathError, match="nothing arrived; the VMs of chain 0 were re-created once"):
        execute(plans(tmp_path)[0], Listener(), parts)
