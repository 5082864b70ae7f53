"""Checks of what this machine allows: properties of the host, and each back end, opened on a veth pair of its own."""

from collections.abc import Iterator
from typing import get_args

from nodrop.config.schema import Config, EngineConfig
from nodrop.errors import NodropError
from nodrop.generator.engine import EngineMeasurer
from nodrop.model.choices import Backend
from nodrop.plan import build_plan
from nodrop.stage.capability_checks import CapabilityCheck, list_checks
from nodrop.stage.dpdk import describe_dpdk
from nodrop.stage.netns import NetnsStage

REQUIRED = "af_packet"
"""The back end that a default run uses without privilege."""


def run_checks() -> Iterator[CapabilityCheck]:
    """Yield all checks as they complete, in reading order."""
    for check in list_checks():
        yield check()
    yield from check_backends()


def check_backends() -> Iterator[CapabilityCheck]:
    """Yield a check for each back end, fastest last."""
    for backend in get_args(Backend):
        yield _check_backend(backend)


def _check_backend(backend: Backend) -> CapabilityCheck:
    plan = build_plan(Config(sut="wire", engine=EngineConfig(backend=backend, queue_slots=1024)))
    result = error_text = ""
    try:
        with (
            NetnsStage(plan.lab, "doctor") as stage,
            EngineMeasurer(
                plan.engine,
                plan.traffic,
                netns_pid=stage.facts.tester_pid,
                interfaces=plan.lab.tester_interfaces,
                check_alive=stage.check_alive,
            ) as measurer,
        ):
            measurer.check_path()
            result = measurer.ports[0].why or "works"
    except NodropError as error:
        error_text = str(error)
    required = backend == REQUIRED
    result = result or "refused"
    if backend == "dpdk":
        result = f"{result}; {describe_dpdk()}"
    return CapabilityCheck(name=backend, ok=not error_text, required=required, found=result, remedy=error_text)
