"""The outcome of a trial that a search receives."""

from nodrop.model.trial import StreamCounts, Trial, TrialResult, Validity, ValidityStatus, Windows
from nodrop.search.base import Outcome, Sample


def result(windows: Windows) -> TrialResult:
    """Return a trial of 0.1 s with 100 frames per second and stream, of which the streams lose 3 and 1."""
    streams = tuple(
        StreamCounts(
            stream_id=stream,
            tx_port=stream,
            rx_port=1 - stream,
            intended_count=10,
            offered_count=10,
            received_count=10 - lost_count,
            lost_count=lost_count,
            duplicate_count=0,
            out_of_order_count=0,
        )
        for stream, lost_count in enumerate((3, 1))
    )
    return TrialResult(
        trial=Trial(intended_load_pps=200.0, duration_s=0.1),
        index=0,
        phase="search",
        started_at="2026-01-01T00:00:00+00:00",
        duration_s=0.1,
        stopped_early=False,
        streams=streams,
        tester_drop_count=0,
        tester_cpu_ratio=0.1,
        windows=windows,
        validity=Validity(verdict=ValidityStatus.VALID),
    )


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
