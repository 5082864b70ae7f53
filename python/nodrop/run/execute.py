"""One run, from plan to stored result. Start reading here.

    plan ─► stage up ─► generator connected ─► path checked ─► search ◄─► trials ─► latency trials ─► result stored
                                                          └► one trial at a fixed rate ──────────┘

Everything is brought down in the opposite order by the `with` statement, whatever ends the run; what was measured by
then is stored in every case, and told with the last event.
"""

import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nodrop import __version__, store
from nodrop.errors import NoPath, OutOfTime
from nodrop.explain.decision_log import LoggedSearch
from nodrop.generator.base import Measurer, TrialInterrupted
from nodrop.generator.engine import EngineMeasurer
from nodrop.host.background_describe import beside, this_host
from nodrop.model.chd import HostDescriptor
from nodrop.model.event import OnEvent
from nodrop.model.facts import Facts, Versions
from nodrop.model.plan import FixedPlan, LatencyPlan, Plan
from nodrop.model.result import DirectionCheck, LatencyResult, Outlook, RunResult
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import FIXED, Trial, TrialResult, Verdict
from nodrop.observe import observers
from nodrop.observe.base import Observer
from nodrop.plan.stage_facts import settled
from nodrop.run.recorder import RunRecorder
from nodrop.run.retries import check_repeats, check_valid, without_hold_ups
from nodrop.search.base import Outcome
from nodrop.search.goal_results import OUT_OF_TIME, judge
from nodrop.stage.base import Stage
from nodrop.stage.external import ExternalStage
from nodrop.stage.host_facts import read_host
from nodrop.stage.netns import NetnsStage
from nodrop.stage.persistent_lab import StandingStage
from nodrop.system.cpu_sets import on_cpus
from nodrop.units import format_seconds


class Parts(NamedTuple):
    """What a run is put together from; tests put in others."""

    stage: Callable[[Plan, RunRecorder], Stage]
    """The record is there to tell how far the stage is."""
    measurer: Callable[[Plan, Stage], Measurer]
    clock: Callable[[], float] = time.monotonic
    """Gives the time that trials take, in seconds."""
    describe: Callable[[], HostDescriptor | None] = lambda: None
    """Gives the machine to the last core, where that is wanted."""


def parts_here() -> Parts:
    """What a run is put together from where nothing else is asked for."""
    return Parts(_stage, _generator, describe=this_host)


def execute(plan: Plan, on_event: OnEvent, parts: Parts | None = None) -> RunResult:
    """Carry out a plan and store what comes of it.

    Args:
        plan: what to do.
        on_event: is told everything as it happens; the last event, RunDone, holds the result also of a failed run.
        parts: what to run it with, if not with the plan's stage and generator.

    Raises: whatever ended the run early, after the result so far was stored: NodropError or KeyboardInterrupt.
    """
    store.require_writable(plan.results_dir)
    if plan.capture:
        store.require_writable(Path(plan.capture.file).parent, "capture.file")
    search = LoggedSearch(plan.search)
    make = parts or parts_here()
    host, described = read_host(), beside(make.describe)
    with RunRecorder(plan, on_event, make.clock) as record, make.stage(plan, record) as stage:
        plan = record.settle(settled(plan, stage.facts.chains))
        with (
            make.measurer(plan, stage) as measurer,
            observers(stage.facts, plan) as watching,
            on_cpus(plan.engine.cores),  # beside the tester, to take none of the SUT's time
            record.measuring(),
        ):
            record.settle(plan.model_copy(update={"warnings": (*plan.warnings, *measurer.notes)}))
            record.stage_up(
                Facts(
                    host=host,
                    stage=stage.facts,
                    versions=_versions(measurer),
                    ports=measurer.ports,
                    chd=described(),
                )
            )
            if plan.path_check:
                record.path_checked(_check_path(plan, stage, measurer, make.clock), stage.facts)
            bench = _Bench(measurer, record, watching, make.clock)
            if plan.fixed and not plan.no_traffic:
                _measure_fixed(plan.fixed, bench)
            elif not plan.no_traffic:
                _search(search, plan.search, bench, stage.facts.sut_shares_tester_cpu)
                _measure_latency(plan.latency, plan.search.repeat_invalid, bench)
    return record.result


def _check_path(plan: Plan, stage: Stage, measurer: Measurer, clock: Callable[[], float]) -> tuple[DirectionCheck, ...]:
    """Frames through every chain, tried for as long as the plan allows, then once more with chains made anew.

    Raises: NoPath.
    """
    end_s = clock() + plan.path_check_timeout_s
    restaged: tuple[int, ...] = ()
    while True:
        try:
            return measurer.check_path()
        except NoPath as fault:
            if clock() < end_s:
                stage.check_alive()
            elif stage.restage(fault.chains):
                restaged = fault.chains
                end_s = clock() + plan.path_check_timeout_s
            elif restaged:
                again = ", ".join(map(str, restaged))
                raise NoPath(f"{fault}; the VMs of chain {again} were made anew once meanwhile", fault.chains) from None
            else:
                raise


