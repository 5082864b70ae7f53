"""A pool of VNF instances whose instances change in the middle of a trial: counts, order and causes of the losses."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.analysis.event_effects import EventEffect, compute_event_effects, count_earlier_losses
from nodrop.analysis.phase_counts import compute_phase_counts
from nodrop.model.ledger import Hop
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

STREAMS = 20
ONE_WAY = ("--set", "traffic.bidirectional=false")
STANDBY = ("--set", "pool.selection=standby")
PATIENT = ("--set", "pool.probe_misses=1000")
"""Instances that other work keeps from answering probes stay in service."""
SCALE_RULE = ("pool.scale_out_loss=1%", "pool.scale_out_delay=0.5s")


class PoolRun(NamedTuple):
    """A run at a fixed rate through a pool, and what it printed."""

    result: RunResult
    output: str

    @property
    def trial(self) -> TrialResult:
        return self.result.trials[0]

    @property
    def effects(self) -> tuple[EventEffect, ...]:
        return compute_event_effects(self.trial)


def run_pool(tmp_path: Path, *flags: str, events: tuple[str, ...], status: int = 0) -> PoolRun:
    """Run with a flow per stream and these events."""
    command = [sys.executable, "-m", "nodrop", "run", "--sut", "pool", "--results-dir", str(tmp_path)]
    command += ["--flow-count", str(STREAMS), "--set", f"traffic.streams={STREAMS}", *FULL_RATE, *flags]
    for event in events:
        command += ["--at", event]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(120), check=False)
    assert done.returncode == status, done.stderr + done.stdout
    (directory,) = tmp_path.glob("2*")
    return PoolRun(RunResult.model_validate_json((directory / "result.json").read_bytes()), done.stdout + done.stderr)


def check_sum(run: PoolRun) -> None:
    """Assert that losses by stream, by event and by hop add up to those of the trial.

    On a busy machine, a sender that catches up may fill a buffer before the first event.
    """
    trial, lost_count = run.trial, run.trial.lost_count
    for stream in trial.streams:
        assert sum(loss.count for loss in stream.loss_timeline) == stream.lost_count
    assert sum(effect.lost_count for effect in run.effects) + count_earlier_losses(trial) == lost_count
    assert trial.ledger
    hops = [hop for way in trial.ledger.ways for hop in way.hops]
    assert sum(hop.in_count - hop.out_count for hop in hops) == lost_count
    assert trial.ledger.remarks == ()


def test_flows_move_one_after_another_and_every_lost_frame_has_its_place(tmp_path: Path) -> None:
    moves = ("--set", "pool.move_delay=50ms", "--set", "pool.move_interval=5ms")
    run = run_pool(
        tmp_path,
        *ONE_WAY,
        *STANDBY,
        *PATIENT,
        *moves,
        "--rate",
        "4kpps",
        "--duration",
        "1s",
        events=("0.3s withdraw 0",),
    )
    check_sum(run)
    (effect,) = run.effects
    # Time on the balancer is in whole milliseconds; a busy machine only delays what it does.
    assert effect.first_s is None or effect.first_s >= 0.049
    recovered = [each.recovered_s for each in effect.streams if each.recovered_s is not None]
    for position, recovered_s in enumerate(recovered if len(effect.streams) == STREAMS else ()):
        assert recovered_s - effect.event.begin_s >= 0.049 + 0.005 * position
    assert run.trial.ledger
    causes = [cause for way in run.trial.ledger.ways for hop in way.hops for cause in hop.causes]
    assert {cause.name for cause in causes} <= {"vnf_no_instance"}
    assert sum(cause.count for cause in causes) == run.trial.lost_count
    assert "withdraw 0" in run.output and "Events" in run.output


def list_lossy_hops(run: PoolRun) -> list[Hop]:
    assert run.trial.ledger
    return [hop for way in run.trial.ledger.ways for hop in way.hops if hop.in_count > hop.out_count]


def test_frames_of_a_killed_instance_are_lost_there(tmp_path: Path) -> None:
    """It stays in service, so that frames are lost however late a sender without a CPU sends them."""
    run = run_pool(
        tmp_path, "--flow-count", "40", *PATIENT, "--rate", "4kpps", "--duration", "2s", events=("1s kill 0",)
    )
    check_sum(run)
    lossy = list_lossy_hops(run)
    assert lossy and {hop.side for hop in lossy} == {"sut"}
    assert all("vnf0l" in hop.place for hop in lossy), lossy


def test_a_new_instance_takes_the_place_of_a_killed_one(tmp_path: Path) -> None:
    pool = ("--set", "pool.instances=1", *PATIENT)
    run = run_pool(
        tmp_path, *ONE_WAY, *pool, "--rate", "4kpps", "--duration", "2s", events=("0.5s kill 0", "1s start 0")
    )
    check_sum(run)
    assert [event.name for event in run.trial.events] == ["kill 0", "start 0"]
    assert all(event.begin_s <= event.end_s and not event.problem for event in run.trial.events)
    assert all("vnf0l" in hop.place for hop in list_lossy_hops(run))
    # No frame is sent before it is due, so that the new instance forwards at least the last frames.
    assert run.trial.events[1].end_s > 1.9 or all(effect.is_recovered for effect in run.effects)


def test_a_stopped_instance_delays_frames_and_loses_none(tmp_path: Path) -> None:
    pool = ("--set", "pool.instances=1", *PATIENT)
    run = run_pool(
        tmp_path, *ONE_WAY, *pool, "--rate", "1kpps", "--duration", "1s", events=("300ms stop 0", "500ms continue 0")
    )
    check_sum(run)
    stop, start = run.trial.events
    assert run.trial.lost_count == 0
    windows = run.trial.windows
    ends_s = [end_s for end_s in windows.end_s if end_s <= stop.begin_s]
    arrived_before = any(sum(counts[: len(ends_s)]) for counts in windows.received_count)
    gap_ns = max(stream.arrival_gap_max_ns for stream in run.trial.streams)
    assert not arrived_before or gap_ns >= 1e9 * (start.begin_s - stop.end_s)


def test_an_event_that_fails_is_reported_and_the_trial_kept(tmp_path: Path) -> None:
    run = run_pool(
        tmp_path,
        "--flow-count",
        "40",
        "--rate",
        "1kpps",
        "--duration",
        "1s",
        events=("0.2s continue 1", "0.3s start 1"),
        status=3,
    )
    continued, failed = run.trial.events
    assert (continued.problem, failed.problem) == ("", "event 'start 1': instance 1 runs already; kill it first")
    assert "instance 1 runs already; kill it first" in run.output
    assert run.trial.offered_count == 1000


def test_a_command_is_an_event_for_any_sut(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    command = [sys.executable, "-m", "nodrop", "run", "--rate", "1kpps", "--duration", "1s", *FULL_RATE]
    command += ["--results-dir", str(tmp_path), "--at", f"0.2s command touch {mark}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=False)
    assert done.returncode == 0, done.stderr
    assert mark.exists()
    (directory,) = tmp_path.glob("2*")
    (event,) = RunResult.model_validate_json((directory / "result.json").read_bytes()).trials[0].events
    assert event.name == f"touch {mark}" and event.begin_s <= event.end_s


SCALES_OUT = ("pool.instances=1", "pool.spares=1", "vnf.capacity=2kpps", "pool.probe_interval=1s", *SCALE_RULE)


def test_a_pool_that_drops_frames_of_added_streams_starts_a_spare(tmp_path: Path) -> None:
    settings = [part for key in (*SCALES_OUT, "vnf.buffer=256") for part in ("--set", key)]
    run = run_pool(
        tmp_path,
        *ONE_WAY,
        *settings,
        "--rate",
        "4kpps",
        "--duration",
        "6s",
        events=("0s streams 8", "1s streams 20"),
    )
    check_sum(run)
    events = {event.name: event for event in run.trial.events}
    assert set(events) == {"streams 20", "scale-out 1"} and events["streams 20"].begin_s == 1.0
    # The rule counts in whole seconds of the trial. On a busy machine, a burst may exceed the buffer before the event.
    started = events["scale-out 1"]
    assert not started.problem and started.begin_s >= 0.9 and started.end_s - started.begin_s >= 0.5
    before, existing, new = compute_phase_counts(run.trial)
    assert [each.offered_count for each in (before, existing, new)] == [1600, 8000, 12000]
    assert existing.lost_count + new.lost_count + before.lost_count == run.trial.lost_count > 0
    assert run.trial.ledger
    causes = {cause.text for way in run.trial.ledger.ways for hop in way.hops for cause in hop.causes}
    assert "dropped as queue full" in causes


def test_the_load_changes_within_a_trial_and_every_frame_counts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nodrop", "run", "--sut", "bridge", "--rate", "1kpps", "--duration", "1s"]
    command += ["--at", "0.5s load 3kpps", "--results-dir", str(tmp_path), *FULL_RATE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=False)
    assert done.returncode == 0, done.stderr
    (directory,) = tmp_path.glob("2*")
    (trial,) = RunResult.model_validate_json((directory / "result.json").read_bytes()).trials
    assert [(each.intended_count, each.offered_count, each.change_sequences) for each in trial.streams] == [
        (1000, 1000, (250,))
    ] * 2
    assert sum(each.offered_count for each in compute_phase_counts(trial)) == 2000
    assert [sum(each.count) for each in trial.windows.latency] == [each.received_count for each in trial.streams]


@pytest.mark.truth
def test_scale_out_restores_the_service_of_existing_and_new_users(tmp_path: Path) -> None:
    """100 frames per second too many: the buffer of 256 is full after 2.56 s, the rule applies after 3 s, the instance
    takes flows after 8 s, and 544 frames are lost until then."""
    settings = [part for key in (*SCALES_OUT, "vnf.buffer=256", "traffic.streams=21") for part in ("--set", key)]
    delay = ("--set", "pool.scale_out_delay=5s", "--flow-count", "21")
    run = run_pool(
        tmp_path,
        *ONE_WAY,
        *settings,
        *delay,
        "--rate",
        "2.1kpps",
        "--duration",
        "14s",
        events=("0s streams 20", "2s streams 21"),
    )
    check_sum(run)
    assert [event.name for event in run.trial.events] == ["streams 21", "scale-out 1"]
    assert run.trial.lost_count == pytest.approx(544, abs=40)
    before, existing, new = compute_phase_counts(run.trial)
    assert (before.lost_count, before.stream_count, existing.stream_count, new.stream_count) == (0, 20, 20, 1)
    # A full buffer delays by 256 frames at 2,000 per second.
    assert existing.latency and existing.latency.max_ns >= 0.127e9 and "Load" in run.output


@pytest.mark.truth
@pytest.mark.parametrize("attempt", range(5))
def test_convergence_is_that_of_the_schedule(tmp_path: Path, attempt: int) -> None:  # noqa: ARG001
    """20 streams, stream i moves 50 + 5·i ms after the event: t2 50 to 51 ms, t4 145 to 146 ms, 1,950 frames lost."""
    moves = ("--set", "pool.move_delay=50ms", "--set", "pool.move_interval=5ms")
    run = run_pool(
        tmp_path, *ONE_WAY, *STANDBY, *moves, "--rate", "20kpps", "--duration", "2s", events=("1s withdraw 0",)
    )
    check_sum(run)
    (effect,) = run.effects
    assert len(effect.streams) == STREAMS and effect.first_s and effect.convergence_s
    assert 0.049 <= effect.first_s <= 0.053
    assert 0.144 <= effect.convergence_s <= 0.148
    assert effect.convergence_s - effect.first_s == pytest.approx(0.095, abs=0.002)
    assert run.trial.lost_count == pytest.approx(1950, abs=40)


@pytest.mark.truth
@pytest.mark.parametrize("pause_s", [0.01, 0.05, 0.35, 1.0, 3.0])
def test_the_pause_of_a_migration_is_the_gap(tmp_path: Path, pause_s: float) -> None:
    """The stand-in of a migration: one instance ends, the other takes over after this time."""
    pool = (*STANDBY, "--set", f"pool.move_delay={pause_s}s")
    run = run_pool(
        tmp_path, *ONE_WAY, *pool, "--rate", "40kpps", "--duration", f"{pause_s + 2}s", events=("1s withdraw 0",)
    )
    check_sum(run)
    (effect,) = run.effects
    assert effect.gap_s == pytest.approx(pause_s, abs=0.002)
    assert effect.convergence_s == pytest.approx(pause_s, abs=0.002)
    assert run.trial.lost_count == pytest.approx(40_000 * pause_s, abs=80)
