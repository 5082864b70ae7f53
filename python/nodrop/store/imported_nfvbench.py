"""NFVbench's results as summaries, one for each frame size.

Mapping of the values: docs/reference/imported-results.md.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from nodrop.formatting import format_surplus
from nodrop.model.goal import Goal, Limit
from nodrop.model.nfvbench import (
    get_list,
    get_number,
    get_section,
    get_text,
    get_value,
    iter_frame_sizes,
    iter_service_chains,
    read_percentiles,
)
from nodrop.model.summary import Measure, MissingGoal, Summary
from nodrop.store.metrics import (
    build_goal_measure,
    build_latency_measures,
    make_slug,
    name_goal,
)
from nodrop.units import format_pps

IMIX_BYTES = (7 * 64 + 4 * 594 + 1518) / 12
"""Mean frame size of NFVbench's IMIX."""
OFFERED_RATIO_MIN = 0.99
"""Share of the intended load below which the generator was the limit; NFVbench rounds to whole frames per second."""
ITERATIONS = "iteration_stats"
TIME_MAX_S = 4e9
"""Largest valid timestamp: the year 2096."""


def build_summaries(content: dict[str, Any], run_id: str, began: datetime) -> tuple[Summary, ...]:
    """Build the summaries of a file in NFVbench's form.

    Args:
        content: the file.
        run_id: id of the file.
        began: start of the measurement, for files without exact times.
    """
    size_results = [
        _FrameSizeResult(content, chain, chain_name, size, measured)
        for chain_name, chain in iter_service_chains(content)
        for size, measured in iter_frame_sizes(chain)
    ]
    return tuple(
        each.summary(f"{run_id}#{each.name}" if len(size_results) > 1 else run_id, began) for each in size_results
    )


def parse_date(content: dict[str, Any]) -> datetime | None:
    """Return the date in the file; its local time is treated as UTC."""
    try:
        return datetime.fromisoformat(get_text(content, "date")).replace(tzinfo=UTC)
    except ValueError:
        return None


