"""Results and logs as the flat records that NFVbench sends to Fluentd: a result for each frame size and goal or rate.

Fields and units: docs/reference/fluentd-records.md.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from nodrop import __version__
from nodrop.export.nfvbench import build_nfvbench_result
from nodrop.model.layer import Mpls, Vlan, Vxlan
from nodrop.model.plan import Plan
from nodrop.model.result import RunResult
from nodrop.system.log_files import SeverityCounter, format_timestamp

SINGLE_RUN = "single_run"
ITERATIONS = "iteration_stats"
DIRECTIONS = {
    "direction-forward": "forward",
    "direction-reverse": "reverse",
    "direction-total": "total",
    "garp-direction-total": "gratuitous arp",
}
RATE_KINDS = ("orig", "tx", "rx")
"""Intended, sent, received."""
THEORY_KEYS = ("offered_tx_rate_bps", "theoretical_tx_rate_pps", "theoretical_tx_rate_bps")
DELAY_KEYS = ("avg_delay_usec", "min_delay_usec", "max_delay_usec")
OPEN_VSWITCH = "OPENVSWITCH"
ENCAPSULATIONS = ((Vxlan, "VxLAN"), (Mpls, "MPLS"), (Vlan, "VLAN"))

Record = dict[str, Any]
START, RUN_SUMMARY = "START", "RUN_SUMMARY"


def build_records(runs: Sequence[RunResult], run_date: str) -> list[Record]:
    """Build the records of runs of one suite, one run for each frame size.

    Args:
        runs: finished runs, at least one.
        run_date: start of the suite, the same on all records of its runs and logs.
    """
    return [record for run in runs for record in _iter_run_records(run, run_date)]


def _iter_run_records(run: RunResult, run_date: str) -> Iterator[Record]:
    for name, chain in build_nfvbench_result([run])["benchmarks"]["network"]["service_chain"].items():
        measured = chain["result"]
        about = {
            "service_chain": name,
            "profile": measured["profile"],
            "bidirectional": measured["bidirectional"],
            "flow_count": measured["flow_count"],
            "sc_count": measured["service_chain_count"],
            "compute_nodes": list(measured["compute_nodes"]),
        }
        for frame_size, size_result in measured["result"].items():
            if isinstance(size_result, Mapping):  # not the text of the warning
                common = dict(run.plan.user_info) | _build_header(run, run_date) | about | {"frame_size": frame_size}
                yield from ({**common, **record} for record in _iter_size_records(run.plan, size_result))


def _build_header(run: RunResult, run_date: str) -> Record:
    ended = datetime.fromisoformat(run.started_at) + timedelta(seconds=run.wall_s)
    sut = run.plan.lab.sut
    return {
        "runlogdate": run_date,
        "@timestamp": format_timestamp(ended.timestamp()),
        "run_id": run.run_id,
        "user_label": run.plan.label,
        "version": run.facts.versions.nodrop if run.facts else __version__,
        "vSwitch": OPEN_VSWITCH if sut == "ovs" else sut,
        "Encapsulation": _describe_encapsulation(run.plan),
    }


def _describe_encapsulation(plan: Plan) -> str:
    layers = [layer for stream in plan.traffic.streams for layer in stream.layers]
    return next((name for kind, name in ENCAPSULATIONS if any(isinstance(layer, kind) for layer in layers)), "NONE")


def _iter_size_records(plan: Plan, size_result: Mapping[str, Any]) -> Iterator[Record]:
    """Yield one record for a fixed rate, or one for each goal of a search."""
    if "run_config" in size_result:
        yield _build_fixed_record(size_result["run_config"], size_result["stats"])
        return
    goals = {name: goal for name, goal in size_result.items() if name != ITERATIONS}
    durations = {f"{name}_search_duration": f"{goal['time_taken_sec']:.0f}" for name, goal in goals.items()}
    limits = {goal.label.lower(): 100 * goal.loss_ratio for goal in plan.search.goals}
    for name, goal in goals.items():
        yield durations | _build_goal_record(name, goal, limits[name])


def _build_fixed_record(rates: Mapping[str, Any], stats: Mapping[str, Any]) -> Record:
    loads = {
        f"{direction}_{way}_rate_{unit}": round(rates[key][way][f"rate_{unit}"])
        for key, direction in DIRECTIONS.items()
        if rates.get(key)
        for way in RATE_KINDS
        for unit in ("bps", "pps")
    }
    overall = stats["overall"]
    loss = {"drop_rate_percent": overall["drop_rate_percent"]}
    warning = {"warning": rates["warning"]} if rates.get("warning") else {}
    return (
        {"type": SINGLE_RUN} | loads | _select_keys(stats, THEORY_KEYS) | loss | _build_delays(overall["rx"]) | warning
    )


def _build_goal_record(name: str, goal: Mapping[str, Any], limit_percent: float) -> Record:
    stats = goal["stats"]
    warning = {"warning": stats["warning"]} if stats.get("warning") else {}
    return (
        {"type": name.upper(), "drop_limit": limit_percent}
        | _select_keys(goal, ("rate_bps", "rate_pps"))
        | _select_keys(stats, THEORY_KEYS)
        | {"drop_percentage": stats["overall"]["drop_percentage"]}
        | _build_delays(stats["overall"])
        | warning
    )


def _build_delays(figures: Mapping[str, Any]) -> Record:
    percentiles = figures.get("lat_percentile") or {}
    return _select_keys(figures, DELAY_KEYS) | {f"lat_percentile_{name}": value for name, value in percentiles.items()}


def _select_keys(figures: Mapping[str, Any], names: Sequence[str]) -> Record:
    return {name: figures[name] for name in names}


class RecordSink(Protocol):
    """A receiver of records to deliver."""

    def enqueue(self, tag: str, record: Mapping[str, Any]) -> None:
        """Enqueue a record for delivery."""


class LogRecords(logging.Handler):
    """A logging handler that sends records to an aggregator with a tag."""

    def __init__(self, sink: RecordSink, tag: str, run_date: str) -> None:
        """Initialize the handler.

        Args:
            sink: receives the records.
            tag: tag of the records.
            run_date: start of the run, the same on all records of the run.
        """
        super().__init__()
        self._sink = sink
        self._tag = tag
        self._run_date = run_date

    def emit(self, record: logging.LogRecord) -> None:
        """Send a log record."""
        self._send(record.levelname, record.getMessage(), record.created)

    def log_start(self) -> None:
        """Send the record of the start of a run, with NFVbench's message."""
        self._send(START, "NFVBENCH run is started", time.time(), numloglevel=0, numerrors=0, numwarnings=0)

    def log_summary(self, tally: SeverityCounter) -> None:
        """Send the summary of a run by its logged errors and warnings."""
        level, message = logging.INFO, "GOOD RUN"
        if tally.error_count:
            level, message = logging.ERROR, "RUN WITH ERRORS"
        elif tally.warning_count:
            level, message = logging.WARNING, "RUN WITH WARNINGS"
        counts = {"numloglevel": level, "numerrors": tally.error_count, "numwarnings": tally.warning_count}
        self._send(RUN_SUMMARY, message, time.time(), **counts)

    def _send(self, level: str, message: str, at_s: float, **more: int) -> None:
        record = {
            "runlogdate": self._run_date,
            "loglevel": level,
            "message": message,
            "@timestamp": format_timestamp(at_s),
        }
        self._sink.enqueue(self._tag, record | more)
