"""The highest rate without loss through a forwarder, found by nodrop's own search."""

import tempfile
import time
from typing import Any

from benchmarks.engine.frame import Frame
from benchmarks.engine.measure import RateMeasurement, compute_machine_cores, read_machine_cpu_s
from benchmarks.engine.packet_generator import RECEIVE_CPU, SEND_CPU
from benchmarks.engine.session import read_engine_version
from benchmarks.engine.tool_process import BenchmarkError

from nodrop.config.load import build_config
from nodrop.errors import NodropError
from nodrop.formatting.messages import format_message
from nodrop.model.result import RunResult
from nodrop.plan import build_plan
from nodrop.run.execute import execute

TRIAL_S = 1.0
BUDGET_S = 12.0


class ZeroLossSearch:
    """A search like `nodrop run --sut xdp`, one way, in a separate lab: two veth pairs and a forwarder between them."""

    name = "nodrop zero loss through xdp"
    work_per_frame = (
        "live sequence number, time stamp and checksum, 256 flows, through an XDP redirect; no loss in trials of 1 s"
    )

    def read_version(self) -> str:
        """Return the version of the engine."""
        return read_engine_version()

    def measure(self, group: str, frame: Frame, round_index: int, duration_s: float) -> RateMeasurement:
        """Search once, with a budget of at least `duration_s`. Raises BenchmarkError without a lower bound."""
        before, start_s = read_machine_cpu_s(), time.monotonic()
        result = _search(frame, max(BUDGET_S, duration_s))
        window_s = time.monotonic() - start_s
        goal = result.goals[0]
        if goal.lower is None:
            raise BenchmarkError(f"no load without loss: {format_message(goal.explanation)}")
        upper = {"upper_pps": goal.upper.load_pps} if goal.upper else {}
        return RateMeasurement(
            group=group,
            generator=self.name,
            frame_bytes=frame.frame_bytes,
            round=round_index,
            window_s=window_s,
            sent_pps=goal.lower.load_pps,
            received_pps=goal.lower.load_pps,
            cpu_cores=None,
            **compute_machine_cores(before, read_machine_cpu_s(), window_s),
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
            return execute(build_plan(build_config((), keys)), lambda _: None)
        except NodropError as error:
            raise BenchmarkError(str(error)) from None
