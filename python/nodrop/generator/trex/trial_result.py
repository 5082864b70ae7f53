"""The result of a trial on a TRex server, with all doubts. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

from nodrop.generator.trex.counters import Snapshot
from nodrop.generator.trex.trial import TrialRecord
from nodrop.generator.trex.trial_windows import Grouping, build_windows, in_flight, merge_short_last_window
from nodrop.model.traffic import Traffic
from nodrop.model.trial import (
    UNSENT_TOLERANCE_S,
    WINDOW_S,
    Doubt,
    StreamCounts,
    Trial,
    Validity,
    Windows,
)

GENERATOR = "TRex"
"""Name of the generator in doubts that nodrop's own engine raises, too."""
BUSY_MAX = 0.95
"""Highest share of time that a thread may be busy without a doubt."""
QUEUE_FULL_MAX = 0.001
"""Highest number of full send queues per frame without a doubt."""
FROZEN_MIN = 100
"""Frames at a port from which stream counters that show no arrival are distrusted."""


def result_fields(
    trial: Trial, traffic: Traffic, record: TrialRecord, loads_pps: Sequence[float], cores: int
) -> dict[str, Any]:
    """Return the fields of the TrialResult.

    Args:
        trial: the requested trial.
        traffic: the streams.
        record: the course of the trial.
        loads_pps: of each stream.
        cores: sending threads of the server.
    """
    duration_s = _duration_s(trial, record, loads_pps)
    streams = _streams(traffic, record, _intended(trial, traffic, record, loads_pps, duration_s))
    counts = record.counts
    drops = sum(port.receive_drops for port in counts.ports)
    doubts = _doubts(trial, traffic, record, streams, cores)
    return {
        "duration_s": duration_s,
        "stopped_early": not _is_whole(record) and not record.overdue,
        "stopped_by": record.stopped_by,
        "streams": streams,
        "tester_drop_count": drops,
        "tester_cpu_ratio": record.sender_busy * cores + record.receiver_busy,
        "windows": _windows(traffic, record, duration_s, streams),
        "validity": Validity.of(doubts),
    }


def _is_whole(record: TrialRecord) -> bool:
    """Return whether sending ended by itself."""
    return not (record.stopped_by or record.interruption or record.overdue or record.cut_short)


def _duration_s(trial: Trial, record: TrialRecord, loads_pps: Sequence[float]) -> float:
    """Return the sending time. For a trial stopped early its frame count is more precise than the clock."""
    if _is_whole(record):
        return trial.duration_s
    offered = sum(record.counts.offered)
    if record.overdue or record.cut_short or any(schedule.late_s for schedule in record.schedules) or not offered:
        return max(record.sent_for_s, 0.0)
    return offered / sum(loads_pps)


def _intended(
    trial: Trial, traffic: Traffic, record: TrialRecord, loads_pps: Sequence[float], duration_s: float
) -> list[int]:
    """Return the frames that each stream should have sent.

    A server's rounding, by a frame per stream and thread, is not a shortfall; nor are frames that a stopped trial had
    no
    time for.
    """
    whole = _is_whole(record)
    stopped_in_time = not (
        whole or record.overdue or record.cut_short or any(schedule.late_s for schedule in record.schedules)
    )
    intended = []
    for stream, load_pps, offered in zip(traffic.streams, loads_pps, record.counts.offered, strict=True):
        requested = round(load_pps * (min(duration_s, trial.duration_s) if not record.cut_short else trial.duration_s))
        rounding = record.schedules[stream.tx_port].parts
        is_rounding = whole and abs(requested - offered) <= rounding
        intended.append(offered if stopped_in_time or is_rounding else max(requested, offered))
    return intended


def _streams(traffic: Traffic, record: TrialRecord, intended: Sequence[int]) -> tuple[StreamCounts, ...]:
    counts = record.counts
    found = []
    for index, stream in enumerate(traffic.streams):
        offered, arrived = counts.offered[index], counts.received[index]
        repeated = min(counts.duplicates[index], arrived)
        received = min(arrived - repeated, offered)
        found.append(
            StreamCounts(
                stream_id=stream.stream_id,
                tx_port=stream.tx_port,
                rx_port=stream.rx_port,
                intended_count=intended[index],
                offered_count=offered,
                received_count=received,
                lost_count=offered - received,
                duplicate_count=arrived - received,
                out_of_order_count=counts.out_of_order[index],
            )
        )
    return tuple(found)


