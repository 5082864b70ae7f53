"""Random searches against random systems, for a search and its published peer."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.searching import search_plan
from tests.suts import Buffer, Jitter, LossFloor, SlowTester, SmoothCurve, Stalls, Step

from nodrop.model.choices import AlgorithmName
from nodrop.model.search_plan import SearchPlan
from nodrop.simulation import SutCounts, SutFunction


class Lottery:
    """Loses a random share at any load: no real system, but it drives a search into every corner."""

    def __init__(self, seed: int, good_count: int = 3) -> None:
        self.draws = random.Random(seed)
        self.good_count = good_count

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        intended_count = round(intended_load_pps * duration_s)
        shares = [0.0] * self.good_count + [1e-4, 0.01, 0.1 * self.draws.random(), self.draws.random()]
        return SutCounts(
            intended_count, intended_count, intended_count - math.ceil(intended_count * self.draws.choice(shares))
        )


class WarmUp:
    """Forwards more in longer trials, and varies a little at random."""

    def __init__(self, capacity_pps: float, seed: int) -> None:
        self.jitter = Jitter(capacity_pps, 0.03, seed)

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        warm_ratio = duration_s / (duration_s + 0.2)
        return self.jitter(intended_load_pps / warm_ratio, duration_s * warm_ratio)


class Script:
    """Loses the given shares in order."""

    def __init__(self, loss_ratios: Sequence[float]) -> None:
        self.loss_ratios = iter(loss_ratios)

    def __call__(self, intended_load_pps: float, duration_s: float) -> SutCounts:
        intended_count = round(intended_load_pps * duration_s)
        return SutCounts(
            intended_count, intended_count, intended_count - math.ceil(intended_count * next(self.loss_ratios))
        )


@dataclass(frozen=True)
class Case:
    """A search and a factory of its system; two systems from it draw the same random numbers."""

    plan: SearchPlan
    kind: str
    seed: int

    def make_sut(self) -> SutFunction:
        draw = random.Random(self.seed)
        # Mostly inside the searched range, sometimes just outside it on either side.
        reach = math.log(self.plan.max_load_pps / self.plan.min_load_pps)
        capacity_pps = self.plan.min_load_pps * math.exp(reach * draw.uniform(-0.05, 1.1))
        makers: dict[str, Callable[[], SutFunction]] = {
            "step": lambda: Step(capacity_pps),
            "buffer": lambda: Buffer(capacity_pps, int(capacity_pps * 10 ** draw.uniform(-4, 0))),
            "smooth": lambda: SmoothCurve(capacity_pps, 10 ** draw.uniform(-3, 2)),
            "floor": lambda: LossFloor(capacity_pps, 10 ** draw.uniform(-7, -1)),
            "slow tester": lambda: SlowTester(capacity_pps, capacity_pps * draw.uniform(0.5, 2)),
            "jitter": lambda: Jitter(capacity_pps, draw.uniform(0, 0.2), self.seed),
            "stalls": lambda: Stalls(capacity_pps, 10 ** draw.uniform(-1, 2), 10 ** draw.uniform(-4, -1), self.seed),
            "warming up": lambda: WarmUp(capacity_pps, self.seed),
            "lottery": lambda: Lottery(self.seed, draw.choice((1, 4, 30))),
        }
        return makers[self.kind]()


KINDS = ("step", "buffer", "smooth", "floor", "slow tester", "jitter", "stalls", "warming up", "lottery")


def random_case(
    seed: int,
    draw_ratios: Callable[[random.Random], tuple[float, ...]],
    algorithm: AlgorithmName,
) -> Case:
    """Draw all of a search but its algorithm, and a system of a drawn kind."""
    draw = random.Random(seed)
    ratios = draw_ratios(draw)
    min_load_pps = 10 ** draw.uniform(3, 5)
    initial_s = 10 ** draw.uniform(-1.5, 0.5)
    plan = search_plan(
        algorithm=algorithm,
        loss_ratios=ratios,
        min_load_pps=min_load_pps,
        max_load_pps=min_load_pps * 10 ** draw.uniform(0.01, 4),
        initial_s=initial_s,
        final_s=initial_s * draw.choice((1.0, 1.0 + draw.random(), 10 ** draw.uniform(0, 2))),
        width_ratio=10 ** draw.uniform(-3.3, -0.7),
        intermediate_phases=draw.randint(0, 4),
        expansion_coefficient=draw.choice((2.0, 4.0, draw.uniform(1.5, 6))),
        doublings=draw.randint(1, 3),
    )
    return Case(plan, draw.choice(KINDS), seed)
