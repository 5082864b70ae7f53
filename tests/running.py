"""Entire runs without packets: a lab of facts only, and a measurer that answers from a model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

from tests.suts import Step

from nodrop.config.load import build_config
from nodrop.generator.base import Measurer
from nodrop.model.choices import SutKind
from nodrop.model.event import Event
from nodrop.model.facts import StageFacts
from nodrop.model.lab_plan import LabPlan
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.plan import build_plan
from nodrop.run.execute import RunEnvironment, execute
from nodrop.simulation import SimulatedMeasurer, Sut, SutFunction
from nodrop.stage.base import OnProgress, Stage

MILLION = Step(1e6)
"""Forwards a million frames per second."""


class NullStage:
    """A stage that brings nothing up; records its exit."""

    def __init__(self, *, sut_shares_tester_cpu: bool = False) -> None:
        self.is_down = False
        self._shares = sut_shares_tester_cpu

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.is_down = True

    @property
    def facts(self) -> StageFacts:
        return StageFacts(
            name="null",
            sut="vnf-l2",
            privilege="root",
            tester_pid=1,
            sut_pid=1,
            sut_shares_tester_cpu=self._shares,
            interfaces=(),
        )

    def restage(self, chains: Sequence[int]) -> bool:  # noqa: ARG002
        return False

    def check_alive(self) -> None:
        """Pass: nothing can fail."""


def plan_lab(sut: SutKind, **keys: Any) -> LabPlan:
    """Return the lab that a run against this SUT would bring up, without CPUs bound."""
    return build_plan(build_config((), {"sut": sut, "vnf.core": "none", "vnf.queue_slots": 1024, **keys})).lab


def make_plan(results_dir: Path, **overrides: Any) -> Plan:
    """Return a quick plan with short trials; keys with `__` for the dot, e.g. search__width."""
    short: dict[str, Any] = {
        "search.initial_trial_duration": "0.1s",
        "search.final_trial_duration": "1s",
        "search.max_load": "4Mpps",
        "latency.trial_duration": "0.5s",
        "results_dir": str(results_dir),
    }
    keys = short | {key.replace("__", "."): value for key, value in overrides.items()}
    return build_plan(build_config((), keys))


def make_environment(
    sut: Sut | SutFunction = MILLION,
    *,
    stage: NullStage | None = None,
    wrap: Callable[[SimulatedMeasurer], Measurer] | None = None,
) -> RunEnvironment:
    """Return the environment of a run over a model, with a wrapper of its measurer that injects faults."""

    def make_stage(_plan: Plan, _run_id: str, _on_progress: OnProgress) -> Stage:
        return stage or NullStage()

    def make_measurer(plan: Plan, _stage: Stage) -> Measurer:
        simulated = SimulatedMeasurer(plan.traffic, sut)
        return wrap(simulated) if wrap else simulated

    return RunEnvironment(make_stage, make_measurer)


def run_clocked(
    plan: Plan, sut: Sut | SutFunction = MILLION, wrap: Callable[[SimulatedMeasurer], SimulatedMeasurer] | None = None
) -> tuple[RunResult, float]:
    """Run on the clock of the simulation; return the result and the time of its last frame."""
    measurers: list[SimulatedMeasurer] = []

    def start_clock(measurer: SimulatedMeasurer) -> SimulatedMeasurer:
        measurers.append(wrap(measurer) if wrap else measurer)
        return measurers[0]

    environment = make_environment(sut, wrap=start_clock)
    clocked = environment._replace(clock=lambda: measurers[0].now_s if measurers else 0.0)
    return execute(plan, Listener(), clocked), measurers[0].now_s


class Listener:
    """Stores every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    @property
    def names(self) -> list[str]:
        """Kinds of the events, progress excluded."""
        return [name for event in self.events if (name := type(event).__name__) != "TrialProgress"]
