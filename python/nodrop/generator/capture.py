"""What the engine is asked to keep of a trial's frames."""

from pathlib import Path
from typing import Any

from nodrop.model.engine_plan import CapturePlan


def capture_request(plan: CapturePlan | None, index: int, phase: str) -> dict[str, Any] | None:
    """The `capture` of a trial's request; None for a trial that is not to be captured."""
    if plan is None or plan.trials not in ("all", "search" if phase == "search" else "latency"):
        return None
    return {**plan.model_dump(exclude={"trials"}), "file": capture_file(plan.file, index)}


def capture_file(file: str, index: int) -> str:
    """The file of a trial: `seen.pcapng` gives `seen-12.pcapng`."""
    path = Path(file)
    return str(path.with_name(f"{path.stem}-{index}{path.suffix or '.pcapng'}"))
