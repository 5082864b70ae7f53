"""Parts that the two kinds of results share: totals, the most that could be sent, and what speaks against a trial."""

from collections.abc import Sequence
from datetime import datetime

from nodrop.export.nfvbench.counts import DirectionCounts
from nodrop.model.plan import Plan
from nodrop.model.trial import TrialResult
from nodrop.rates import theoretical_rate
from nodrop.units import format_pps

EXTRA = "extra_encapsulation_bytes"
"""Key of `user_info` that says by how much a SUT makes frames larger."""
SHORT_RATIO = 0.9
"""Below this share of what was asked, NFVbench warns of what was sent."""


def compute_loss_percent(ways: Sequence[DirectionCounts]) -> float | None:
    """Frames lost of those sent, in percent; None where none were sent."""
    sent = sum(way.offered_count for way in ways)
    return round(100 * sum(way.lost_count for way in ways) / sent, 6) if sent else None


def build_totals(plan: Plan, ways: Sequence[DirectionCounts]) -> dict[str, float]:
    """What was sent in total, and the most that the links inside the SUT carry."""
    extra = plan.user_info.get(EXTRA, 0)
    ports = {stream.tx_port for stream in plan.traffic.streams}
    extra_bytes = extra if isinstance(extra, int | float) and not isinstance(extra, bool) else 0
    most = theoretical_rate(plan.traffic.frame_bytes, extra_bytes, plan.link_speed_bps, len(ports))
    return {
        "total_tx_rate": round(sum(way.offered_pps for way in ways)),
        "offered_tx_rate_bps": sum(way.wire_bps(way.offered_pps) for way in ways),
        "theoretical_tx_rate_pps": most.rate_pps,
        "theoretical_tx_rate_bps": most.rate_bps,
    }


def build_warning(trial: TrialResult) -> dict[str, str]:
    """What speaks against a trial, as the field `build_warning`, one reason a line; no field where nothing does."""
    texts = [doubt.text for doubt in trial.validity.doubts]
    asked, sent = trial.trial.intended_load_pps, trial.offered_load_pps
    if sent < SHORT_RATIO * asked:
        texts.insert(0, f"{format_pps(asked)} asked, {format_pps(sent)} were sent: the tester could not send more")
    return {"warning": "\n".join(texts)} if texts else {}


def compute_end_s(trial: TrialResult) -> float:
    """When a trial ended, in seconds since 1970."""
    return datetime.fromisoformat(trial.started_at).timestamp() + trial.duration_s
