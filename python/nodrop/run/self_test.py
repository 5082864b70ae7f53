"""What this machine allows: the checks of the host, and whether each back end works: really opened, over a wire of
its own."""

from collections.abc import Iterator
from typing import get_args

from nodrop.config.schema import Config, EngineConfig
from nodrop.errors import NodropError
from nodrop.generator.engine import EngineMeasurer
from nodrop.model.choices import Backend
from nodrop.plan import build
from nodrop.stage.capability_checks import Check, all_checks
from nodrop.stage.dpdk import dpdk_facts
from nodrop.stage.netns import NetnsStage

REQUIRED = "af_packet"
"""What the default run uses."""


def checks() -> Iterator[Check]:
    """All of them, one by one as they are done, in the order a person wants to read them."""
    for check in all_checks():
        yield check()
    yield from backend_checks()


def backend_checks() -> Iterator[Check]:
    """One for each back end, in the order of the speed to expect."""
    for backend in get_args(Backend):
        yield _check(backend)


def _check(backend: Backend) -> Check:
    plan = build(Config(sut="wire", engine=EngineConfig(backend=backend, queue_slots=1024)))
    found = refusal = ""
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
            found = measurer.ports[0].why or "works"
    except NodropError as error:
        refusal = str(error)
    required = backend == REQUIRED
    found = found or "refused"
    if backend == "dpdk":
        found = f"{found}; {dpdk_facts()}"
    return Check(name=backend, ok=not refusal, required=required, found=found, remedy=refusal)
