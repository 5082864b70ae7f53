"""The calibrated limits of the tester, compared with the loads of a run."""

from nodrop.model.calibration import Calibration
from nodrop.model.result import RunResult
from nodrop.units import format_count, format_ns, format_pps


def describe_calibration(calibration: Calibration) -> str:
    """Return a calibration in a sentence."""
    return f"calibration: {describe_calibrated_load(calibration)}"


def describe_calibrated_load(calibration: Calibration) -> str:
    """Return the calibrated load of the tester, and its latency if measured."""
    floor = ""
    if calibration.latency_min_ns is not None and calibration.latency_p50_ns is not None:
        floor = (
            f"; latency at half that load: min {format_ns(calibration.latency_min_ns)}, "
            f"median {format_ns(calibration.latency_p50_ns)}"
        )
    return (
        "over a bare wire the tester sends on time and without loss up to "
        f"{format_pps(calibration.load_pps)}{floor} ({calibration.key.backend}, "
        f"{calibration.key.frame_bytes:g}-byte frames, {calibration.measured_at[:10]})"
    )


def is_applicable(calibration: Calibration, result: RunResult) -> bool:
    """Return whether the ports used the back end of the calibration."""
    opened = {port.backend for port in result.facts.ports} if result.facts else set()
    return not opened or opened == {calibration.key.backend.partition("+")[0]}


def describe_uncalibrated_loads(result: RunResult) -> str:
    """Return a warning if trials exceeded the calibrated load of the tester; empty without a calibration."""
    calibration = result.plan.calibration
    if calibration is None or not is_applicable(calibration, result):
        return ""
    loads_pps = [trial.trial.intended_load_pps for trial in result.trials]
    beyond = [load_pps for load_pps in loads_pps if load_pps > calibration.load_pps]
    if not beyond:
        return ""
    return (
        f"{format_count(len(beyond), 'trial')}, up to {format_pps(max(beyond))}, exceeded the load that the tester "
        f"sends without loss over a bare wire, {format_pps(calibration.load_pps)}: the tester may have caused their "
        "losses."
    )
