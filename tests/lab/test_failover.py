"""`nodrop test failover` on real packets: rounds, counts, events and the exit code; times are those of the schedule."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.lab.bench import FULL_RATE
from tests.waiting import stretch

from nodrop.model.procedure import FailoverPlan
from nodrop.model.result import RunResult
from nodrop.procedure.failover import FailoverProcedure, build_failover_report

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

SHORT = ("--set", "failover.steady=0.5s", "--set", "failover.settle=1s")
PATIENT = ("--set", "pool.probe_misses=1000")
"""Instances that other work keeps from answering probes stay in service."""
NO_VERDICT = 5
"""Exit code: other work kept the tester from sending, for example during the whole failover."""
WITHDRAWAL = ("--trigger", "0s withdraw 0", "--revert", "0s restore 0")


class ProcedureRun(NamedTuple):
    """A procedure that ended."""

    content: dict[str, Any]
    output: str

    @property
    def report(self) -> dict[str, Any]:
        return self.content["report"]


def run_failover(tmp_path: Path, *flags: str, statuses: tuple[int, ...] = (0,)) -> ProcedureRun:
    file = tmp_path / "failover.json"
    command = [sys.executable, "-m", "nodrop", "test", "failover", "--results-dir", str(tmp_path), "--json", str(file)]
    done = subprocess.run(
        [*command, *SHORT, *FULL_RATE, *flags], capture_output=True, text=True, timeout=stretch(120), check=False
    )
    assert done.returncode in statuses, done.stderr + done.stdout
    return ProcedureRun(json.loads(file.read_text()), done.stdout + done.stderr)


def test_each_run_is_the_one_that_the_results_before_request(tmp_path: Path) -> None:
    """The last of 2, 3 and 5 streams moves after 210, 410 and 810 ms; other work may delay tester and pool."""
    flags = ("--stream-rate", "200pps", "--streams", "2", "--max-streams", "5", "--set", "failover.growth=50%")
    moves = ("--set", "pool.move_delay=10ms", "--set", "pool.move_interval=200ms", "--sla", "600ms", "--repeat", "2")
    run = run_failover(tmp_path, *flags, *moves, *PATIENT, *WITHDRAWAL, statuses=(0, NO_VERDICT))
    procedure = FailoverProcedure(FailoverPlan.model_validate(run.content["suite"]["procedure"]))
    results = [RunResult.model_validate(each) for each in run.content["results"]]
    for position, result in enumerate(results):
        request = procedure.request_run(results[:position])
        assert request and (request.variant, request.repeat) == (result.plan.variant, result.plan.repeat)
        assert len(result.plan.traffic.streams) == int(request.variant.split()[0])
    assert procedure.request_run(results) is None
    assert run.report["text"] == build_failover_report(procedure.plan, results).text
    for each in run.report["rounds"]:
        for failover in (repeat["failover"] for repeat in each["repeats"]):
            assert failover["affected_count"] <= each["stream_count"]
            assert failover["unrecovered_count"] <= failover["affected_count"]
            if failover["last_s"] is not None:
                assert 0 < failover["first_s"] <= failover["last_s"]


def test_every_lost_frame_belongs_to_the_trigger_the_way_back_or_neither(tmp_path: Path) -> None:
    run = run_failover(tmp_path, "--streams", "4", "--repeat", "1", "--sla", "5s", statuses=(0, NO_VERDICT))
    (repeat,) = run.report["rounds"][0]["repeats"]
    (result,) = run.content["results"]
    lost_count = repeat["failover"]["lost_count"] + repeat["way_back"]["lost_count"] + repeat["earlier_lost_count"]
    assert lost_count == sum(stream["lost_count"] for stream in result["trials"][0]["streams"])
    command = [sys.executable, "-m", "nodrop", "show", "latest", "--json", "--results-dir", str(tmp_path)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=stretch(30), check=True)
    assert json.loads(shown.stdout) == run.content


def test_two_events_of_a_trigger_are_t1_and_t3(tmp_path: Path) -> None:
    """The first may begin late, and the second follows it at once then."""
    flags = ("--trigger", "0s stop 0", "--trigger", "100ms kill 0", "--streams", "2", "--repeat", "1", "--sla", "5s")
    run = run_failover(tmp_path, *flags, statuses=(0, NO_VERDICT))
    (repeat,) = run.report["rounds"][0]["repeats"]
    assert repeat["failover"]["trigger_s"] > 0
    assert [event["name"] for event in run.content["results"][0]["trials"][0]["events"]] == [
        "stop 0",
        "kill 0",
        "start 0",
    ]


def test_an_event_that_fails_ends_the_procedure_with_what_was_measured(tmp_path: Path) -> None:
    run = run_failover(tmp_path, "--streams", "2", "--repeat", "1", "--revert", "0s command false", statuses=(3,))
    assert run.report["rounds"] == []
    assert "event 'false': exit status 1" in run.output
    assert len(run.content["results"]) == 1


@pytest.mark.truth
def test_convergence_is_that_of_the_schedule(tmp_path: Path) -> None:
    """Stream i moves 50 ms + 5 ms · i after the trigger (20 streams, resolution 1 ms)."""
    moves = ("--set", "pool.move_delay=50ms", "--set", "pool.move_interval=5ms")
    run = run_failover(tmp_path, *moves, *PATIENT, *WITHDRAWAL, "--sla", "152ms", "--max-streams", "22")
    rounds = run.report["rounds"]
    assert run.report["streams_within_sla"] == 20 and rounds[-1]["stream_count"] == 22
    for repeat in rounds[0]["repeats"]:
        failover = repeat["failover"]
        assert failover["first_s"] == pytest.approx(0.0505, abs=0.002)
        assert failover["last_s"] == pytest.approx(0.1455, abs=0.002)
        assert failover["lost_count"] == pytest.approx(1950, abs=40)
