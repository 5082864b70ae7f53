"""The simulated measurer counts as a real one would."""

import pytest
from tests.suts import Jitter, LossFloor, SlowTester, Step
from tests.traffic import two_way_traffic

from nodrop.errors import GeneratorError
from nodrop.generator.base import Measurer
from nodrop.model.trial import StopRule, Trial, TrialResult, ValidityStatus
from nodrop.simulation import SimulatedMeasurer, SutCounts


def measure(measurer: Measurer, trial: Trial) -> TrialResult:
    return measurer.measure(trial, index=7, phase="search", on_window=lambda *_: None)


def test_a_trial_is_answered_with_the_models_counts_shared_among_the_streams() -> None:
    with SimulatedMeasurer(two_way_traffic(3), Step(1e6)) as measurer:
        result = measure(measurer, Trial(intended_load_pps=2e6, duration_s=0.5))
    assert (result.intended_count, result.offered_count, result.received_count) == (1_000_000, 1_000_000, 500_000)
    assert result.loss_ratio == 0.5
    assert result.forwarding_rate_pps == 1e6
    assert (result.index, result.duration_s, result.stopped_early) == (7, 0.5, False)
    assert [s.offered_count for s in result.streams] == [333_334, 333_333, 333_333]
    assert result.validity.verdict is ValidityStatus.VALID


@pytest.mark.parametrize("stream_count", [1, 2, 5, 7])
def test_every_stream_and_window_adds_up_and_none_receives_more_than_was_offered(stream_count: int) -> None:
    with SimulatedMeasurer(two_way_traffic(stream_count), Jitter(1000.0, 0.5, seed=1)) as measurer:
        for load_pps in (13.0, 777.0, 1001.0, 2222.0):
            result = measure(measurer, Trial(intended_load_pps=load_pps, duration_s=1.0))
            for position, counts in enumerate(result.streams):
                assert counts.lost_count == counts.offered_count - counts.received_count >= 0
                offered, received = (
                    column[position] for column in (result.windows.offered_count, result.windows.received_count)
                )
                assert (sum(offered), sum(received)) == (counts.offered_count, counts.received_count)
                assert all(got <= sent for sent, got in zip(offered, received, strict=True))


def test_the_stop_rule_ends_a_trial_with_the_window_in_which_it_is_broken() -> None:
    with SimulatedMeasurer(two_way_traffic(2), Step(1e6)) as measurer:
        result = measure(measurer, Trial(intended_load_pps=2e6, duration_s=1.0, stop=StopRule(lost_count=50_000)))
    assert (result.stopped_early, result.stopped_by) == (True, "lost_count")
    assert result.lost_count == 100_000
    assert result.duration_s == pytest.approx(0.1)
    assert result.loss_ratio == 0.5
    assert result.windows.end_s[-1] == result.duration_s


def test_a_trial_within_its_stop_rule_runs_to_the_end() -> None:
    with SimulatedMeasurer(two_way_traffic(2), LossFloor(1e6, 0.001)) as measurer:
        result = measure(measurer, Trial(intended_load_pps=1e5, duration_s=1.0, stop=StopRule(lost_count=100)))
    assert (result.lost_count, result.stopped_early, result.duration_s) == (100, False, 1.0)


def test_frames_that_were_not_sent_count_as_lost_and_cast_doubt() -> None:
    with SimulatedMeasurer(two_way_traffic(2), SlowTester(1e6, tester_pps=4e5)) as measurer:
        result = measure(measurer, Trial(intended_load_pps=5e5, duration_s=1.0))
    assert (result.lost_count, result.unsent_count, result.loss_ratio) == (0, 100_000, 0.2)
    assert result.validity.verdict is ValidityStatus.SUSPECT
    assert [doubt.code for doubt in result.validity.doubts] == ["offered_short"]


def test_windows_are_told_as_counts_since_the_start() -> None:
    report: list[tuple[float, ...]] = []
    with SimulatedMeasurer(two_way_traffic(2), Step(1e6)) as measurer:
        trial = Trial(intended_load_pps=2e6, duration_s=1.0)
        measurer.measure(trial, 0, "search", lambda *window: report.append(window))
    assert report == sorted(report)
    assert report[-1] == (1.0, 2_000_000, 1_000_000, 1_000_000)


def test_the_path_check_asks_the_model_for_every_stream() -> None:
    with SimulatedMeasurer(two_way_traffic(2), Step(1e6)) as measurer:
        assert [(c.sent_count, c.received_count) for c in measurer.check_path()] == [(10, 10), (10, 10)]


def test_a_model_that_forwards_nothing_fails_the_path_check() -> None:
    def dead(_load_pps: float, _duration_s: float) -> SutCounts:
        return SutCounts(20, 20, 0)

    with SimulatedMeasurer(two_way_traffic(2), dead) as measurer, pytest.raises(GeneratorError, match="none received"):
        measurer.check_path()
