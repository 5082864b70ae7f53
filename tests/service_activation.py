"""Service activation tests against simulated SUTs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.policers import Policer
from tests.running import NullStage

from nodrop.config.load import build_config
from nodrop.model.plan import Plan
from nodrop.model.procedure import Y1564Plan
from nodrop.model.result import RunResult
from nodrop.plan import build_plan
from nodrop.plan.y1564 import plan_y1564
from nodrop.procedure.base import RunRequest
from nodrop.procedure.y1564 import Y1564Procedure, build_y1564_report
from nodrop.procedure.y1564_figures import Y1564Report
from nodrop.run.execute import RunEnvironment
from nodrop.run.suite import execute_procedure
from nodrop.simulation import SimulatedMeasurer
from nodrop.simulation.function_sut import FunctionSut, SutCounts
from nodrop.simulation.sut import Sut

FRAME_BYTES = 500
SERVICE = {
    "y1564.cir": "1Mbps",
    "y1564.eir": "500kbps",
    "y1564.cbs": 12_500,
    "y1564.ebs": 12_500,
    "y1564.duration": "20s",
    "bidirectional": False,
    "frame_bytes": FRAME_BYTES,
}
COMMITTED_ONLY = {"y1564.eir": 0, "y1564.ebs": 0}
POLICER = Policer(1_000_000, 12_500, 500_000, 12_500)


def make_settings(**keys: object) -> Y1564Plan:
    return plan_y1564(build_config((), SERVICE | keys))


def police(policer: Policer, frame_bytes: int = FRAME_BYTES) -> Sut:
    return FunctionSut(lambda load_pps, duration_s: policer.count(load_pps, duration_s, frame_bytes))


def forward_all(load_pps: float, duration_s: float) -> SutCounts:
    count = round(load_pps * duration_s)
    return SutCounts(count, count, count)


def carry_out(
    tmp_path: Path,
    settings: Y1564Plan,
    sut: Sut,
    keys: Mapping[str, Any] | None = None,
    change: Callable[[Plan, SimulatedMeasurer], SimulatedMeasurer] = lambda _, measurer: measurer,
) -> tuple[Y1564Report, list[RunResult]]:
    """Carry out the tests against a simulated SUT."""

    def make_run(run: RunRequest) -> Plan:
        base = {"bidirectional": settings.direction_count == 2, "frame_bytes": settings.frame_bytes}
        plan = build_plan(build_config((), base | {"results_dir": str(tmp_path)} | dict(keys or {}) | run.settings))
        return plan.replace(variant=run.variant, repeat=run.repeat, repeat_count=run.repeat_count)

    def open_generator(plan: Plan, _stage: object) -> SimulatedMeasurer:
        return change(plan, SimulatedMeasurer(plan.traffic, sut))

    environment = RunEnvironment(lambda *_: NullStage(), open_generator, rest=lambda _: None)
    outcome = execute_procedure(Y1564Procedure(settings), make_run, lambda _: None, environment)
    results = list(outcome.results)
    return build_y1564_report(settings, results), results


def list_verdicts(report: Y1564Report) -> dict[str, str | None]:
    return {step.name: step.verdict for step in report.steps}


def list_rates(results: list[RunResult]) -> list[float]:
    return [each.plan.fixed.load_pps for each in results if each.plan.fixed]
