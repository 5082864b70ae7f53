"""What the tester can do by itself, beside what was measured with it."""

from nodrop.model.calibration import Calibration
from nodrop.model.goal import Flag
from nodrop.model.result import RunResult
from nodrop.units import format_ns, format_pps

UNCALIBRATED_CODE = "beyond-calibration"


def describe_calibration(calibration: Calibration) -> str:
    """One sentence."""
    floor = ""
    if calibration.latency_min_ns is not None and calibration.latency_p50_ns is not None:
        floor = (
            f"; its own latency at half of that: min {format_ns(calibration.latency_min_ns)}, "
            f"median {format_ns(calibration.latency_p50_ns)}"
        )
    return (
        f"the tester itself, over a bare wire, loses nothing and is on time up to {format_pps(calibration.load_pps)}"
        f"{floor} ({calibration.key.backend}, {calibration.key.frame_bytes:g}-byte frames, "
        f"{calibration.measured_at[:10]})"
    )


def is_applicable(calibration: Calibration, result: RunResult) -> bool:
    """Whether it was measured with the back end that the ports then really had."""
    opened = {port.backend for port in result.facts.ports} if result.facts else set()
    return not opened or opened == {calibration.key.backend.partition("+")[0]}


def flag_uncalibrated_loads(result: RunResult) -> Flag | None:
    """That trials went above what the tester can do by itself; None when none did, or when that is not known."""
    calibration = result.plan.calibration
    if calibration is None or not is_applicable(calibration, result):
        return None
    beyond = [trial.trial.intended_load_pps for trial in result.trials]
    highest_pps = max(beyond, default=0.0)
    if highest_pps <= calibration.load_pps:
        return None
    count = sum(load_pps > calibration.load_pps for load_pps in beyond)
    return Flag(
        code=UNCALIBRATED_CODE,
        text=f"{count} trials, up to {format_pps(highest_pps)}, asked for more than the tester itself was found to do "
        f"over a bare wire, {format_pps(calibration.load_pps)}: what was lost in them may be the tester's.",
    )
