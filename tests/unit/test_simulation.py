"""Searches driven against simulated SUTs, and compared."""

import pytest
from tests.searching import search_plan
from tests.traffic import two_way_traffic

from nodrop.errors import ConfigError
from nodrop.model.choices import AlgorithmName
from nodrop.model.search_plan import SearchPlan
from nodrop.model.trial import StopRule, Trial
from nodrop.search.base import Outcome
from nodrop.simulation import SUTS, SimulatedMeasurer
from nodrop.simulation.benchmark import BenchmarkEntry, GoalError, run_benchmark
from nodrop.simulation.search_run import simulate_search, simulate_trial
from nodrop.simulation.stationary import HardLimit

STEADY = ("hard-limit", "deep-buffer", "tester-overload", "tester-overload-above", "degrading", "loss-inversion")
"""SUTs that act alike in every trial of the final duration, and monotonically over the searched loads."""
BRACKETING: tuple[AlgorithmName, ...] = ("nodrop", "mlrsearch-rfc9971", "mlrsearch-01", "mlrsearch-03")


def plan_for(algorithm: AlgorithmName = "mlrsearch-01", max_duration_s: float = 1200.0) -> SearchPlan:
    plan = search_plan(algorithm=algorithm, min_load_pps=18_002.0, max_load_pps=37.5e6, initial_s=1.0, final_s=30.0)
    completed = plan.model_copy(update={"search_duration_max_s": max_duration_s})
    return completed.model_copy(update={"goals": tuple(map(completed.complete, completed.goals))})


@pytest.mark.parametrize("algorithm", BRACKETING)
@pytest.mark.parametrize("name", STEADY)
def test_the_bounds_of_a_search_enclose_the_truth(name: str, algorithm: AlgorithmName) -> None:
    sut = SUTS[name](1)
    for interval in simulate_search(plan_for(algorithm), sut).intervals:
        truth_pps = sut.truth_pps(interval.goal.loss_ratio, 30.0)
        assert interval.lower_valid and interval.lower_load_pps
        assert interval.upper_valid and interval.upper_load_pps
        assert interval.lower_load_pps <= truth_pps * 1.0001
        assert interval.upper_load_pps >= truth_pps * 0.9999


def test_time_is_that_of_the_trials_and_the_dead_time_after_each() -> None:
    simulated = simulate_search(plan_for(), HardLimit(), overhead_s=0.25)
    starts = [outcome.started_s for outcome in simulated.outcomes]
    ends = [outcome.started_s + outcome.elapsed_s for outcome in simulated.outcomes]
    assert starts[0] == 0
    assert starts[1:] == pytest.approx([end_s + 0.25 for end_s in ends[:-1]])
    assert simulated.wall_s == pytest.approx(ends[-1] + 0.25)
    assert simulated.traffic_s == pytest.approx(simulated.wall_s - 0.25 * len(simulated.trials))


def test_dead_time_is_what_the_plan_reckons_with_unless_given() -> None:
    plan = plan_for()
    assert simulate_search(plan, HardLimit()).wall_s == simulate_search(plan, HardLimit(), plan.overhead_s).wall_s


@pytest.mark.parametrize("max_duration_s", [0.5, 3.0, 20.0, 60.0])
def test_no_trial_starts_that_would_end_after_the_search(max_duration_s: float) -> None:
    simulated = simulate_search(plan_for(max_duration_s=max_duration_s), HardLimit())
    assert simulated.out_of_time
    for trial, outcome in zip(simulated.trials, simulated.outcomes, strict=True):
        assert outcome.started_s + trial.duration_s <= max_duration_s
    assert len(simulated.intervals) == 2


def test_a_search_that_ends_by_itself_is_not_out_of_time() -> None:
    assert not simulate_search(plan_for(), HardLimit()).out_of_time


@pytest.mark.parametrize("name", SUTS)
@pytest.mark.parametrize("load_pps", [77.0, 9.15e6, 22e6])
def test_a_search_learns_the_same_as_from_the_measurer(name: str, load_pps: float) -> None:
    trial = Trial(intended_load_pps=load_pps, duration_s=1.93, stop=StopRule(lost_count=1_000_000))
    with SimulatedMeasurer(two_way_traffic(3), SUTS[name](9)) as measurer:
        measurer.now_s = 30.0
        measured = Outcome.of(measurer.measure(trial, 4, "search", lambda *_: None), started_s=30.0)
    assert simulate_trial(SUTS[name](9), trial, 4, 30.0) == measured


def test_the_measurers_clock_runs_with_its_trials() -> None:
    with SimulatedMeasurer(two_way_traffic(2), HardLimit(), overhead_s=0.5) as measurer:
        trial = Trial(intended_load_pps=1e6, duration_s=3.0)
        first, second = (measurer.measure(trial, index, "search", lambda *_: None) for index in (0, 1))
        assert measurer.now_s == 7.0
    assert first.started_at < second.started_at


def test_a_comparison_has_every_search_at_every_sut_for_every_seed() -> None:
    contenders = [BenchmarkEntry("short", plan_for(max_duration_s=30.0)), BenchmarkEntry("long", plan_for())]
    suts = {name: SUTS[name] for name in ("hard-limit", "noisy-capacity")}
    comparison = run_benchmark(contenders, suts, range(3), process_count=1)
    assert len(comparison.attempts) == 12
    assert [(score.sut, score.search) for score in comparison.scores] == [
        *(("hard-limit", "short"), ("hard-limit", "long")),
        *(("noisy-capacity", "short"), ("noisy-capacity", "long")),
    ]
    score = comparison.scores[1]
    assert (score.attempt_count, score.out_of_time_ratio) == (3, 0.0)
    assert [goal.label for goal in score.goals] == ["NDR", "PDR 0.005"]
    assert all(abs(goal.error_ratio) < 0.005 and goal.off_ratio == 0 for goal in score.goals)
    assert comparison.scores[0].out_of_time_ratio == 1.0


def test_a_comparison_does_not_depend_on_how_many_processes_make_it() -> None:
    contenders, suts = [BenchmarkEntry("one", plan_for())], {"noisy-capacity": SUTS["noisy-capacity"]}
    assert run_benchmark(contenders, suts, range(4), 1) == run_benchmark(contenders, suts, range(4), 2)


def test_a_search_that_cannot_be_made_is_refused_before_any_is_tried() -> None:
    plan = search_plan(algorithm="mlrsearch-03", loss_ratios=(0.0, 0.001, 0.01))
    with pytest.raises(ConfigError):
        run_benchmark(
            [BenchmarkEntry("three goals", plan)], {"hard-limit": SUTS["hard-limit"]}, range(2), process_count=1
        )


@pytest.mark.parametrize(
    ("found_pps", "truth_pps", "ratio"), [(9.0, 10.0, 0.9), (0.0, 10.0, 0.0), (0.0, 0.0, 1.0), (5.0, 0.0, 2.0)]
)
def test_nothing_found_is_right_where_nothing_is_true(found_pps: float, truth_pps: float, ratio: float) -> None:
    assert GoalError(label="NDR", found_pps=found_pps, truth_pps=truth_pps).result_ratio == ratio
