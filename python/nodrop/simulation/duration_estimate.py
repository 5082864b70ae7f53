"""Estimates how long a run will take by simulating its search against plausible SUTs."""

import functools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from nodrop.errors import NodropError
from nodrop.model.base import Value
from nodrop.model.choices import Backend
from nodrop.model.plan import Plan
from nodrop.model.profiles import BACK_TO_BACK
from nodrop.model.search_plan import SearchPlan
from nodrop.plan.time_allotment import TimeAllotment
from nodrop.simulation.forwarder import SimulatedForwarder
from nodrop.simulation.search_run import simulate_search
from nodrop.simulation.stalls import StallRandom
from nodrop.simulation.stationary import HardLimit, LossFloor, SmoothKnee
from nodrop.simulation.varying_capacity import NoisyCapacity
from nodrop.units import format_seconds

CPU_S = 0.25
"""CPU time limit for the simulated searches; the most plausible SUTs come first."""
CAPACITIES_PPS = (1e6, 3e5, 4e6, 1e5, 15e6)
"""Capacities of software forwarders, from a kernel bridge to a poll-mode driver on one core; most likely first."""
STALL_S, STALL_EVERY_S = 0.05, 1.0
"""Stalls of a SUT that shares its CPU with other processes."""
LAB_S, LAB_PER_CHAIN_S = (0.7, 1.5, 4.0), 0.15
"""Time to bring namespaces, links and engine up and down: at least, usually, on a busy machine."""
DPDK_S = 2.0
"""Additional time for DPDK to set up its memory."""
CLOUD_PER_VM_S = (3.0, 8.0, 20.0)
"""Time to create a VM with its ports, to boot it and to remove it: small images on idle hosts to large ones on busy
hosts."""
LAB_TESTER_PPS: Mapping[Backend, float] = {"af_packet": 1.2e6, "xdp_live": 5e6}
"""Rates that a tester on one CPU reaches in the lab, which has no line rate of its own."""
CHECK_S = (0.05, 0.2, 1.0)
"""Duration of the path check."""
DEAD_S = (0.15, 0.3, 0.7)
"""Dead time of a trial: requests, frames in flight, counters of the host."""


class DurationRange(Value):
    """An uncertain duration."""

    what: str
    """The part of a run; empty for the entire run."""
    low_s: float
    """Unlikely to take less."""
    expected_s: float
    high_s: float
    """Unlikely to take more."""

    @property
    def text(self) -> str:
        """Readable text: `about 45 s (30 s to 1 min 20 s)`."""
        expected = format_seconds(_round_duration(self.expected_s))
        low, high = (format_seconds(_round_duration(each)) for each in (self.low_s, self.high_s))
        return f"about {expected}" if low == high else f"about {expected} ({low} to {high})"


class DurationEstimate(DurationRange):
    """The duration of a run and of its parts."""

    parts: tuple[DurationRange, ...]
    """In order; each summed over all frame sizes."""


def estimate_duration(plans: Sequence[Plan]) -> DurationEstimate:
    """Estimate the duration of consecutive runs on an otherwise idle machine."""
    parts: dict[str, DurationRange] = {}
    for plan in plans:
        for part in _iter_parts(plan, CPU_S / len(plans)):
            parts[part.what] = _sum(part.what, [part, *([parts[part.what]] if part.what in parts else [])])
    total = _sum("", list(parts.values()))
    return DurationEstimate(**total.model_dump(), parts=tuple(parts.values()))


