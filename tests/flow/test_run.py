"""Entire runs, from plan to stored result, over simulated systems under test."""

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from tests.running import MILLION, Listener, NullStage, make_environment, make_plan, run_clocked
from tests.suts import SlowTester, Step

from nodrop import store
from nodrop.errors import ConfigError, GeneratorError, SearchError, SearchTimeoutError
from nodrop.explain.redecide import redecide
from nodrop.formatting.messages import format_message
from nodrop.generator.base import Measurer, OnWindow
from nodrop.model.event import RunDone
from nodrop.model.goal import Limit
from nodrop.model.result import DirectionCheck, RunResult, Status
from nodrop.model.trial import (
    Doubt,
    OtherWork,
    SenderTimes,
    TimeSummary,
    Trial,
    TrialResult,
    UndisturbedCounts,
    Validity,
    ValidityStatus,
)
from nodrop.run.execute import execute
from nodrop.simulation import SimulatedMeasurer
from nodrop.units import format_seconds

Mishap = Callable[[TrialResult], TrialResult]


class FaultyMeasurer:
    """A simulated measurer that injects faults into results, by the index of the trial."""

    def __init__(self, measurer: SimulatedMeasurer, by_index: dict[int, Mishap]) -> None:
        self.version, self.commit, self.ports = measurer.version, measurer.commit, measurer.ports
        self.notes = measurer.notes
        self._measurer = measurer
        self._by_index = by_index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def check_path(self) -> tuple[DirectionCheck, ...]:
        return self._measurer.check_path()

    def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
        result = self._measurer.measure(trial, index, phase, on_window)
        mishap = self._by_index.get(index)
        return mishap(result) if mishap else result


def mishaps(by_index: dict[int, Mishap]) -> Callable[[SimulatedMeasurer], Measurer]:
    return lambda measurer: FaultyMeasurer(measurer, by_index)


def mark_invalid(result: TrialResult) -> TrialResult:
    doubt = Doubt.invalid("tester_drops", dropped_count=5)
    return result.model_copy(update={"validity": Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))})


def mark_late(result: TrialResult, *, late_ns: int = 9_000) -> TrialResult:
    """Return a trial of which a tenth of the frames were not sent; median ones were sent `late_ns` late."""
    first, *others = result.streams
    unsent = first.intended_count // 10
    counts = {"offered_count": first.offered_count - unsent, "received_count": first.received_count - unsent}
    lateness = TimeSummary(
        count=1,
        min_ns=0,
        mean_ns=0.0,
        p50_ns=late_ns,
        p90_ns=20_000_000,
        p99_ns=20_000_000,
        p999_ns=20_000_000,
        max_ns=20_000_000,
    )
    sender = SenderTimes(port=0, lateness=lateness, gaps=None, stalls=None, unsent_count=unsent)
    return result.model_copy(update={"streams": (first.model_copy(update=counts), *others), "senders": (sender,)})


def disturb(result: TrialResult, *, left_out_ratio: float = 0.3) -> TrialResult:
    """Return a trial that lost a tenth of a stream while other work disturbed this share of it, and nothing else."""
    first, *others = result.streams
    lost = {
        "received_count": first.received_count * 9 // 10,
        "lost_count": first.offered_count - first.received_count * 9 // 10,
    }
    rest = UndisturbedCounts(
        duration_s=result.duration_s * (1.0 - left_out_ratio),
        offered_count=round(result.offered_count * (1.0 - left_out_ratio)),
        lost_count=0,
        unsent_count=0,
    )
    work = OtherWork(name="cc1", pid=None, cpu=1, time_s=0.25)
    streams = (first.model_copy(update=lost), *others)
    return result.model_copy(update={"streams": streams, "undisturbed_counts": rest, "other_work": (work,)})


def disturb_all(result: TrialResult) -> TrialResult:
    """Return a trial of which other work left nothing to judge."""
    return disturb(result, left_out_ratio=1.0)


