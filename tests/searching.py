"""Searches driven without a generator: plans with short names, and the loop that answers trials from a model."""

from collections.abc import Callable

from nodrop.model.choices import AlgorithmName
from nodrop.model.goal import Goal
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import Trial
from nodrop.search.base import Outcome, Search
from nodrop.simulation import SutFunction

Answer = Callable[[Trial], float]
"""The loss ratio of a trial."""


def search_plan(
    *,
    algorithm: AlgorithmName = "mlrsearch-01",
    loss_ratios: tuple[float, ...] = (0.0, 0.005),
    min_load_pps: float = 10_000.0,
    max_load_pps: float = 10_000_000.0,
    initial_s: float = 0.1,
    final_s: float = 2.0,
    width_ratio: float = 0.005,
    intermediate_phases: int = 2,
    expansion_coefficient: float = 4.0,
    doublings: int = 1,
) -> SearchPlan:
    """Return a plan for these loss ratios; goals are called NDR, PDR 0.005 and so on."""
    return SearchPlan(
        algorithm=algorithm,
        goals=tuple(Goal(label=f"PDR {ratio:g}" if ratio else "NDR", loss_ratio=ratio) for ratio in loss_ratios),
        min_load_pps=min_load_pps,
        max_load_pps=max_load_pps,
        initial_trial_duration_s=initial_s,
        final_trial_duration_s=final_s,
        width_ratio=width_ratio,
        intermediate_phases=intermediate_phases,
        expansion_coefficient=expansion_coefficient,
        doublings=doublings,
        search_duration_max_s=1e9,
        repeat_invalid=0,
    )


def loss_ratio_of(sut: SutFunction) -> Answer:
    """Answer complete trials from a model; every frame not received is lost, also unsent ones."""

    def answer(trial: Trial) -> float:
        counts = sut(trial.intended_load_pps, trial.duration_s)
        lost_count = counts.intended_count - counts.received_count
        return lost_count / counts.intended_count if counts.intended_count else 1.0

    return answer


def drive(search: Search, answer: Answer, trial_count_max: int = 1000) -> list[Trial]:
    """Drive the search to its end; return the trials in order. Fail if it does not end."""
    trials: list[Trial] = []
    while (trial := search.ask()) is not None:
        assert len(trials) < trial_count_max, "the search does not come to an end"
        search.tell(Outcome(index=len(trials), loss_ratio=answer(trial)))
        trials.append(trial)
    return trials
