"""Synthetic trials for nodrop's own search, window by window."""

from collections.abc import Sequence

from nodrop.search.probe_search.trial_trace import Trace, Window

LOAD_PPS = 1e6


def trace(
    lost: Sequence[float],
    load_pps: float = LOAD_PPS,
    *,
    window_s: float = 0.1,
    intended_s: float | None = None,
    index: int = 0,
) -> Trace:
    """Return a trial with these losses per window; by default the windows cover its intended duration."""
    elapsed_s = window_s * len(lost)
    return Trace(
        index=index,
        load_pps=load_pps,
        intended_s=intended_s or elapsed_s,
        elapsed_s=elapsed_s,
        started_s=0.0,
        loss_ratio=sum(lost) / (load_pps * elapsed_s),
        windows=tuple(Window(window_s, float(count)) for count in lost),
        stopped=intended_s is not None and intended_s > elapsed_s,
    )