def overload(result: TrialResult) -> TrialResult:
    return mark_late(result, late_ns=20_000_000)


def interrupt(_: TrialResult) -> TrialResult:
    raise KeyboardInterrupt("stopped by SIGINT")


def fail(_: TrialResult) -> TrialResult:
    raise GeneratorError("engine lost")


def load_stored(listener: Listener) -> RunResult:
    """Return the stored result of the last event, read back."""
    done = listener.events[-1]
    assert isinstance(done, RunDone)
    assert done.path
    result = store.load(done.path)
    assert result == done.result
    return result


def test_a_run_encloses_the_truth_and_is_stored(tmp_path: Path) -> None:
    listener = Listener()
    result = execute(make_plan(tmp_path), listener, make_environment())
    assert load_stored(listener) == result
    assert result.status is Status.COMPLETE
    for each in result.goals:
        truth = MILLION.throughput(each.goal.loss_ratio, 1.0)
        assert each.regular
        assert each.limit is Limit.SUT
        assert each.lower and each.lower.load_pps <= truth.high_pps
        assert each.upper and each.upper.load_pps >= truth.low_pps
        assert result.trials[each.lower.trial_index].trial.intended_load_pps == each.lower.load_pps


def test_events_come_in_the_order_of_the_run(tmp_path: Path) -> None:
    listener = Listener()
    result = execute(make_plan(tmp_path), listener, make_environment())
    trials = ["TrialStarted", "TrialDone"] * len(result.trials)
    assert listener.names == ["RunStarted", "StageUp", "PathChecked", *trials, "RunDone"]


def test_trials_are_numbered_by_their_place_in_the_run(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment(wrap=mishaps({1: mark_invalid})))
    assert [trial.index for trial in result.trials] == list(range(len(result.trials)))


def test_latency_is_measured_at_the_goals_and_half_of_the_highest(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment())
    ndr, pdr = (each.lower.load_pps for each in result.goals if each.lower)
    assert [(point.label, point.load_pps) for point in result.latencies] == [
        ("NDR", ndr),
        ("PDR", pdr),
        ("50 % of PDR", pdr / 2),
    ]
    *proofs, half = (result.trials[point.trial_index] for point in result.latencies)
    assert (half.phase, half.trial.duration_s, half.trial.stop) == ("latency 50 % of PDR", 0.5, None)
    for proof, goal in zip(proofs, result.goals, strict=True):
        assert proof.phase == "search"
        assert proof.duration_s >= 0.5
        assert proof.loss_ratio <= goal.goal.loss_ratio
    assert sum(trial.phase != "search" for trial in result.trials) == 1


def test_latency_at_a_bound_is_measured_if_the_search_measured_it_for_less_time(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path, latency__trial_duration="1.5s"), Listener(), make_environment())
    phases = [result.trials[point.trial_index].phase for point in result.latencies]
    assert phases == ["latency NDR", "latency PDR", "latency 50 % of PDR"]


def test_an_invalid_trial_is_repeated_and_moves_no_bound(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, latency__enabled=False)
    undisturbed = execute(plan, Listener(), make_environment())
    disturbed = execute(plan, Listener(), make_environment(wrap=mishaps({3: mark_invalid})))
    requested = [trial.trial for trial in undisturbed.trials]
    assert [trial.trial for trial in disturbed.trials] == [*requested[:4], *requested[3:]]
    assert [each.lower and each.lower.load_pps for each in disturbed.goals] == [
        each.lower and each.lower.load_pps for each in undisturbed.goals
    ]
    assert all(each.lower and each.lower.trial_index != 3 for each in disturbed.goals)


def test_too_many_invalid_trials_in_a_row_end_the_search_and_are_kept(tmp_path: Path) -> None:
    listener = Listener()
    always = mishaps(dict.fromkeys(range(2, 5), mark_invalid))
    reason = "the tester dropped 5 frames in its own receive path"
    with pytest.raises(SearchError, match=f"3 consecutive trials at .* were invalid: {reason}; lower --max-load"):
        execute(make_plan(tmp_path), listener, make_environment(wrap=always))
    result = load_stored(listener)
    assert result.status is Status.FAILED
    assert len(result.trials) == 5


