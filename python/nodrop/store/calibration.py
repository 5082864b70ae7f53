"""Calibrations of this tester, one file each: `$XDG_STATE_HOME/nodrop/calibrations/<key>.json`."""

import hashlib
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import ValidationError

from nodrop import __version__, store
from nodrop.model.calibration import Calibration, CalibrationKey
from nodrop.model.facts import HostFacts, PortFacts
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.model.traffic import Stream

LATENCY_LABEL = "50 % of NDR"
"""Where the loop's latency is taken: at half load no queue of the tester is ever full."""


def build_key(plan: Plan, host: HostFacts, ports: Sequence[PortFacts] = ()) -> CalibrationKey:
    """What a calibration must have been measured with to hold for a plan on this host.

    The back end is the one that `ports` were opened with, the plan's before they are.
    """
    return CalibrationKey(
        host=platform.node(),
        kernel=host.kernel,
        cpu_model=host.cpu_model,
        core_count=host.core_count,
        backend="trex" if plan.trex else _backend(plan, ports),
        engine_cores=plan.engine.cores,
        frame_bytes=plan.traffic.frame_bytes,
        headers=_headers_text(plan.traffic.streams[0]),
        flow_count=plan.traffic.streams[0].flow_count,
        stream_count=len(plan.traffic.streams),
        pattern=plan.traffic.pattern.kind,
    )


def _headers_text(stream: Stream) -> str:
    return stream.replay.file if stream.replay else "/".join(layer.kind for layer in stream.layers)


def derive_calibration(result: RunResult) -> Calibration | None:
    """What a run over a bare wire says of the tester; None when it found no load without loss."""
    lower = result.goals[0].lower if result.goals else None
    if lower is None or result.facts is None:
        return None
    trials = [result.trials[point.trial_index] for point in result.latencies if point.label == LATENCY_LABEL]
    found = [way.latency for trial in trials for way in trial.directions if way.latency]
    return Calibration(
        key=build_key(result.plan, result.facts.host, result.facts.ports),
        load_pps=lower.load_pps,
        latency_min_ns=min((latency.min_ns for latency in found), default=None),
        latency_p50_ns=max((latency.p50_ns for latency in found), default=None),
        latency_p99_ns=max((latency.p99_ns for latency in found), default=None),
        measured_at=result.started_at,
        run_id=result.run_id,
        nodrop=__version__,
    )


def save(calibration: Calibration, environment: Mapping[str, str] = os.environ) -> Path:
    """Keep a calibration in place of an older one; gives its file. Raises ConfigError."""
    path = _path(calibration.key, environment)
    store.write_text(path, calibration.model_dump_json(indent=1) + "\n")
    return path


def find(key: CalibrationKey, environment: Mapping[str, str] = os.environ) -> Calibration | None:
    """The calibration for exactly this; None when there is none that can be read."""
    try:
        return Calibration.model_validate_json(_path(key, environment).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def _backend(plan: Plan, ports: Sequence[PortFacts]) -> str:
    """Without the numbers of virtual devices, which tell nothing; a card is its PCI address."""
    names = (device.partition(",")[0] for device in plan.engine.devices)
    drivers = (name if ":" in name else name.rstrip("0123456789") for name in names)
    opened = [port.backend for port in ports] or [plan.engine.backend]
    return "+".join(dict.fromkeys((*opened, *drivers)))


def _path(key: CalibrationKey, environment: Mapping[str, str]) -> Path:
    home = environment.get("HOME") or "/nonexistent"
    state = Path(environment.get("XDG_STATE_HOME") or Path(home, ".local/state"))
    name = hashlib.sha256(key.model_dump_json().encode()).hexdigest()[:16]
    return state / "nodrop" / "calibrations" / f"{key.backend}-{key.frame_bytes:g}-{name}.json"
