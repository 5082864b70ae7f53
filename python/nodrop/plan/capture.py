"""Which frames of which trials are kept in files."""

from pathlib import Path

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.choices import Backend
from nodrop.model.engine_plan import CapturePlan
from nodrop.model.lab_plan import LabPlan
from nodrop.plan.resolvers import CheckFilter


def plan_capture(config: Config, backend: Backend, lab: LabPlan, check_filter: CheckFilter) -> CapturePlan | None:
    """What to capture; None when nothing. Raises ConfigError when that cannot be captured."""
    asked = config.capture
    if asked.file is None:
        return None
    if asked.trials == "latency" and not config.latency.enabled:
        raise ConfigError(
            "capture.trials: latency asked, latency.enabled is false, so that there are no such trials; "
            "write capture.trials: search, or leave the latency trials in"
        )
    if asked.way in ("sent", "both") and backend == "xdp_live":
        raise ConfigError(
            f"capture.way: {asked.way} asked, xdp_live makes frames in the kernel where nobody sees them leave; "
            "write received, or take another engine.backend"
        )
    for port in asked.ports:
        if port >= len(lab.tester_interfaces):
            raise ConfigError(
                f"capture.ports: {port} asked, there are {len(lab.tester_interfaces)}, counted from 0; name one of them"
            )
    if asked.filter is not None:
        check_filter(asked.filter, "capture")
    return CapturePlan(
        file=str(Path(asked.file).absolute()),
        trials=asked.trials,
        way=asked.way or ("received" if backend == "xdp_live" else "both"),
        ports=asked.ports,
        filter=asked.filter,
        frame_count_max=asked.frames,
        bytes_max=asked.bytes,
        snap_bytes=asked.snap,
    )
