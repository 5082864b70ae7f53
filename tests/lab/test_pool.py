"""A pool of VNF instances whose instances change in the middle of a trial: counts, order and causes of the losses."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.analysis.event_effects import EventEffect, compute_event_effects
from nodrop.model.result import RunResult
from nodrop.model.trial import TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

STREAMS = 20
ONE_WAY = ("--set", "traffic.bidirectional=false")
STANDBY = ("--set", "pool.selection=standby")
PATIENT = ("--set", "pool.probe_misses=1000")
"""Instances that other work keeps from answering probes stay in service."""


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
    """Assert that losses by stream, by event and by hop add up to those of the trial."""
    trial, lost_count = run.trial, run.trial.lost_count
    for stream in trial.streams:
        assert sum(loss.count for loss in stream.loss_timeline) == stream.lost_count
    assert sum(effect.lost_count for effect in run.effects) == lost_count
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


def test_frames_of_a_killed_instance_are_lost_there_and_a_new_one_takes_its_place(tmp_path: Path) -> None:
    run = run_pool(
        tmp_path, "--flow-count", "40", "--rate", "4kpps", "--duration", "2s", events=("0.5s kill 0", "1s start 0")
    )
    check_sum(run)
    assert [event.name for event in run.trial.events] == ["kill 0", "start 0"]
    assert all(event.begin_s <= event.end_s and not event.problem for event in run.trial.events)
    assert run.trial.ledger
    lossy = [hop for way in run.trial.ledger.ways for hop in way.hops if hop.in_count > hop.out_count]
    assert lossy and {hop.side for hop in lossy} == {"sut"}
    assert all("vnf0l" in hop.place for hop in lossy), lossy


def test_a_stopped_instance_delays_frames_and_loses_none(tmp_path: Path) -> None:
    pool = ("--set", "pool.instances=1", *PATIENT)
    run = run_pool(
        tmp_path, *ONE_WAY, *pool, "--rate", "1kpps", "--duration", "1s", events=("300ms stop 0", "500ms continue 0")
    )
    check_sum(run)
    stop, start = run.trial.events
    assert run.trial.lost_count == 0
    assert max(stream.arrival_gap_max_ns for stream in run.trial.streams) >= 1e9 * (start.begin_s - stop.end_s)


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