def _windows(traffic: Traffic, record: TrialRecord, duration_s: float, streams: Sequence[StreamCounts]) -> Windows:
    grouping = Grouping(traffic)
    lost = grouping.sums([each.lost_count for each in streams])
    found = build_windows(grouping, record.samples, record.start_s, in_flight(record.samples), lost)
    return merge_short_last_window(found, duration_s, WINDOW_S)


def _doubts(
    trial: Trial, traffic: Traffic, record: TrialRecord, streams: Sequence[StreamCounts], cores: int
) -> tuple[Doubt, ...]:
    return (
        *_doubts_of_end(trial, record, streams),
        *_dropped(record.counts),
        *_short(trial, record, streams),
        *_busy(record, cores),
        *_frozen_counters(traffic, record.counts),
    )


def _doubts_of_end(trial: Trial, record: TrialRecord, streams: Sequence[StreamCounts]) -> Iterator[Doubt]:
    if record.interruption:
        yield Doubt.suspect("aborted")
    if record.cut_short:
        yield Doubt.invalid("aborted", sent_s=record.sent_for_s, duration_s=trial.duration_s)
    limit = trial.stop.lost_count if trial.stop else None
    lost = sum(each.lost_count for each in streams)
    if record.stopped_by == "lost_count" and limit is not None and lost <= limit:
        yield Doubt.invalid("stopped_for_late", lost_count=lost)


def _dropped(counts: Snapshot) -> Iterator[Doubt]:
    drops = sum(port.receive_drops for port in counts.ports)
    if drops > 0:
        yield Doubt.invalid("tester_drops", dropped_count=drops, generator=GENERATOR)
    unsent = counts.server.queue_drop + sum(port.send_errors for port in counts.ports)
    if unsent > 0:
        yield Doubt.invalid("sender_drops", dropped_count=unsent)
    full, offered = counts.server.queue_full, sum(counts.offered)
    if full > max(1, QUEUE_FULL_MAX * offered):
        yield Doubt.suspect("queue_full", full_count=full, offered_count=offered)


def _short(trial: Trial, record: TrialRecord, streams: Sequence[StreamCounts]) -> list[Doubt]:
    intended = sum(each.intended_count for each in streams)
    short = intended - sum(each.offered_count for each in streams)
    if short > max(1.0, trial.intended_load_pps * UNSENT_TOLERANCE_S):
        counts = {"unsent_count": short, "intended_count": intended, "unsent_ratio": short / intended}
        return [Doubt.suspect("offered_short", **counts, generator=GENERATOR)]
    late_s = max((schedule.late_s for schedule in record.schedules), default=0.0)
    return [Doubt.suspect("sender_late", late_s=late_s, generator=GENERATOR)] if late_s else []


def _busy(record: TrialRecord, cores: int) -> Iterator[Doubt]:
    if record.sender_busy > BUSY_MAX:
        yield Doubt.suspect("tester_busy", sender_busy_ratio=record.sender_busy, thread_count=cores)
    if record.receiver_busy > BUSY_MAX:
        yield Doubt.suspect("tester_busy", receiver_busy_ratio=record.receiver_busy)


def _frozen_counters(traffic: Traffic, counts: Snapshot) -> Iterator[Doubt]:
    """Detect stopped stream counters: frames arrive at a port, but none is counted for a stream."""
    for number, port in enumerate(counts.ports):
        indices = [index for index, stream in enumerate(traffic.streams) if stream.rx_port == number]
        sent = sum(counts.offered[index] for index in indices)
        if port.received > max(FROZEN_MIN, sent / 2) and not any(counts.received[index] for index in indices):
            yield Doubt.invalid("counters_frozen", received_count=port.received, port=number)
