"""The goals of the searches, and the kinds of SUT that requirements distinguish."""

from typing import NamedTuple

from benchmarks.search import peers

from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.simulation.benchmark import BenchmarkEntry

MAX_LOAD_PPS = 37.5e6
MIN_LOAD_PPS = 18_002.0
WIDTH_RATIO = 0.005
OVERHEAD_S = 0.5
LONG, SHORT = "30 s", "CSIT"
OWN, RELEASE_040, RELEASE_121 = "nodrop", "MLRsearch 0.4.0", "MLRsearch 1.2.1"


class GoalSet(NamedTuple):
    """The goals NDR and PDR 0.5 % with one rule for deciding a load."""

    name: str
    exceed_ratio: float
    final_s: float
    sum_s: float

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Both goals with every attribute."""
        return tuple(
            Goal(
                label=label,
                loss_ratio=loss_ratio,
                exceed_ratio=self.exceed_ratio,
                initial_trial_duration_s=1.0,
                final_trial_duration_s=self.final_s,
                duration_sum_s=self.sum_s,
                width_ratio=WIDTH_RATIO,
            )
            for label, loss_ratio in (("NDR", 0.0), ("PDR", 0.005))
        )

    def plan(self, algorithm: AlgorithmName, expansion_coefficient: float) -> SearchPlan:
        """Return the search plan of an algorithm."""
        return SearchPlan(
            algorithm=algorithm,
            goals=self.goals,
            min_load_pps=MIN_LOAD_PPS,
            max_load_pps=MAX_LOAD_PPS,
            initial_trial_duration_s=1.0,
            final_trial_duration_s=self.final_s,
            width_ratio=WIDTH_RATIO,
            intermediate_phases=2,
            expansion_coefficient=expansion_coefficient,
            search_duration_max_s=1e5,
            repeat_invalid=0,
            overhead_s=OVERHEAD_S,
        )

    def create_entries(self) -> list[BenchmarkEntry]:
        """Return nodrop's own search and the releases that support these goals, with the settings of FD.io CSIT."""
        own = BenchmarkEntry(OWN, self.plan("nodrop", 2.0), create)
        newer = BenchmarkEntry(RELEASE_121, self.plan("mlrsearch-rfc9971", 2.0), peers.create_search_1_2_1)
        older = BenchmarkEntry(RELEASE_040, self.plan("mlrsearch-01", 4.0), peers.create_search_0_4_0)
        return [own, older, newer] if self.exceed_ratio == 0.0 else [own, newer]


GOAL_SETS = {
    LONG: GoalSet(LONG, exceed_ratio=0.0, final_s=30.0, sum_s=30.0),
    SHORT: GoalSet(SHORT, exceed_ratio=0.5, final_s=1.0, sum_s=21.0),
}
DETERMINISTIC = frozenset(
    {"hard-limit", "tester-overload", "tester-overload-above", "duration-dependent", "loss-inversion", "perfect-link"}
)
"""Kinds of SUT on which every trial at a load has the same result at any time."""
STOCHASTIC = frozenset(
    {"noisy-capacity", "noisy-windows", "stall-periodic", "stall-random", "two-modes-trial", "two-modes-time"}
)
"""Kinds of SUT on which results of trials at a load vary randomly."""
