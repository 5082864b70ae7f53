"""The highest rate at which nodrop sends through a forwarder and receives all of it, found by nodrop's own search."""

import tempfile
import time
from typing import Any

from benchmarks.engine.contestant import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.frame import Frame
from benchmarks.engine.measure import Measurement, machine_cores, machine_cpu_s
from benchmarks.engine.session import engine_version
from benchmarks.engine.tool import ContestantError

from nodrop.config.load import load
from nodrop.errors import NodropError
from nodrop.formatting.messages import format_message
from nodrop.model.result import RunResult
from nodrop.plan import build
from nodrop.run.execute import execute

TRIAL_S = 1.0
BUDGET_S = 12.0


class ZeroLoss:
    """As `nodrop run --sut xdp` finds it, one way: a lab of its own, with two veth pairs and the forwarder between."""

    name = "nodrop zero loss through xdp"
    does = "live number, time and checksum, 256 flows, through an XDP redirect; not one frame lost in trials of 1 s"

    def version(self) -> str:
        """Of the engine."""
        return engine_version()

    def measure(self, group: str, frame: Frame, number: int, seconds: float) -> Measurement:
        """One search; `seconds` bounds it from below. Raises ContestantError when it finds nothing."""
        before, began_s = machine_cpu_s(), time.monotonic()
        result = _search(frame, max(BUDGET_S, seconds))
        window_s = time.monotonic() - began_s
        goal = result.goals[0]
        if goal.lower is None:
            raise ContestantError(f"no load without loss was found: {format_message(goal.explanation)}")
        upper = {"upper_pps": goal.upper.load_pps} if goal.upper else {}
        return Measurement(
            group=group,
            contestant=self.name,
            frame_bytes=frame.frame_bytes,
            round=number,
            window_s=window_s,
            sent_pps=goal.lower.load_pps,
            received_pps=goal.lower.load_pps,
            cpu_cores=None,
            **machine_cores(before, machine_cpu_s(), window_s),
            account={"trial_count": len(result.trials), **upper},
        )


def _search(frame: Frame, budget_s: float) -> RunResult:
    with tempfile.TemporaryDirectory() as directory:
        keys: dict[str, Any] = {
            "sut": "xdp",
            "bidirectional": False,
            "frame_bytes": frame.frame_bytes,
            "goals": {"NDR": 0.0},
            "search.initial_trial_duration": 0.2,
            "search.final_trial_duration": TRIAL_S,
            "search.width": 0.02,
            "search.budget": budget_s,
            "search.repeat_invalid": 10,
            "latency.enabled": False,
            "engine.cores": [SEND_CPU, RECEIVE_CPU],
            "results_dir": directory,
        }
        try:
            return execute(build(load((), keys)), lambda _: None)
        except NodropError as error:
            raise ContestantError(str(error)) from None