class _FrameSizeResult(NamedTuple):
    """One frame size of one service chain."""

    content: dict[str, Any]
    chain: dict[str, Any]
    chain_name: str
    size: str
    measured: dict[str, Any]

    @property
    def name(self) -> str:
        several = len(list(iter_service_chains(self.content))) > 1
        return f"{self.chain_name}-{self.size}" if several else self.size

    @property
    def version(self) -> str:
        return get_text(self.content, "nfvbench_version")

    @property
    def is_from_nodrop(self) -> bool:
        """Whether nodrop wrote the file in NFVbench's form, with correct values."""
        return self.version.startswith("nodrop ")

    @property
    def bidirectional(self) -> bool:
        return get_value(self.chain, "bidirectional") is not False

    @property
    def counter_key(self) -> str:
        """Key of the counters of loss; for unidirectional traffic, NFVbench's totals are of the other direction."""
        return "overall" if self.bidirectional or self.is_from_nodrop else "1"

    def summary(self, run_id: str, began: datetime) -> Summary:
        goals = {name: goal for name, goal in self.measured.items() if name != ITERATIONS and isinstance(goal, dict)}
        is_search = "run_config" not in self.measured
        missing = tuple(self._list_missing_goals(goals)) if is_search else ()
        started, wall_s = self._time(goals, began)
        config = get_section(self.content, "config")
        return Summary(
            run_id=run_id,
            source="nfvbench",
            started_at=started.isoformat(),
            wall_s=wall_s,
            status="complete",
            error=" ".join(f"{each.text}: {each.reason}" for each in missing) or None,
            label=get_text(config, "user_label") or None,
            sut=_translate_sut(get_text(self.content, "openstack_spec", "vswitch")),
            path=self.chain_name,
            chain_count=int(get_number(self.chain, "service_chain_count") or 0),
            flow_count=int(get_number(self.chain, "flow_count") or 0),
            frame_size=self.size,
            frame_bytes=float(self.size) if self.size.isdecimal() else IMIX_BYTES if self.size == "IMIX" else 0.0,
            bidirectional=self.bidirectional,
            asked="_".join(goals) if is_search else self._rate,
            algorithm="" if not is_search or self.is_from_nodrop else "nfvbench",
            host="",
            kernel="",
            cpu_model="",
            backend=get_text(self.content, "benchmarks", "network", "versions", "Traffic_Generator", "version"),
            version=self.version,
            trial_count=len(get_list(self.measured, ITERATIONS, "ndr_pdr")) if is_search else 1,
            measures=tuple(self._list_search_measures(goals) if is_search else self._list_fixed_measures()),
            missing_goals=missing,
            doubts=tuple(self._list_search_doubts(goals) if is_search else self._list_fixed_doubts()),
        )

    def _list_missing_goals(self, goals: dict[str, Any]) -> Iterator[MissingGoal]:
        for name, goal in goals.items():
            if reason := self._explain_missing_load(name, goal):
                yield MissingGoal(text=name_goal(self._build_goal(name))[1], reason=reason)

    def _explain_missing_load(self, name: str, goal: dict[str, Any]) -> str:
        """Return why a goal has no load; empty where it has one."""
        if not _read_load(goal):
            return "no load met the goal."
        lost_ratio = self._read_lost_ratio(goal)
        if self.counter_key != "overall" and lost_ratio > self._build_goal(name).loss_ratio:
            return f"the search evaluated the other direction; this direction lost {lost_ratio:.2%}."
        return ""

    def _list_search_measures(self, goals: dict[str, Any]) -> Iterator[Measure]:
        """Yield the load of each goal with its latency."""
        for name, goal in goals.items():
            if self._explain_missing_load(name, goal):
                continue
            goal_spec, load_pps = self._build_goal(name), _read_load(goal)
            yield build_goal_measure(goal_spec, load_pps, self._high_pps(goal, load_pps), self._limit(goal))
            counted = get_section(goal, "stats", self.counter_key)
            yield from build_latency_measures(_convert_delays(counted), *name_goal(goal_spec))

    def _list_search_doubts(self, goals: dict[str, Any]) -> Iterator[str]:
        for name, goal in goals.items():
            if _read_load(goal) and (lost_ratio := self._read_lost_ratio(goal)) < 0:
                yield format_surplus(name_goal(self._build_goal(name))[1], -lost_ratio) + "."

    def _build_goal(self, name: str) -> Goal:
        allowed = (get_number(self.content, "config", "measurement", name.upper()) or 0) / 100
        return Goal(label=name.upper(), loss_ratio=min(max(allowed, 0.0), 0.99))

    def _read_lost_ratio(self, goal: dict[str, Any]) -> float:
        return (get_number(goal, "stats", self.counter_key, "drop_percentage") or 0) / 100

    def _high_pps(self, goal: dict[str, Any], load_pps: float) -> float | None:
        """Return the upper bound: NFVbench stops within `load_epsilon` percent of line rate of a failed load."""
        epsilon = get_number(self.content, "config", "measurement", "load_epsilon")
        percent = get_number(goal, "load_percent_per_direction")
        if self.is_from_nodrop or not epsilon or not percent or percent >= 100:
            return None
        high_pps = load_pps * (percent + epsilon) / percent
        return high_pps if load_pps < high_pps < math.inf else None

    def _limit(self, goal: dict[str, Any]) -> Limit:
        """Return the limit of the load, where the file states it."""
        if self.is_from_nodrop:
            return Limit.UNKNOWN if get_text(goal, "stats", "warning") else Limit.SUT
        intended, sent = get_number(goal, "rate_pps") or 0, get_number(goal, "stats", "total_tx_rate")
        if sent is not None and sent < intended * OFFERED_RATIO_MIN:
            return Limit.TESTER
        if (get_number(goal, "load_percent_per_direction") or 0) >= 100:
            return Limit.MAX_LOAD
        is_loss_known = self.counter_key == "overall" and self._read_lost_ratio(goal) >= 0
        return Limit.SUT if is_loss_known else Limit.UNKNOWN

    def _list_fixed_measures(self) -> Iterator[Measure]:
        """Yield received rate, loss and latency of a fixed rate; received frames above those sent make no rate."""
        rates = get_section(self.measured, "run_config", "direction-total")
        stats = get_section(self.measured, "stats")
        lost_ratio, doubt = self._read_fixed_loss(), next(self._list_fixed_doubts(), "")
        intended_pps, sent_pps = get_number(rates, "orig", "rate_pps") or 0, get_number(rates, "tx", "rate_pps") or 0
        short = sent_pps < intended_pps * OFFERED_RATIO_MIN
        limit = Limit.TESTER if short else Limit.SUT
        at = make_slug(self._rate)
        received_pps = get_number(rates, "rx", "rate_pps")
        if received_pps is not None and received_pps >= 0 and not doubt:
            yield Measure(
                key=f"forwarding_rate_at_{at}",
                text=f"forwarding rate at {self._rate}",
                unit="pps",
                better="higher",
                value=received_pps,
                limit=limit if lost_ratio or short else Limit.MAX_LOAD,
            )
        if lost_ratio is not None and not doubt:
            yield Measure(
                key=f"loss_at_{at}",
                text=f"loss at {self._rate}",
                unit="ratio",
                better="lower",
                value=lost_ratio,
                limit=limit,
            )
        yield from build_latency_measures(_convert_delays(get_section(stats, self.counter_key, "rx")), at, self._rate)

    def _list_fixed_doubts(self) -> Iterator[str]:
        lost_ratio = self._read_fixed_loss()
        if lost_ratio is not None and lost_ratio < 0:
            yield format_surplus(f"loss at {self._rate}", -lost_ratio) + "."
        elif lost_ratio is not None and lost_ratio > 1:
            yield f"loss at {self._rate}: the file counts more frames lost than sent; the loss is unknown."

    def _read_fixed_loss(self) -> float | None:
        """Return the loss ratio of a fixed rate as the file has it; outside 0 to 1 if it is impossible."""
        stats = get_section(self.measured, "stats")
        lost = get_number(stats, self.counter_key, "rx", "dropped_pkts")
        sent = get_number(stats, "overall" if self.counter_key == "overall" else "0", "tx", "total_pkts")
        return lost / sent if lost is not None and sent and sent > 0 else None

    @property
    def _rate(self) -> str:
        """The configured fixed rate."""
        rate_pps = get_number(self.measured, "run_config", "direction-total", "orig", "rate_pps")
        return get_text(self.content, "config", "rate") or format_pps(rate_pps or 0)

    def _time(self, goals: dict[str, Any], began: datetime) -> tuple[datetime, float]:
        """Return start and duration, from the times of the trials where available."""
        duration_s = max(float(get_number(self.content, "config", "duration_sec") or 0), 0.0)
        spans_s = [
            (end / 1000 - duration_s, end / 1000)
            for each in get_list(self.measured, ITERATIONS, "ndr_pdr")
            if (end := get_number(each, "time_ms"))
        ]
        spans_s += [
            (end - (get_number(goal, "time_taken_sec") or 0), end)
            for goal in goals.values()
            if (end := get_number(goal, "timestamp_sec"))
        ]
        valid_s = [span for span in spans_s if 0 <= span[0] <= span[1] < TIME_MAX_S]
        if not valid_s:
            return began, duration_s
        start_s = min(start for start, _ in valid_s)
        return datetime.fromtimestamp(start_s, UTC), round(max(end for _, end in valid_s) - start_s, 3)


def _read_load(goal: dict[str, Any]) -> float:
    """Return the load sent at a goal in frames per second; 0 without one."""
    load_pps = get_number(goal, "stats", "total_tx_rate") or get_number(goal, "rate_pps") or 0
    return max(float(load_pps), 0.0)


def _convert_delays(counted: dict[str, Any]) -> dict[str, float | None]:
    """Return latencies in microseconds, by name."""
    shares = {f"p{name}": value for name, value in read_percentiles(counted).items()}
    return {"mean": get_number(counted, "avg_delay_usec"), **shares, "max": get_number(counted, "max_delay_usec")}


def _translate_sut(vswitch: str) -> str:
    """Return nodrop's name of the virtual switch."""
    return "ovs" if vswitch == "OPENVSWITCH" else vswitch.lower() or "unknown"
