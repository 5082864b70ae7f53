"""A lab with the engine and with other tools in its namespaces, for tests that check nodrop against these tools."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tests.waiting import stretch

from nodrop import plan as planning
from nodrop.config.load import build_config
from nodrop.formatting.messages import format_message
from nodrop.generator.base import TrialInterrupted
from nodrop.generator.engine import EngineMeasurer
from nodrop.model.plan import Plan
from nodrop.model.trial import FIXED, StopRule, Trial, TrialResult
from nodrop.run.local_planning import make_local_resolvers
from nodrop.stage.netns import NetnsStage

FULL_RATE = ("--set", "engine.catch_up=60s")
"""Flags of `nodrop run`: the engine sends what is intended, however long other work on the machine stops it."""

INSIDE = """
import os, sys
from nodrop.stage.namespace import join_namespaces
join_namespaces(int(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
"""


PROGRESS_S = 0.05
TRIAL_MAX_S = 60.0


class Fault(NamedTuple):
    """An act upon the lab, once the tester has offered this many frames since the trial's begin or the fault before."""

    offered_count: int
    act: Callable[[], object]


class InterfaceCounters(NamedTuple):
    """The kernel's counters of an interface."""

    received_count: int
    sent_count: int


class Bench(NamedTuple):
    """A lab that is up, its plan, and a measurer on its tester ports."""

    plan: Plan
    stage: NetnsStage
    measurer: EngineMeasurer

    def measure(self, load_pps: float, duration_s: float, stop: StopRule | None = None) -> TrialResult:
        trial = Trial(intended_load_pps=load_pps, duration_s=duration_s, stop=stop)
        result = self.measurer.measure(trial, 0, "search", lambda *_: None)
        died = [format_message(doubt) for doubt in result.validity.doubts if doubt.code == "engine_died"]
        assert not died, died
        return result

    def measure_faults(self, load_pps: float, *faults: Fault, end_count: int) -> TrialResult:
        """Run a trial with each fault in its turn, which ends once so many frames are offered after the last one.

        A report may be old when it is read. Frames count for the next fault from the first report that the engine
        wrote after the act: the trial begins after the request.
        """
        remaining = [*faults, Fault(end_count, interrupt_trial)]
        request_s = time.monotonic()
        acted_s = request_s
        base_count: int | None = 0

        def follow(elapsed_s: float, offered_count: int, *_: int) -> None:
            nonlocal acted_s, base_count
            if request_s + elapsed_s < acted_s:
                return
            if base_count is None:
                base_count = offered_count
            if offered_count >= base_count + remaining[0].offered_count:
                remaining.pop(0).act()
                acted_s, base_count = time.monotonic(), None

        try:
            self.measurer.measure(Trial(intended_load_pps=load_pps, duration_s=TRIAL_MAX_S), 0, FIXED, follow)
        except TrialInterrupted as interrupted:
            return interrupted.result
        except KeyboardInterrupt:  # would end all tests
            raise AssertionError("the engine did not report the counts of the interrupted trial") from None
        raise AssertionError(f"in {TRIAL_MAX_S} s the trial outlasted {len(faults)} faults")

    def inside(self, namespace: str, *command: str | Path) -> list[str]:
        """Return the command that runs `command` in the lab's `tester` or `sut` namespace."""
        pid = self.stage.facts.tester_pid if namespace == "tester" else self.stage.facts.sut_pid
        return [sys.executable, "-c", INSIDE, str(pid), *map(str, command)]

    def run(self, namespace: str, *command: str | Path, text: str = "") -> str:
        """Run a command in a namespace; return its output."""
        done = subprocess.run(
            self.inside(namespace, *command),
            input=text,
            capture_output=True,
            text=True,
            timeout=stretch(30),
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def counters(self, namespace: str, interface: str) -> InterfaceCounters:
        pid = self.stage.facts.tester_pid if namespace == "tester" else self.stage.facts.sut_pid
        for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines():
            name, _, columns = line.partition(":")
            if name.strip() == interface:
                numbers = columns.split()
                return InterfaceCounters(received_count=int(numbers[1]), sent_count=int(numbers[9]))
        raise AssertionError(f"no interface {interface} in the {namespace} namespace")


def interrupt_trial() -> None:
    raise KeyboardInterrupt


@contextlib.contextmanager
def bench(**keys: object) -> Iterator[Bench]:
    """Bring up the lab of a run with these configuration keys, path check included."""
    with changed_lab(keys) as lab, lab.measurer as measurer:
        measurer.check_path()
        yield lab


@contextlib.contextmanager
def changed_lab(keys: dict[str, object], *commands: str) -> Iterator[Bench]:
    """Bring up a lab and run these commands in the SUT's namespace; the measurer is not started."""
    # Many tests count on the rings of packet sockets; those of other back ends name theirs. An engine that catches up
    # for as long as it takes sends what is intended.
    config = build_config((), {"engine.backend": "af_packet", "engine.catch_up": "60s"} | keys)
    excludes_disturbed = config.search.disturbed_time == "exclude"  # not by default: trials last as long as requested
    plan = planning.build_plan(config, make_local_resolvers(config.results_dir))
    with NetnsStage(plan.lab, "bench") as stage:
        measurer = EngineMeasurer(
            plan.engine,
            plan.traffic,
            plan.neighbors,
            netns_pid=stage.facts.tester_pid,
            interfaces=plan.lab.tester_interfaces,
            check_alive=stage.check_alive,
            capture=plan.capture,
            progress_s=PROGRESS_S,
            sut_pids=tuple(each.pid for each in stage.facts.sut_processes),
            separates_disturbances=excludes_disturbed,
        )
        lab = Bench(plan, stage, measurer)
        for command in commands:
            lab.run("sut", *command.split())
        yield lab
