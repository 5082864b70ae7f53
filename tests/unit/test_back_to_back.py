"""Orders of bursts and their results; the lengths of an ideal queue are computed by hand."""

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from tests.searching import search_plan

from nodrop.formatting.messages import format_message
from nodrop.model.search_plan import SearchPlan
from nodrop.search.back_to_back import BackToBackSearch, Burst
from nodrop.search.base import Outcome

RATE_PPS, SERVED_PPS, BUFFER_COUNT = 20_000.0, 2_000.0, 256
LONGEST = 285
"""min{i: i - floor(i R / W) >= B + 1}."""
ORDER = [
    *(40000, 20000, 10000, 5000, 2500, 1250, 625, 312, 156, 234, 273, 292, 282, 287, 284, 285, 286),
    285,  # passes once more
]


def make_plan(**changed: object) -> SearchPlan:
    update = {
        "algorithm": "back-to-back",
        "max_load_pps": RATE_PPS,
        "verify_trial_count": 1,
        "burst_repeat_count": 1,
        **changed,
    }
    return search_plan().model_copy(update=update)


def count_queue_losses(length: int) -> int:
    return 0 if length <= LONGEST else length - LONGEST


def drive(
    search: BackToBackSearch, count_lost: Callable[[int], int], rate_pps: float = RATE_PPS
) -> Iterator[tuple[int, int]]:
    """Yield the length of each burst and the frames it lost."""
    for index in count():
        trial = search.ask()
        if trial is None:
            return
        assert trial.burst
        length = round(trial.duration_s * rate_pps)
        lost_count = count_lost(length)
        search.tell(Outcome(index=index, loss_ratio=lost_count / length, lost_count=lost_count))
        yield length, lost_count


def list_lengths(plan: SearchPlan, count_lost: Callable[[int], int] = count_queue_losses) -> list[int]:
    return [length for length, _ in drive(BackToBackSearch(plan), count_lost)]


def test_bursts_halve_from_the_longest_allowed_and_the_result_passes_once_more() -> None:
    assert list_lengths(make_plan()) == ORDER
    assert list_lengths(make_plan(burst_max_s=0.25)) == ORDER[3:]


def test_a_loss_is_verified_before_it_counts() -> None:
    plan = make_plan(verify_trial_count=2)
    assert len(list_lengths(plan)) == 29
    loses_once = iter([1])

    def count_lost(length: int) -> int:
        return next(loses_once, 0) if length == 156 else count_queue_losses(length)

    search = BackToBackSearch(plan)
    assert len(list(drive(search, count_lost))) == 30
    assert search.list_bursts() == (Burst(LONGEST, is_limit=False),)


def test_a_large_loss_needs_no_verification() -> None:
    lengths = list_lengths(make_plan(verify_trial_count=2, verify_lost_count=100))
    assert lengths[:4] == [40000, 20000, 10000, 5000]
    assert lengths.count(312) == 2


def test_the_longest_burst_allowed_ends_the_search_when_it_passes() -> None:
    search = BackToBackSearch(make_plan(burst_repeat_count=5))
    assert list(drive(search, lambda _: 0)) == [(40000, 0)]
    assert search.list_bursts() == (Burst(40000, is_limit=True),)
    [finding] = search.findings()
    assert format_message(finding).startswith(
        "The longest burst allowed passes at 20 kpps: 40,000 frames each way, 2 s."
    )


def test_repeats_are_independent_searches() -> None:
    search = BackToBackSearch(make_plan(burst_repeat_count=3))
    lengths = iter([284, 285, 287])
    limits: list[int] = []

    def count_lost(length: int) -> int:
        if length == 40000:
            limits.append(next(lengths))
        return max(0, length - limits[-1])

    list(drive(search, count_lost))
    assert [burst.frame_count for burst in search.list_bursts()] == [284, 285, 287]
    [finding] = search.findings()
    assert format_message(finding) == (
        "The longest burst without loss at 20 kpps has 285.3 frames each way: 284 to 287 in 3 repeats, "
        "standard deviation 1.5."
    )


def test_a_length_that_does_not_pass_again_is_an_upper_bound() -> None:
    passes = {285: iter([0, 1])}

    def count_lost(length: int) -> int:
        return next(passes[length], 1) if length in passes else count_queue_losses(length)

    search = BackToBackSearch(make_plan())
    list(drive(search, count_lost))
    assert search.list_bursts() == (Burst(284, is_limit=False),)


def test_no_frame_passes_a_dead_path() -> None:
    search = BackToBackSearch(make_plan())
    lengths = [length for length, _ in drive(search, lambda length: length)]
    assert lengths[-1] == 1
    assert search.list_bursts() == (Burst(0, is_limit=False),)


def test_the_rate_and_the_length_are_those_of_each_direction() -> None:
    search = BackToBackSearch(make_plan(max_load_pps=2 * RATE_PPS, direction_count=2))
    trial = search.ask()
    assert trial
    assert trial.intended_load_pps == 2 * RATE_PPS
    assert trial.duration_s == pytest.approx(2.0)
    assert [length for length, _ in drive(search, count_queue_losses)] == ORDER


def test_bursts_rest_for_two_seconds_or_as_long_as_the_burst_before() -> None:
    search = BackToBackSearch(make_plan(burst_max_s=5.0))
    rests_s = []
    for index in range(3):
        trial = search.ask()
        assert trial
        rests_s.append(trial.rest_s)
        search.tell(Outcome(index=index, loss_ratio=0.5, lost_count=1))
    assert rests_s == [2.0, 5.0, 2.5]


@pytest.mark.parametrize("buffer_count", [0, 1, 7, 64, 300, 4096])
@pytest.mark.parametrize("ratio", [0.02, 0.1, 0.5, 0.93])
def test_the_result_is_within_a_step_of_an_ideal_queue(buffer_count: int, ratio: float) -> None:
    longest = next(i for i in count(1) if i - int(i * ratio + 1e-9) >= buffer_count + 1)
    search = BackToBackSearch(make_plan(burst_max_s=30.0))
    list(drive(search, lambda length: max(0, length - longest)))
    [burst] = search.list_bursts()
    assert longest - max(1, longest // 1000) <= burst.frame_count <= longest
