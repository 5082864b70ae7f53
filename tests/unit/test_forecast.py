"""Forecasts of run durations; other tests measure and simulate the real durations."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.model.plan import Plan
from nodrop.plan import build_each
from nodrop.simulation import duration_estimate, registry
from nodrop.simulation.duration_estimate import DEAD_S, DurationEstimate, estimate_duration
from nodrop.simulation.search_run import simulate_search


def plans(**requested: Any) -> tuple[Plan, ...]:
    return build_each(build_config([], requested), cpus=[0, 1])


def estimate(requested: Mapping[str, Any]) -> DurationEstimate:
    return estimate_duration(plans(**requested))


def part(result: DurationEstimate, what: str) -> Any:
    return next(each for each in result.parts if each.what == what)


@pytest.mark.parametrize("profile", ["quick", "standard", "csit"])
@pytest.mark.parametrize("kind", ["hard-limit", "smooth-knee", "noisy-capacity", "two-modes-trial"])
def test_a_search_against_a_sut_it_did_not_think_of_takes_a_time_within_its_range(
    profile: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duration_estimate, "CPU_S", 60.0)  # all its models, however slow this machine is
    (plan,) = plans(profile=profile)
    result = part(estimate_duration([plan]), "search")
    took_s = simulate_search(plan.search, registry.create(kind, seed=7), DEAD_S[1]).wall_s
    assert result.low_s / 1.5 <= took_s <= result.high_s * 1.5


def test_a_fixed_rate_takes_its_duration_and_a_little() -> None:
    result = estimate({"rate": "10kpps", "duration": "30s"})
    assert 30 < part(result, "trial at 10kpps").low_s < part(result, "trial at 10kpps").high_s < 31
    assert result.high_s < 40


def test_several_frame_sizes_take_the_sum_of_each() -> None:
    one, three = estimate({"rate": "10kpps"}), estimate({"rate": "10kpps", "frame_sizes": [64, 512, 1518]})
    assert three.expected_s == pytest.approx(3 * one.expected_s)


def test_a_search_takes_no_longer_than_it_may() -> None:
    assert part(estimate({"search.budget": "8s"}), "search").high_s <= 8


def test_latency_trials_are_counted() -> None:
    with_latency, without = estimate({}), estimate({"latency.enabled": False})
    assert 3 < with_latency.low_s - without.low_s < 6  # one trial of 3 s: the search has the other two
    assert with_latency.high_s - without.high_s > 9


def test_no_traffic_has_no_trials() -> None:
    assert [each.what for each in estimate({"no_traffic": True}).parts] == ["lab and engine", "path check"]


def test_parts_add_up() -> None:
    result = estimate({})
    assert result.expected_s == pytest.approx(sum(each.expected_s for each in result.parts))
    assert result.low_s <= result.expected_s <= result.high_s


def test_a_search_that_cannot_be_run_has_a_forecast_all_the_same() -> None:
    result = part(
        estimate({"search.algorithm": "plrsearch"}), "search"
    )  # Only one goal may be above 0; this run has two.
    assert result.low_s == 0 < result.expected_s < result.high_s


def test_a_forecast_is_bounded_work_however_many_frame_sizes_there_are() -> None:
    requested = plans(profile="standard", frame_sizes=[64, 128, 256, 512, 1024, 1280, 1518])
    begun_s = time.process_time()
    estimate_duration(requested)
    assert time.process_time() - begun_s < 3  # 0.25 s and the last search of each size; much more would be a fault.


def test_text_has_the_range_unless_it_is_known_exactly() -> None:
    assert estimate({}).text.startswith("about ")
    assert " to " in estimate({}).text
