"""Whether bounds of nodrop's own search are wrong as often as it states; `scripts/bench coverage` counts more."""

from statistics import fmean

import pytest
from benchmarks.search.coverage import (
    SUTS,
    StatedBound,
    format_limit_coverage,
    group_by_kind,
    group_by_probability,
    measure_bounds,
)

STEADY = ("hard-limit", "tester-overload", "loss-inversion")
OTHERS = ("deep-buffer", "smooth-knee", "degrading", "noisy-capacity", "noisy-windows")


@pytest.fixture(scope="module")
def bounds() -> list[StatedBound]:
    return [each for kind in (*STEADY, *OTHERS) for each in measure_bounds(kind, range(3))]


def stated_bound(probability: float | None, is_wrong: bool, sut: str = "hard-limit") -> StatedBound:
    common = {"goals": "30 s", "sut": sut, "seed": 0, "label": "NDR", "side": "lower", "is_off": False}
    return StatedBound(error_probability=probability, is_wrong=is_wrong, **common)


def stated_probabilities(bounds: list[StatedBound]) -> list[tuple[float, bool]]:
    return [(each.error_probability, each.is_wrong) for each in bounds if each.error_probability is not None]


def test_bounds_are_wrong_about_as_often_as_stated(bounds: list[StatedBound]) -> None:
    probabilities = stated_probabilities(bounds)
    assert len(probabilities) > 0.9 * len(bounds)
    assert fmean(wrong for _, wrong in probabilities) == pytest.approx(
        fmean(chance for chance, _ in probabilities), abs=0.05
    )


def test_chances_tell_bounds_that_are_wrong_from_others(bounds: list[StatedBound]) -> None:
    # Brier score: 0.25 for always stating 50 %, 0 for certainty.
    assert fmean((chance - wrong) ** 2 for chance, wrong in stated_probabilities(bounds)) < 0.075


def test_bounds_said_to_be_sure_are(bounds: list[StatedBound]) -> None:
    sure = [wrong for chance, wrong in stated_probabilities(bounds) if chance < 0.05]
    assert len(sure) > len(bounds) / 2
    assert sum(sure) <= 0.04 * len(sure)


def test_bounds_said_to_be_doubtful_are_often_wrong(bounds: list[StatedBound]) -> None:
    doubtful = [wrong for chance, wrong in stated_probabilities(bounds) if chance > 0.2]
    assert sum(doubtful) > 0.35 * len(doubtful)


def test_bounds_of_a_sut_that_is_always_the_same_are_right_and_said_to_be(bounds: list[StatedBound]) -> None:
    for each in bounds:
        if each.sut in STEADY:
            assert not each.is_wrong
            assert each.error_probability is not None and each.error_probability < 0.1


def test_a_drifting_sut_is_left_out_as_its_truth_moves() -> None:
    assert "drift" not in SUTS and "warm-up" in SUTS


def test_bounds_are_counted_by_what_is_stated_and_those_without_apart() -> None:
    rows = group_by_probability(
        [stated_bound(0.03, False), stated_bound(0.04, True), stated_bound(0.3, True), stated_bound(None, True)]
    )
    assert [(row.name, row.count, row.wrong_ratio) for row in rows] == [
        ("2% to 5%", 2, 0.5),
        ("20% to 40%", 1, 1.0),
        ("none stated", 1, 1.0),
    ]


def test_kinds_that_are_wrong_more_often_than_stated_stand_out() -> None:
    often, seldom = group_by_kind([stated_bound(0.02, True, "drawn"), stated_bound(0.02, False, "steady")])
    assert often.excess > 3.0
    assert seldom.excess < 0.0


def test_the_true_loss_ratio_of_a_clean_sut_is_within_its_limit() -> None:
    report = list(measure_bounds("hard-limit", range(1), long_run=True))
    assert next(format_limit_coverage(report)).startswith("loss ratio within its limit: 100.0% of 4")