def _iter_parts(plan: Plan, cpu_s: float) -> Iterator[DurationRange]:
    more_s = LAB_PER_CHAIN_S * (plan.lab.chain_count - 1) + (DPDK_S if plan.engine.backend == "dpdk" else 0.0)
    if plan.cloud and plan.cloud.servers:
        yield _make_duration_range("chains in the cloud", [each * len(plan.cloud.servers) for each in CLOUD_PER_VM_S])
    yield _make_duration_range("lab and engine", [each + more_s for each in LAB_S])
    if plan.path_check:
        yield _make_duration_range("path check", CHECK_S)
    if plan.no_traffic:
        return
    if plan.fixed:
        yield _estimate_trials(f"trial at {plan.fixed.asked}", (1, 1, 1), plan.fixed.duration_s)
        return
    limit_pps = plan.calibration.load_pps if plan.calibration else plan.search.max_load_pps
    up_s = LAB_S[1] + more_s + CHECK_S[1]
    allotment = TimeAllotment.of(plan, 0.0, up_s)
    search = allotment.limit_search(plan, up_s)
    tester_pps = LAB_TESTER_PPS.get(plan.engine.backend, math.inf) if plan.sends_into_lab else math.inf
    if search.algorithm == BACK_TO_BACK and tester_pps < search.max_load_pps:
        return  # such bursts have no result
    yield _estimate_search(search, min(limit_pps, plan.search.max_load_pps), tester_pps, cpu_s)
    if points := plan.latency.points:
        count = sum(not point.is_at_bound for point in points)  # trials of the search have the others, most often
        end_s = up_s + (search.search_duration_max_s if plan.budget_s else 0.0)
        duration_s = allotment.limit_latency_s(plan, len(points), end_s) or 0.0
        yield _estimate_trials("latency", (count, count, len(points)), duration_s)


def _estimate_trials(what: str, counts: tuple[int, int, int], duration_s: float) -> DurationRange:
    trials = zip(counts, DEAD_S, strict=True)
    return _make_duration_range(what, [count * (duration_s + dead_s) for count, dead_s in trials])


@functools.lru_cache(64)
def _estimate_search(search: SearchPlan, highest_pps: float, tester_pps: float, cpu_s: float) -> DurationRange:
    """Simulate the search against as many SUTs as time allows; the expected duration is the median."""
    walls_s = sorted(_iter_walls_s(search, highest_pps, tester_pps, cpu_s))
    if not walls_s:  # only the time limit is known
        longest_s = search.search_duration_max_s
        return _make_duration_range("search", (0.0, longest_s / 2, longest_s))
    return _make_duration_range("search", (walls_s[0], walls_s[len(walls_s) // 2], walls_s[-1]))


def _iter_walls_s(search: SearchPlan, highest_pps: float, tester_pps: float, cpu_s: float) -> Iterator[float]:
    deadline_s = time.process_time() + cpu_s
    for capacity_pps in _list_capacities_pps(search, highest_pps):
        for make in MODELS:
            if time.process_time() > deadline_s:
                return
            sut = make(capacity_pps)
            sut.tester_pps = tester_pps
            try:
                done = simulate_search(search, sut, DEAD_S[1])
            except NodropError:  # the run itself reports a search that cannot be run
                return
            yield done.wall_s


def _list_capacities_pps(search: SearchPlan, highest_pps: float) -> tuple[float, ...]:
    """Return the plausible capacities within the search range, or else its geometric mean."""
    within = tuple(each for each in CAPACITIES_PPS if search.min_load_pps < each < highest_pps)
    return within or ((search.min_load_pps * highest_pps) ** 0.5,)


MODELS: tuple[Callable[[float], SimulatedForwarder], ...] = (
    lambda pps: HardLimit(capacity_pps=pps),
    lambda pps: NoisyCapacity(capacity_pps=pps),
    lambda pps: SmoothKnee(capacity_pps=pps * 1.1, knee_pps=pps * 0.7),
    lambda pps: StallRandom(capacity_pps=pps, stall_s=STALL_S, interval_s=STALL_EVERY_S),
    lambda pps: LossFloor(capacity_pps=pps),
)
"""SUTs of a given capacity: a hard limit, which is fastest, varying, with a smooth knee, with stalls, and with a loss
floor."""


def _make_duration_range(what: str, low_expected_high_s: Sequence[float]) -> DurationRange:
    low_s, expected_s, high_s = low_expected_high_s
    return DurationRange(what=what, low_s=low_s, expected_s=expected_s, high_s=high_s)


def _sum(what: str, parts: Sequence[DurationRange]) -> DurationRange:
    """Add the durations, all at their low, expected or high values."""
    return _make_duration_range(
        what, [sum(getattr(part, key) for part in parts) for key in ("low_s", "expected_s", "high_s")]
    )


def _round_duration(seconds: float) -> float:
    """Round to 1 s below a minute, 5 s below 10 minutes, else to a minute."""
    step = 1 if seconds < 60 else 5 if seconds < 600 else 60
    return float(max(1, round(seconds / step)) * step)
