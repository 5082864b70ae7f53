"""Slow CPUs of the SUT: receive rates of windows, the cause of disturbed time, and the warning of a run."""

import pytest
from tests.traffic import two_way_traffic

from nodrop.model.result import RunResult
from nodrop.model.trial import CpuSpeed, Trial, TrialResult, UndisturbedCounts
from nodrop.report.cpu_speed import describe_slow_cpus
from nodrop.run.retries import mark_disturbed
from nodrop.search.base import list_forwarding_rates
from nodrop.simulation import SUTS, SimulatedMeasurer


def measure_on_slow_cpu(mean_ratio: float, slow_time_s: float) -> TrialResult:
    """Return a trial of 2 s, half of which is disturbed."""
    with SimulatedMeasurer(two_way_traffic(2), SUTS["hard-limit"](1)) as measurer:
        result = measurer.measure(Trial(intended_load_pps=1e6, duration_s=2.0), 0, "search", lambda *_: None)
    speed = CpuSpeed(cpu=1, mean_ratio=mean_ratio, usual_ratio=0.99, slow_time_s=slow_time_s)
    rest = UndisturbedCounts(duration_s=1.0, offered_count=1_000_000, lost_count=0, unsent_count=0)
    return result.model_copy(update={"cpu_speeds": (speed,), "undisturbed_counts": rest})


def test_forwarding_rates_leave_out_disturbed_windows_and_both_ends() -> None:
    end_s, received = [0.1, 0.2, 0.3, 0.4, 0.6], [50, 100, 90, 110, 120]
    assert list_forwarding_rates(end_s, received) == pytest.approx((1000.0, 900.0, 1100.0))
    assert list_forwarding_rates(end_s, received, [0.0, 0.0, 0.05, 0.0, 0.0]) == pytest.approx((1000.0, 1100.0))
    assert list_forwarding_rates(end_s, []) == ()
    assert list_forwarding_rates(end_s[:2], received[:2]) == ()


def test_a_slow_cpu_is_named_as_the_cause_of_disturbed_time() -> None:
    (doubt,) = mark_disturbed(measure_on_slow_cpu(0.8, 0.75)).validity.doubts
    assert doubt.params["culprits"] == "CPU 1 was slow for 0.75 s"
    (doubt,) = mark_disturbed(measure_on_slow_cpu(1.0, 0.004)).validity.doubts
    assert "culprits" not in doubt.params


def test_a_run_on_a_slow_cpu_says_so() -> None:
    trials = (measure_on_slow_cpu(0.9, 0.5), measure_on_slow_cpu(0.7, 1.0))
    (line,) = describe_slow_cpus(RunResult.model_construct(trials=trials))
    assert "CPU 1 ran at 80 % of its full speed" in line
    assert not list(describe_slow_cpus(RunResult.model_construct(trials=(measure_on_slow_cpu(0.99, 0.0),))))
