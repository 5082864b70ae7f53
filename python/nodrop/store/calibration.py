"""Stored calibrations of this tester: `$XDG_STATE_HOME/nodrop/calibrations/<key>.json`."""

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
from nodrop.store.fallback import get_state_directory

LATENCY_LABEL = "50 % of NDR"
"""Label of the latency measurement of the loop: at half load no queue of the tester fills up."""


def build_key(plan: Plan, host: HostFacts, ports: Sequence[PortFacts] = ()) -> CalibrationKey:
    """Build the key of a calibration that is valid for a plan on this host.

    The back end is that of the opened `ports`, or the plan's before ports are open.
    """
    return CalibrationKey(
        host=platform.node(),
        kernel=host.kernel,
        cpu_model=host.cpu_model,
        core_count=host.core_count,
        backend="trex" if plan.trex else _format_backend(plan, ports),
        engine_cores=plan.engine.cores,
        frame_bytes=plan.traffic.frame_bytes,
        headers=_format_headers(plan.traffic.streams[0]),
        flow_count=plan.traffic.streams[0].flow_count,
        stream_count=len(plan.traffic.streams),
        pattern=plan.traffic.pattern.kind,
    )


def _format_headers(stream: Stream) -> str:
    return stream.replay.file if stream.replay else "/".join(layer.kind for layer in stream.layers)


def derive_calibration(result: RunResult) -> Calibration | None:
    """Derive the calibration from a run over a wire; None where no load without loss was found."""
    lower = result.goals[0].lower if result.goals else None
    if lower is None or result.facts is None:
        return None
    trials = [result.trials[point.trial_index] for point in result.latencies if point.label == LATENCY_LABEL]
    latencies = [way.latency for trial in trials for way in trial.directions if way.latency]
    return Calibration(
        key=build_key(result.plan, result.facts.host, result.facts.ports),
        load_pps=lower.load_pps,
        latency_min_ns=min((latency.min_ns for latency in latencies), default=None),
        latency_p50_ns=max((latency.p50_ns for latency in latencies), default=None),
        latency_p99_ns=max((latency.p99_ns for latency in latencies), default=None),
        measured_at=result.started_at,
        run_id=result.run_id,
        nodrop=__version__,
    )


def save(calibration: Calibration, environment: Mapping[str, str] = os.environ) -> Path:
    """Store a calibration, replace an older one, and return its path. Raises ConfigError."""
    path = _get_path(calibration.key, environment)
    store.write_text(path, calibration.model_dump_json(indent=1) + "\n")
    return path


def find(key: CalibrationKey, environment: Mapping[str, str] = os.environ) -> Calibration | None:
    """Return the calibration for a key; None where none can be read.

    A run whose usual CPUs are busy measures on others. It has the latest calibration of as many other CPUs, if there is
    none of its own.
    """
    path = _get_path(key, environment)
    if calibration := _read(path):
        return calibration
    others = filter(None, map(_read, path.parent.glob(f"{key.backend}-{key.frame_bytes:g}-*.json")))
    alike = (each for each in others if _is_alike(each.key, key))
    return max(alike, key=lambda each: each.measured_at, default=None)


def _read(path: Path) -> Calibration | None:
    try:
        return Calibration.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def _is_alike(one: CalibrationKey, other: CalibrationKey) -> bool:
    """Return whether two keys differ at most in which CPUs the tester has."""
    same_cpus = one.replace(engine_cores=other.engine_cores)
    return same_cpus == other and len(one.engine_cores) == len(other.engine_cores)


def _format_backend(plan: Plan, ports: Sequence[PortFacts]) -> str:
    """Format the back end without the numbers of virtual devices; a NIC is named by its PCI address."""
    names = (device.partition(",")[0] for device in plan.engine.devices)
    drivers = (name if ":" in name else name.rstrip("0123456789") for name in names)
    opened = [port.backend for port in ports] or [plan.engine.backend]
    return "+".join(dict.fromkeys((*opened, *drivers)))


def _get_path(key: CalibrationKey, environment: Mapping[str, str]) -> Path:
    name = hashlib.sha256(key.model_dump_json().encode()).hexdigest()[:16]
    return get_state_directory(environment) / "calibrations" / f"{key.backend}-{key.frame_bytes:g}-{name}.json"