class _Bench(NamedTuple):
    """What every trial of a run needs."""

    measurer: Measurer
    record: RunRecorder
    observers: Sequence[Observer]
    clock: Callable[[], float]


def _search(search: LoggedSearch, plan: SearchPlan, bench: _Bench, sut_shares_tester_cpu: bool) -> None:
    """The only loop: what the search asks for is measured, and the search told, until it asks no more."""
    record = bench.record
    start_s = bench.clock()
    while (trial := search.ask()) is not None:
        started_s = bench.clock() - start_s
        if started_s + trial.duration_s > plan.search_duration_max_s:
            break
        measured = _measure(trial, "search", bench, search.outlook(trial, started_s))
        result = without_hold_ups(measured, plan, record.trials)
        if result.validity.verdict is Verdict.INVALID:
            record.trial_done(result)
            check_repeats(record.trials, plan.repeat_invalid)
            continue
        record.searched(search.tell(Outcome.of(result, started_s)), search.findings())
        record.trial_done(result, judge(plan, search.intervals(), [*record.trials, result], sut_shares_tester_cpu))
    record.goals = judge(plan, search.intervals(), record.trials, sut_shares_tester_cpu, out_of_time=trial is not None)
    if not plan.budgeted and any(flag.code == OUT_OF_TIME for found in record.goals for flag in found.flags):
        raise OutOfTime(_out_of_time(plan))


def _measure_fixed(plan: FixedPlan, bench: _Bench) -> None:
    """The one trial of a run at a fixed rate; it is not repeated, as whoever asked may be watching it."""
    trial = Trial(intended_load_pps=plan.load_pps, duration_s=plan.duration_s, reason=f"fixed rate {plan.asked}")
    try:
        result = _measure(trial, FIXED, bench)
    except TrialInterrupted as interrupt:
        _keep_fixed(plan, interrupt.result, bench.record)
        raise
    _keep_fixed(plan, result, bench.record)
    check_valid(result)


def _keep_fixed(plan: FixedPlan, result: TrialResult, record: RunRecorder) -> None:
    record.trial_done(result)
    if result.validity.verdict is not Verdict.INVALID:
        record.latency_measured(
            LatencyResult(label=plan.asked, load_pps=result.offered_load_pps, trial_index=result.index)
        )


def _measure_latency(plan: LatencyPlan, repeat_invalid: int, bench: _Bench) -> None:
    """Latency at the loads found. A point whose every trial was invalid is left out."""
    record = bench.record
    lowers_pps = {found.goal.label: found.lower.load_pps for found in record.goals if found.lower}
    for point in plan.points:
        if point.goal_label not in lowers_pps:
            continue
        load_pps = lowers_pps[point.goal_label] * point.load_ratio
        trial = Trial(intended_load_pps=load_pps, duration_s=plan.duration_s, reason=f"latency at {point.label}")
        for _ in range(1 + repeat_invalid):
            result = _measure(trial, f"latency {point.label}", bench)
            record.trial_done(result)
            if result.validity.verdict is not Verdict.INVALID:
                record.latency_measured(LatencyResult(label=point.label, load_pps=load_pps, trial_index=result.index))
                break


def _measure(trial: Trial, phase: str, bench: _Bench, outlook: Outlook | None = None) -> TrialResult:
    index = bench.record.trial_started(trial, phase, outlook or Outlook())
    for observer in bench.observers:
        observer.before()
    result = bench.measurer.measure(trial, index, phase, bench.record.trial_progress)
    for observer in reversed(bench.observers):
        result = observer.after(result)
    return result


def _out_of_time(plan: SearchPlan) -> str:
    return (
        f"a search within {format_seconds(plan.search_duration_max_s)} asked, it needs longer; allow more time "
        "(search.max_duration) or a larger search.width, or make do with what is known by then (--budget)"
    )


def _versions(measurer: Measurer) -> Versions:
    return Versions(
        nodrop=__version__, engine=measurer.version, commit=measurer.commit, python=platform.python_version()
    )


def _stage(plan: Plan, record: RunRecorder) -> Stage:
    if plan.standing_lab:
        return StandingStage(plan.standing_lab)
    if plan.cloud:
        from nodrop.stage.openstack.stage import OpenStackStage  # loads much that no other run needs

        return OpenStackStage(plan.lab, plan.cloud, record.staging, tester_is_here=plan.lab.tester_is_here)
    return ExternalStage(plan.lab) if plan.lab.sut == "ext" else NetnsStage(plan.lab, record.run_id)


def _generator(plan: Plan, stage: Stage) -> Measurer:
    if plan.trex:
        from nodrop.generator.trex.measurer import TrexMeasurer  # likewise

        return TrexMeasurer(
            plan.trex,
            plan.traffic,
            plan.neighbors,
            check_alive=stage.check_alive,
            interfaces=plan.lab.tester_interfaces,
        )
    return EngineMeasurer(
        plan.engine,
        plan.traffic,
        plan.neighbors,
        netns_pid=stage.facts.tester_pid,
        interfaces=plan.lab.tester_interfaces,
        check_alive=stage.check_alive,
        capture=plan.capture,
    )
