"""How long a run will take, worked out before it begins by running its own search against SUTs that might be there."""

import functools
import time
from collections.abc import Callable, Iterator, Sequence

from nodrop.errors import NodropError
from nodrop.model.base import Value
from nodrop.model.plan import Plan
from nodrop.model.search_plan import SearchPlan
from nodrop.simulation.forwarder import Forwarder
from nodrop.simulation.search_run import simulate
from nodrop.simulation.stalls import StallRandom
from nodrop.simulation.stationary import HardLimit, LossFloor, SmoothKnee
from nodrop.simulation.varying_capacity import NoisyCapacity
from nodrop.units import format_seconds

CPU_S = 0.25
"""CPU time a forecast may take for its searches; what is thought of first matters most."""
CAPACITIES_PPS = (1e6, 3e5, 4e6, 1e5, 15e6)
"""What software forwards, from slow to fast, likeliest first: a kernel's bridge to a poll-mode driver on one core."""
STALL_S, STALL_EVERY_S = 0.05, 1.0
"""How a SUT stands still whose CPU others want too."""
LAB_S, LAB_PER_CHAIN_S = (0.7, 1.5, 4.0), 0.15
"""Time to bring up namespaces, links and engine, and to bring them down: at least, usually, on a busy machine."""
DPDK_S = 2.0
"""What DPDK takes beyond that to set up its memory."""
CLOUD_PER_VM_S = (3.0, 8.0, 20.0)
"""Time to stage each VM in a cloud with its ports, until it has booted, and to take it away: of small images on idle
hosts, of large ones on busy ones."""
CHECK_S = (0.05, 0.2, 1.0)
"""Time of the path check."""
DEAD_S = (0.15, 0.3, 0.7)
"""Time a trial takes beside its sending: orders, frames still under way, counters of the host."""


class Span(Value):
    """A time that is not known for certain."""

    what: str
    """Which part of a run takes it; empty for a whole one."""
    low_s: float
    """It will hardly take less."""
    expected_s: float
    high_s: float
    """It will hardly take more."""

    @property
    def text(self) -> str:
        """For people: `about 45 s (30 s to 1 min 20 s)`."""
        expected = format_seconds(_rounded(self.expected_s))
        low, high = (format_seconds(_rounded(each)) for each in (self.low_s, self.high_s))
        return f"about {expected}" if low == high else f"about {expected} ({low} to {high})"


class Forecast(Span):
    """How long a run will take, and which part of it how long."""

    parts: tuple[Span, ...]
    """One after the other, of all frame sizes together."""


def forecast(plans: Sequence[Plan]) -> Forecast:
    """How long it will take to carry out plans one after the other, alone on the machine."""
    parts: dict[str, Span] = {}
    for plan in plans:
        for part in _parts(plan, CPU_S / len(plans)):
            parts[part.what] = _sum(part.what, [part, *([parts[part.what]] if part.what in parts else [])])
    whole = _sum("", list(parts.values()))
    return Forecast(**whole.model_dump(), parts=tuple(parts.values()))


def _parts(plan: Plan, cpu_s: float) -> Iterator[Span]:
    more_s = LAB_PER_CHAIN_S * (plan.lab.chain_count - 1) + (DPDK_S if plan.engine.backend == "dpdk" else 0.0)
    if plan.cloud and plan.cloud.servers:
        yield _span("chains in the cloud", [each * len(plan.cloud.servers) for each in CLOUD_PER_VM_S])
    yield _span("lab and engine", [each + more_s for each in LAB_S])
    if plan.path_check:
        yield _span("path check", CHECK_S)
    if plan.no_traffic:
        return
    if plan.fixed:
        yield _trials(f"trial at {plan.fixed.asked}", 1, plan.fixed.duration_s)
        return
    known_pps = plan.calibration.load_pps if plan.calibration else plan.search.max_load_pps
    yield _search(plan.search, min(known_pps, plan.search.max_load_pps), cpu_s)
    if plan.latency.points:
        yield _trials("latency", len(plan.latency.points), plan.latency.duration_s)


def _trials(what: str, count: int, duration_s: float) -> Span:
    return _span(what, [count * (duration_s + dead_s) for dead_s in DEAD_S])


@functools.lru_cache(64)
def _search(search: SearchPlan, highest_pps: float, cpu_s: float) -> Span:
    """The search against every SUT there is time for: half of them take as long as expected, or less."""
    walls_s = sorted(_walls_s(search, highest_pps, cpu_s))
    if not walls_s:  # nothing can be said but what it may take
        longest_s = search.search_duration_max_s
        return _span("search", (0.0, longest_s / 2, longest_s))
    return _span("search", (walls_s[0], walls_s[len(walls_s) // 2], walls_s[-1]))


def _walls_s(search: SearchPlan, highest_pps: float, cpu_s: float) -> Iterator[float]:
    deadline_s = time.process_time() + cpu_s
    for capacity_pps in _capacities_pps(search, highest_pps):
        for make in MODELS:
            if time.process_time() > deadline_s:
                return
            try:
                done = simulate(search, make(capacity_pps), DEAD_S[1])
            except NodropError:  # a search that cannot be run says so when it is begun
                return
            yield done.wall_s


def _capacities_pps(search: SearchPlan, highest_pps: float) -> tuple[float, ...]:
    """Plausible ones among the loads that are searched; none but the middle where there are none."""
    within = tuple(each for each in CAPACITIES_PPS if search.min_load_pps < each < highest_pps)
    return within or ((search.min_load_pps * highest_pps) ** 0.5,)


MODELS: tuple[Callable[[float], Forwarder], ...] = (
    lambda pps: NoisyCapacity(capacity_pps=pps),
    lambda pps: SmoothKnee(capacity_pps=pps * 1.1, knee_pps=pps * 0.7),
    lambda pps: StallRandom(capacity_pps=pps, stall_s=STALL_S, interval_s=STALL_EVERY_S),
    lambda pps: HardLimit(capacity_pps=pps),
    lambda pps: LossFloor(capacity_pps=pps),
)
"""SUTs of a capacity: one that wavers, one that begins to lose early, one that is held up, a clean one, and one that
always loses a little."""


def _span(what: str, low_expected_high_s: Sequence[float]) -> Span:
    low_s, expected_s, high_s = low_expected_high_s
    return Span(what=what, low_s=low_s, expected_s=expected_s, high_s=high_s)


def _sum(what: str, parts: Sequence[Span]) -> Span:
    """One after the other; as if all were short, or all long."""
    return _span(what, [sum(getattr(part, key) for part in parts) for key in ("low_s", "expected_s", "high_s")])


def _rounded(seconds: float) -> float:
    """As exactly as a forecast can be read: to a second, from a minute on to five."""
    step = 1 if seconds < 60 else 5 if seconds < 600 else 60
    return float(max(1, round(seconds / step)) * step)
