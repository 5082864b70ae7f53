"""Requirements of `scripts/bench noise` on the runs that it measured."""

from dataclasses import replace

import pytest
from benchmarks.noise import Outcome, find_shortfalls

MET = Outcome(
    user="root",
    sut="queue",
    noise="cpu",
    exit_code=0,
    wall_s=60.0,
    lower_pps=498_000.0,
    upper_pps=502_000.0,
    limit="sut",
    complete=True,
    truth_pps=500_000.0,
)


def test_runs_close_to_the_truth_meet_all_requirements() -> None:
    assert not list(find_shortfalls([MET] * 20))
    assert not list(find_shortfalls([*[MET] * 19, replace(MET, exit_code=5)]))


@pytest.mark.parametrize(
    ("outcomes", "shortfalls"),
    [
        ([replace(MET, lower_pps=496_000.0)] * 3, ["root, queue: median error 0.80%, at most 0.5%"]),
        ([*[MET] * 3, replace(MET, lower_pps=492_000.0)], ["root, queue: largest error 1.60%, at most 1.0%"]),
        ([*[MET] * 10, replace(MET, exit_code=5)], ["root: no answer in 1 of 11 runs, at most 5%"]),
        (
            [replace(MET, user="nobody", exit_code=5)] * 2,
            ["nobody, queue: no answer in 2 of 2 runs, no error known"],
        ),
        (
            [*[replace(MET, noise="none", wall_s=30.0)] * 3, *[MET] * 3],
            ["root, queue, cpu: 2.0 x the quiet time, at most 1.5 x"],
        ),
        (
            [replace(MET, user="nobody", sut="cpu", lower_pps=465_000.0, upper_pps=470_000.0)],
            [
                "limited by the SUT beside an error above 5 %: 1 of 1 runs, none allowed",
                "complete without the truth in the interval: 1 of 1 runs, none allowed",
            ],
        ),
    ],
)
def test_each_requirement_that_is_not_met_is_named_with_its_figures(
    outcomes: list[Outcome], shortfalls: list[str]
) -> None:
    assert list(find_shortfalls(outcomes)) == shortfalls
