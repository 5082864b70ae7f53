"""The outcome of a trial that a search receives."""

import pytest
from tests.factories import stream_counts, trial_result

from nodrop.model.trial import DisturbedTime, TrialResult, UndisturbedCounts, Windows
from nodrop.search.base import Outcome, Sample


def result(windows: Windows) -> TrialResult:
    """Return a trial of 0.1 s with 100 frames per second and stream, of which the streams lose 3 and 1."""
    streams = tuple(stream_counts(10, stream_id=stream_id, lost=lost) for stream_id, lost in enumerate((3, 1)))
    return trial_result(200.0, 0.1, streams=streams, windows=windows)


def test_samples_run_up_to_the_end_of_sending_and_hold_all_losses() -> None:
    windows = Windows(
        end_s=(0.05, 0.31),
        offered_count=((6, 4), (5, 5)),
        received_count=((5, 2), (5, 4)),
        lost_count=((1, 2), (0, 1)),
    )
    outcome = Outcome.of(result(windows), started_s=7.0)
    assert outcome.samples == (Sample(0.05, 11, 1), Sample(0.1, 20, 4))
    assert (outcome.loss_ratio, outcome.lost_count, outcome.started_s) == (0.2, 4, 7.0)


def test_windows_without_losses_known_are_no_samples() -> None:
    windows = Windows(end_s=(0.31,), offered_count=((10,), (10,)), received_count=((7,), (9,)))
    assert Outcome.of(result(windows), started_s=0.0).samples == ()


def test_disturbed_time_is_no_part_of_an_outcome() -> None:
    windows = Windows(
        end_s=(0.05, 0.1, 0.31),
        offered_count=((6, 2, 2), (4, 3, 3)),
        received_count=((5, 0, 2), (2, 3, 4)),
        lost_count=((1, 2, 0), (0, 1, 0)),
        disturbed_time=DisturbedTime(
            time_s=(0.0, 0.02, 0.0), offered_count=((0, 2, 0), (0, 1, 0)), lost_count=((0, 2, 0), (0, 0, 0))
        ),
    )
    rest = UndisturbedCounts(duration_s=0.13, offered_count=17, lost_count=2, unsent_count=0)
    disturbed = result(windows).model_copy(update={"duration_s": 0.15, "undisturbed_counts": rest})
    outcome = Outcome.of(disturbed, started_s=0.0)
    assert outcome.samples == (Sample(0.05, 10, 1), Sample(0.08, 12, 2), Sample(0.13, 17, 2))
    assert (outcome.elapsed_s, outcome.offered_count, outcome.lost_count) == (0.13, 17, 2)
    assert outcome.loss_ratio == 2 / 17
    assert disturbed.loss_ratio == 4 / 20
    assert round(disturbed.disturbed_ratio, 6) == round(0.02 / 0.15, 6)


def test_forwarding_rates_are_those_of_undisturbed_time() -> None:
    time_s, received = (0.0, 0.02, 0.04, 0.0, 0.0), ((0, 4, 2, 0, 0),)
    windows = Windows(
        end_s=(0.05, 0.1, 0.15, 0.2, 0.25),
        offered_count=((50, 50, 50, 50, 50),),
        received_count=((10, 34, 12, 50, 10),),
        disturbed_time=DisturbedTime(
            time_s=time_s, offered_count=received, received_count=received, lost_count=((0, 0, 0, 0, 0),)
        ),
    )
    # The third window was disturbed for most of its time.
    assert Outcome.of(result(windows), started_s=0.0).forwarding_pps == pytest.approx((1000.0, 1000.0))
    assert windows.disturbed_time
    of_earlier_version = windows.disturbed_time.model_copy(update={"received_count": ()})
    windows = windows.model_copy(update={"disturbed_time": of_earlier_version})
    assert Outcome.of(result(windows), started_s=0.0).forwarding_pps == pytest.approx((1000.0,))


def test_unsent_frames_within_the_tolerance_do_not_count_in_undisturbed_time_either() -> None:
    rest = UndisturbedCounts(duration_s=0.1, offered_count=19, lost_count=0, unsent_count=1)
    trial = result(Windows(end_s=(), offered_count=(), received_count=())).model_copy(
        update={"undisturbed_counts": rest}
    )
    assert trial.judged_counts.unsent_count == 0
    short = trial.model_copy(update={"undisturbed_counts": rest.model_copy(update={"unsent_count": 5})})
    assert (short.judged_counts.unsent_count, short.judged_counts.loss_ratio) == (5, 5 / 24)
