"""Shared parts of both kinds of results: totals, theoretical maximum and warnings of a trial."""

from collections.abc import Sequence
from datetime import datetime

from nodrop.export.nfvbench.counts import DirectionCounts
from nodrop.formatting.messages import format_message
from nodrop.model.plan import Plan
from nodrop.model.trial import TrialResult
from nodrop.rates import compute_theoretical_rate
from nodrop.units import format_pps

EXTRA = "extra_encapsulation_bytes"
"""Key of `user_info` with the bytes that a SUT adds to frames."""
SHORT_RATIO = 0.9
"""Share of the intended load below which NFVbench warns about the sent load."""


def compute_loss_percent(ways: Sequence[DirectionCounts]) -> float | None:
    """Return lost frames in percent of sent frames; None without sent frames."""
    sent = sum(way.offered_count for way in ways)
    return round(100 * sum(way.lost_count for way in ways) / sent, 6) if sent else None


def build_totals(plan: Plan, ways: Sequence[DirectionCounts]) -> dict[str, float]:
    """Build the total sent rates and the line rate of the links inside the SUT."""
    extra = plan.user_info.get(EXTRA, 0)
    ports = {stream.tx_port for stream in plan.traffic.streams}
    extra_bytes = extra if isinstance(extra, int | float) and not isinstance(extra, bool) else 0
    most = compute_theoretical_rate(plan.traffic.frame_bytes, extra_bytes, plan.link_speed_bps, len(ports))
    return {
        "total_tx_rate": round(sum(way.offered_pps for way in ways)),
        "offered_tx_rate_bps": sum(way.wire_bps(way.offered_pps) for way in ways),
        "theoretical_tx_rate_pps": most.rate_pps,
        "theoretical_tx_rate_bps": most.rate_bps,
    }


def build_warning(trial: TrialResult) -> dict[str, str]:
    """Build the field `warning` with reasons to distrust a trial, one per line; no field without reasons."""
    texts = [format_message(doubt) for doubt in trial.validity.doubts]
    intended, sent = trial.trial.intended_load_pps, trial.offered_load_pps
    if sent < SHORT_RATIO * intended:
        texts.insert(0, f"the tester sent only {format_pps(sent)} of the intended {format_pps(intended)}")
    return {"warning": "\n".join(texts)} if texts else {}


def compute_end_s(trial: TrialResult) -> float:
    """Return the end of a trial, in seconds since 1970."""
    return datetime.fromisoformat(trial.started_at).timestamp() + trial.duration_s
