"""What was captured, in words."""

from nodrop.model.trial import TrialResult
from nodrop.units import format_pps


def capture_text(trial: TrialResult) -> str:
    """File and counts of a trial's capture; empty where there is none."""
    found = trial.capture
    if found is None:
        return ""
    dropped = f", capture dropped {found.dropped_count}" if found.dropped_count else ""
    load = format_pps(trial.trial.intended_load_pps)
    return f"capture: {found.file} ({found.frame_count} frames{dropped}; {trial.phase} at {load})"