def test_invalid_trials_that_are_not_in_a_row_do_not_end_the_search(tmp_path: Path) -> None:
    now_and_then = mishaps(dict.fromkeys((0, 1, 3, 4, 6, 7), mark_invalid))
    assert execute(make_plan(tmp_path), Listener(), make_environment(wrap=now_and_then)).status is Status.COMPLETE


def lossless_index(result: RunResult) -> int:
    """Return the index of the first trial after the first that lost nothing."""
    return next(trial.index for trial in result.trials[1:] if not trial.loss_ratio)


def test_a_trial_that_only_a_held_up_tester_decides_is_repeated(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, latency__enabled=False)
    undisturbed = execute(plan, Listener(), make_environment())
    index = lossless_index(undisturbed)
    disturbed = execute(plan, Listener(), make_environment(wrap=mishaps({index: mark_late})))
    assert disturbed.goals[0].lower and undisturbed.goals[0].lower
    assert disturbed.goals[0].lower.load_pps == undisturbed.goals[0].lower.load_pps
    spoiled = disturbed.trials[index]
    assert spoiled.validity.verdict is ValidityStatus.INVALID
    assert format_message(spoiled.validity.doubts[-1]).startswith(
        "the tester, on time for most frames, stalled for up to 20.0 ms; its "
    )
    assert disturbed.trials[index + 1].trial == spoiled.trial


def test_a_tester_that_is_held_up_every_time_is_the_limit(tmp_path: Path) -> None:
    index = lossless_index(execute(make_plan(tmp_path), Listener(), make_environment()))
    result = execute(
        make_plan(tmp_path), Listener(), make_environment(wrap=mishaps(dict.fromkeys(range(index, 100), mark_late)))
    )
    verdicts = [trial.validity.verdict for trial in result.trials[index : index + 3]]
    assert verdicts == [ValidityStatus.INVALID, ValidityStatus.INVALID, ValidityStatus.VALID]
    assert result.trials[index + 2].loss_ratio > 0


def test_a_tester_that_is_too_slow_is_not_held_up(tmp_path: Path) -> None:
    index = lossless_index(execute(make_plan(tmp_path), Listener(), make_environment()))
    result = execute(make_plan(tmp_path), Listener(), make_environment(wrap=mishaps({index: overload})))
    assert result.trials[index].validity.verdict is ValidityStatus.VALID


def test_a_loss_while_other_work_disturbed_the_trial_decides_nothing(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, latency__enabled=False)
    quiet = execute(plan, Listener(), make_environment())
    index = lossless_index(quiet)
    result = execute(plan, Listener(), make_environment(wrap=mishaps({index: disturb})))
    trial = result.trials[index]
    assert trial.loss_ratio > 0.04
    assert trial.judged_counts.loss_ratio == 0.0
    assert format_message(trial.validity.doubts[-1]) == (
        f"other work disturbed {format_seconds(0.3 * trial.duration_s)} (30 % of the trial), which is left out: "
        "cc1 ran 0.25 s on CPU 1"
    )
    ndr, of_quiet = result.goals[0], quiet.goals[0]
    assert ndr.lower and of_quiet.lower and ndr.lower.load_pps == pytest.approx(of_quiet.lower.load_pps, rel=0.02)
    assert ndr.lower.loss_ratio == 0.0


def test_other_work_is_named_by_its_process_and_nodrop_by_itself(tmp_path: Path) -> None:
    works = (
        OtherWork(name="nodrop", pid=os.getpid(), cpu=0, time_s=0.3),
        OtherWork(name="cc1", pid=4711, cpu=1, time_s=0.25),
    )

    def disturb_by_both(result: TrialResult) -> TrialResult:
        return disturb(result).replace(other_work=works)

    plan = make_plan(tmp_path, latency__enabled=False)
    index = lossless_index(execute(plan, Listener(), make_environment()))
    result = execute(plan, Listener(), make_environment(wrap=mishaps({index: disturb_by_both})))
    text = format_message(result.trials[index].validity.doubts[-1])
    assert text.endswith(": nodrop itself ran 0.3 s on CPU 0, cc1 (pid 4711) ran 0.25 s on CPU 1")


