"""One run, from plan to stored result. Start reading here.

    plan ─► stage up ─► generator connected ─► path checked ─► search ◄─► trials ─► latency trials ─► result stored
                                                          └► one trial at a fixed rate ──────────┘

The `with` statements bring everything down in the opposite order, however the run ends. The measurements made by then
are stored in every case and reported with the last event.
"""

import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from nodrop import __version__, store
from nodrop.explain.decision_log import LoggedSearch
from nodrop.generator import open_generator
from nodrop.generator.base import Measurer
from nodrop.host.describe import describe_in_background, describe_local_host
from nodrop.model.chd import HostDescriptor
from nodrop.model.event import OnEvent
from nodrop.model.facts import CpuLoad, Facts, HostFacts, Versions
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.observe import open_observers
from nodrop.plan.stage_facts import apply_stage_facts
from nodrop.plan.time_allotment import TimeAllotment
from nodrop.run.cpu_watch import CpuWatch
from nodrop.run.path_check import check_path
from nodrop.run.recorder import RunRecorder
from nodrop.run.session import Session
from nodrop.stage import open_stage, require_programs
from nodrop.stage.base import OnProgress, Stage
from nodrop.stage.host_facts import read_host
from nodrop.system.cpu_load import CpuSample
from nodrop.system.cpu_sets import pinned_to


class RunEnvironment(NamedTuple):
    """The collaborators of a run; tests and simulations replace them."""

    open_stage: Callable[[Plan, str, OnProgress], Stage] = open_stage
    open_generator: Callable[[Plan, Stage], Measurer] = open_generator
    clock: Callable[[], float] = time.monotonic
    """Returns the time that trials take, in seconds."""
    rest: Callable[[float], None] = time.sleep
    """Waits between trials, for a time in seconds of that clock."""
    describe_host: Callable[[], HostDescriptor | None] = lambda: None
    """Returns the descriptor of this host, or None where a result does without."""
    begin_cpu_sample: Callable[[], CpuSample] | None = None
    """Begins to measure other work on this machine's CPUs before the first trial; None: no trials on this machine."""


LOCAL = RunEnvironment(describe_host=describe_local_host, begin_cpu_sample=CpuSample)
"""The stages and generators of the plan, on this machine."""


def execute(plan: Plan, on_event: OnEvent, environment: RunEnvironment | None = None) -> RunResult:
    """Carry out a plan and store the result, however the run ends.

    Args:
        plan: the run to make.
        on_event: receives every event as it happens; the last one, RunDone, holds the result, also of a failed run.
        environment: the collaborators of the run; by default LOCAL.

    Raises: the cause of an early end, after the result so far was stored: NodropError or KeyboardInterrupt.
    """
    environment = environment or LOCAL
    _check_outputs_writable(plan)
    require_programs(plan)
    LoggedSearch(plan.search)  # refuses an impossible plan before anything is brought up
    host, description = read_host(), describe_in_background(environment.describe_host)
    cpu_watch = CpuWatch(plan, environment.begin_cpu_sample()) if environment.begin_cpu_sample else None
    with (
        RunRecorder(plan, on_event, environment.clock) as recorder,
        environment.open_stage(plan, recorder.run_id, recorder.report_stage_progress) as stage,
    ):
        plan = recorder.update_plan(apply_stage_facts(plan, stage.facts.chains))
        with (
            environment.open_generator(plan, stage) as generator,
            open_observers(stage.facts, plan) as watching,
            pinned_to(plan.engine.cores),  # those of the tester: nodrop takes no time from the SUT
            recorder.interruptible(),
        ):
            plan = recorder.update_plan(plan.with_warnings(generator.notes))
            other_load = cpu_watch.read() if cpu_watch else ()
            recorder.record_facts(_collect_facts(host, stage, generator, description(), other_load))
            clock = environment.clock
            if plan.path_check:
                check_path(stage, generator, recorder, clock, plan.path_check_timeout_s)
            allotment = TimeAllotment.of(plan, recorder.start_s, clock())
            plan = recorder.update_plan(plan.replace(search=allotment.limit_search(plan, clock())))
            session = Session(plan, stage, generator, watching, recorder, clock, allotment, environment.rest)
            if plan.fixed and not plan.no_traffic:
                session.measure_fixed_rate(plan.fixed)
            elif not plan.no_traffic:
                session.measure_goals(LoggedSearch(plan.search))
            if cpu_watch:
                recorder.update_plan(plan.with_warnings(cpu_watch.describe_other_runs()))
    return recorder.result


def _check_outputs_writable(plan: Plan) -> None:
    """Raise ConfigError before anything is brought up for results that could not be stored."""
    store.require_writable(plan.results_dir)
    store.require_space(plan.results_dir)
    if plan.capture:
        store.require_writable(Path(plan.capture.file).parent, "capture.file")


def _collect_facts(
    host: HostFacts,
    stage: Stage,
    generator: Measurer,
    description: HostDescriptor | None,
    other_load: tuple[CpuLoad, ...],
) -> Facts:
    """Return everything known before the first frame."""
    versions = Versions(
        nodrop=__version__, engine=generator.version, commit=generator.commit, python=platform.python_version()
    )
    return Facts(
        host=host,
        stage=stage.facts,
        versions=versions,
        ports=generator.ports,
        other_load=other_load,
        chd=description,
    )
