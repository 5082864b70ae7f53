"""The trials and frames that are captured to files."""

from pathlib import Path

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend
from nodrop.model.engine_plan import CapturePlan
from nodrop.model.lab_plan import LabPlan
from nodrop.plan.resolvers import CheckFilter


def plan_capture(config: Config, backend: Backend, lab: LabPlan, check_filter: CheckFilter) -> CapturePlan | None:
    """Return what to capture; None for no capture. Raises ConfigError if it cannot be captured."""
    section = config.capture
    if section.file is None:
        return None
    if section.trials == "latency" and not config.latency.enabled:
        raise ConfigError(
            "capture.trials: no latency trials to capture (latency.enabled is false); write capture.trials: search, or "
            "enable the latency trials"
        )
    if section.way in ("sent", "both") and backend == "xdp_live":
        raise ConfigError(
            "capture.way: xdp_live creates frames in the kernel, where sent frames cannot be captured "
            f"({section.way}); write received, or use another engine.backend"
        )
    for port in section.ports:
        if port >= len(lab.tester_interfaces):
            raise ConfigError(
                f"capture.ports: no such port ({port}); write numbers from 0 to {len(lab.tester_interfaces) - 1}"
            )
    if section.filter is not None:
        check_filter(section.filter, "capture")
    return CapturePlan(
        file=str(Path(section.file).absolute()),
        trials=section.trials,
        way=section.way or ("received" if backend == "xdp_live" else "both"),
        ports=section.ports,
        filter=section.filter,
        frame_count_max=section.frames,
        bytes_max=section.bytes,
        snap_bytes=section.snap,
    )