def test_a_latency_trial_reports_all_frames_and_the_loss_without_disturbed_time(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    searched = sum(trial.phase == "search" for trial in execute(plan, Listener(), make_environment()).trials)
    result = execute(plan, Listener(), make_environment(wrap=mishaps({searched: disturb})))
    trial = result.trials[searched]
    assert format_message(trial.validity.doubts[-1]) == (
        f"other work disturbed {format_seconds(0.3 * trial.duration_s)} (30 % of the trial), without which 0 % of the "
        "frames are lost: cc1 ran 0.25 s on CPU 1"
    )


def test_a_run_whose_trials_are_all_disturbed_has_no_answer_and_names_the_work(tmp_path: Path) -> None:
    listener = Listener()
    always = mishaps(dict.fromkeys(range(1, 1000), disturb_all))
    with pytest.raises(
        SearchError, match=r"too little undisturbed time in .*: cc1 ran 0.25 s on CPU 1; stop the other"
    ):
        execute(make_plan(tmp_path), listener, make_environment(wrap=always))
    result = load_stored(listener)
    assert result.status is Status.FAILED
    assert sum(trial.duration_s for trial in result.trials[1:]) >= 60.0
    assert all(goal.lower is None or goal.lower.trial_index == 0 for goal in result.goals)


def test_published_searches_repeat_disturbed_trials_until_the_other_work_ends(tmp_path: Path) -> None:
    for_a_while = mishaps(dict.fromkeys(range(2, 9), disturb_all))
    plan = make_plan(tmp_path, search__algorithm="binary", search__disturbed_time="exclude")
    result = execute(plan, Listener(), make_environment(wrap=for_a_while))
    assert result.status is Status.COMPLETE
    assert {trial.trial for trial in result.trials[2:9]} == {result.trials[9].trial}


def test_the_default_search_steps_below_disturbed_loads_and_returns_once_the_other_work_has_ended(
    tmp_path: Path,
) -> None:
    quiet = execute(make_plan(tmp_path), Listener(), make_environment())
    for_a_while = mishaps(dict.fromkeys(range(2, 5), disturb_all))
    result = execute(make_plan(tmp_path), Listener(), make_environment(wrap=for_a_while))
    assert result.status is Status.COMPLETE
    loads = [trial.trial.intended_load_pps for trial in result.trials[2:6]]
    assert loads == sorted(loads, reverse=True) and len(set(loads)) == len(loads)
    for goal, of_quiet in zip(result.goals, quiet.goals, strict=True):
        assert goal.lower and of_quiet.lower
        assert goal.lower.load_pps == pytest.approx(of_quiet.lower.load_pps, rel=0.02)
    assert redecide(result).differences == ()


def test_loads_that_other_work_leaves_undecided_stand_beside_the_bounds(tmp_path: Path) -> None:
    class BusyMachine(FaultyMeasurer):
        def measure(self, trial: Trial, index: int, phase: str, on_window: OnWindow) -> TrialResult:
            result = super().measure(trial, index, phase, on_window)
            return disturb_all(result) if 0.9e6 < trial.intended_load_pps < 1.2e6 else result

    listener = Listener()
    environment = make_environment(wrap=lambda measurer: BusyMachine(measurer, {}))
    result = execute(make_plan(tmp_path, latency__enabled=False), listener, environment)
    for goal in result.goals:
        assert goal.lower and 0.85e6 < goal.lower.load_pps <= 0.9e6
        flag = next(flag for flag in goal.flags if flag.code == "undecided-loads")
        assert format_message(flag).startswith("Other work on this machine left too little undisturbed time to decide")
    assert redecide(load_stored(listener)).differences == ()


def test_latency_whose_trials_are_all_invalid_is_left_out(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    searched = sum(trial.phase == "search" for trial in execute(plan, Listener(), make_environment()).trials)
    spoiled = mishaps(dict.fromkeys(range(searched, searched + 3), mark_invalid))
    result = execute(plan, Listener(), make_environment(wrap=spoiled))
    assert [point.label for point in result.latencies] == ["NDR", "PDR"]
    assert result.status is Status.COMPLETE


@pytest.mark.parametrize(
    ("mishap", "error", "status", "sentence"),
    [
        (interrupt, KeyboardInterrupt, Status.INTERRUPTED, "stopped by SIGINT"),
        (fail, GeneratorError, Status.FAILED, "engine lost"),
    ],
)
def test_what_was_measured_before_the_end_is_kept(
    mishap: Mishap, error: type[BaseException], status: Status, sentence: str, tmp_path: Path
) -> None:
    listener, stage = Listener(), NullStage()
    with pytest.raises(error):
        execute(make_plan(tmp_path), listener, make_environment(stage=stage, wrap=mishaps({5: mishap})))
    result = load_stored(listener)
    assert (result.status, result.error) == (status, sentence)
    assert len(result.trials) == 5
    assert result.goals
    assert stage.is_down


def test_a_search_that_cannot_end_in_time_is_stopped_with_its_bounds_so_far(tmp_path: Path) -> None:
    listener = Listener()
    with pytest.raises(
        SearchTimeoutError, match=r"the search needs more than 0\.9 s \(search.max_duration\); allow more time"
    ):
        execute(
            make_plan(tmp_path, search__algorithm="mlrsearch-01", search__max_duration="0.9s"),
            listener,
            make_environment(),
        )
    result = load_stored(listener)
    assert result.status is Status.TIMED_OUT
    assert {trial.trial.duration_s for trial in result.trials} == {0.1}
    assert all(each.lower and each.upper and not each.regular for each in result.goals)
    assert all([flag.code for flag in each.flags] == ["out-of-time"] for each in result.goals)


def test_a_search_that_used_up_its_budget_is_complete_and_goes_on_to_latency(tmp_path: Path) -> None:
    keys = {"search__budget": "10s", "search__final_trial_duration": "3s"}
    result, _ = run_clocked(make_plan(tmp_path, search__algorithm="mlrsearch-01", **keys))
    assert (result.status, result.error) == (Status.COMPLETE, None)
    for each in result.goals:
        assert each.lower and each.upper and not each.regular
        assert [flag.code for flag in each.flags] == ["out-of-time"]
    assert [point.label for point in result.latencies] == ["NDR", "PDR", "50 % of PDR"]


@pytest.mark.parametrize(("key", "status"), [("budget", Status.COMPLETE), ("max_duration", Status.TIMED_OUT)])
def test_a_search_that_keeps_to_its_time_by_itself_ends_the_same_way(key: str, status: Status, tmp_path: Path) -> None:
    listener = Listener()
    plan = make_plan(tmp_path, search__algorithm="nodrop", **{f"search__{key}": "1.2s"})
    with contextlib.suppress(SearchTimeoutError):
        execute(plan, listener, make_environment())
    result = load_stored(listener)
    assert result.status is status
    assert "out-of-time" in {flag.code for each in result.goals for flag in each.flags}


def test_a_budget_that_no_trial_fits_in_gives_goals_about_which_nothing_is_known(tmp_path: Path) -> None:
    result = execute(
        make_plan(tmp_path, search__algorithm="mlrsearch-01", search__budget="0.01s"), Listener(), make_environment()
    )
    assert result.trials == ()
    assert [(each.lower, each.upper, each.limit) for each in result.goals] == [(None, None, Limit.UNKNOWN)] * 2
    assert {flag.code for each in result.goals for flag in each.flags} == {"out-of-time"}


def test_a_search_that_cannot_search_as_asked_says_so_before_anything_is_started(tmp_path: Path) -> None:
    plan = make_plan(tmp_path, search__algorithm="mlrsearch-01")
    beyond = plan.search.model_copy(update={"min_load_pps": 8e6})
    listener = Listener()
    with pytest.raises(ConfigError, match=r"raise search.max_load or lower search.min_load"):
        execute(plan.model_copy(update={"search": beyond}), listener, make_environment())
    assert listener.events == []


def test_a_slow_tester_is_named_as_the_limit(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment(SlowTester(capacity_pps=2e6, tester_pps=5e5)))
    assert {each.limit for each in result.goals} == {Limit.TESTER}


def test_a_slow_tester_that_does_the_suts_work_is_named_as_the_shared_cpu(tmp_path: Path) -> None:
    slow = SlowTester(capacity_pps=2e6, tester_pps=5e5)
    stage = NullStage(sut_shares_tester_cpu=True)
    result = execute(make_plan(tmp_path), Listener(), make_environment(slow, stage=stage))
    assert {each.limit for each in result.goals} == {Limit.SHARED_CPU}
    assert "on veth the kernel does the SUT's work on the sender's CPU" in format_message(result.goals[0].explanation)


def test_a_sut_that_forwards_everything_is_limited_by_the_highest_load(tmp_path: Path) -> None:
    result = execute(make_plan(tmp_path), Listener(), make_environment(Step(1e9)))
    assert {each.limit for each in result.goals} == {Limit.MAX_LOAD}
    assert [each.lower and each.lower.load_pps for each in result.goals] == [4e6, 4e6]


def test_a_place_that_cannot_be_written_to_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    listener = Listener()
    with pytest.raises(ConfigError, match=r"results_dir: cannot write to .*/file"):
        execute(make_plan(in_the_way), listener, make_environment())
    assert listener.events == []


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Handle SIGINT as in a terminal; a background runner may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_a_signal_while_the_path_is_taken_down_waits_until_the_result_is_stored(tmp_path: Path) -> None:
    class InterruptedStage(NullStage):
        def __exit__(self, *exc: object) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().__exit__(*exc)

    listener, stage = Listener(), InterruptedStage()
    with pytest.raises(KeyboardInterrupt):
        execute(make_plan(tmp_path), listener, make_environment(stage=stage))
    assert stage.is_down
    assert load_stored(listener).status is Status.COMPLETE


@pytest.mark.usefixtures("interruptible")
def test_a_signal_that_another_thread_takes_waits_as_well(tmp_path: Path) -> None:
    class InterruptedStage(NullStage):
        def __exit__(self, *exc: object) -> None:
            sender = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGINT))
            sender.start()
            sender.join()
            super().__exit__(*exc)

    resting = threading.Event()
    other = threading.Thread(target=resting.wait)
    other.start()  # If every other thread blocks a signal, no thread handles it.
    listener, stage = Listener(), InterruptedStage()
    try:
        with pytest.raises(KeyboardInterrupt):
            execute(make_plan(tmp_path), listener, make_environment(stage=stage))
    finally:
        resting.set()
        other.join()
    assert stage.is_down
    assert load_stored(listener).status is Status.COMPLETE


def test_the_run_leaves_the_process_on_the_cpus_it_was_on(tmp_path: Path) -> None:
    cpus = os.sched_getaffinity(0)
    result = execute(make_plan(tmp_path), Listener(), make_environment())
    assert os.sched_getaffinity(0) == cpus
    assert result.facts
    assert result.facts.host.core_count == len(cpus)


def test_what_a_generator_does_otherwise_than_planned_is_kept_with_the_result(tmp_path: Path) -> None:
    class Different(SimulatedMeasurer):
        notes = ("sizes come in another order",)

    make = make_environment()
    environment = make._replace(open_generator=lambda plan, _stage: Different(plan.traffic, MILLION))
    result = execute(make_plan(tmp_path), Listener(), environment)
    assert "sizes come in another order" in result.plan.warnings
