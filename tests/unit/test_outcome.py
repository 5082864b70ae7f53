"""The outcome of a trial that a search receives."""

from tests.factories import stream_counts, trial_result

from nodrop.model.trial import TrialResult, Windows
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
