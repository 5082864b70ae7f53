"""Change points of a series, compared with jumpavg, the package that FD.io CSIT uses."""

import itertools
import random
import time

import jumpavg
import pytest

from nodrop.analysis.mdl import SeriesCoder

Moments = list[list[float]]
ROUNDING_BITS = 1e-3


def series(rng: random.Random) -> Moments:
    """Draw a series of one of many shapes: steps, a random walk, outliers, noise; some timestamps repeat."""
    shape, level = rng.choice(("steps", "walk", "outliers", "anything", "constant")), 1e6
    moments: Moments = []
    for _ in range(rng.randrange(1, 40)):
        if shape == "steps" and rng.random() < 0.1:
            level *= rng.choice((0.95, 0.98, 1.03, 1.2))
        if shape == "walk":
            level *= rng.gauss(1, 0.01)
        value = level * rng.gauss(1, 0.005)
        if shape == "outliers" and rng.random() < 0.1:
            value *= 0.7
        if shape == "anything":
            value = rng.random() * level
        if shape == "constant":
            value = level
        again = rng.randrange(2, 5) if rng.random() < 0.2 else 1
        moments.append([value * (rng.gauss(1, 0.003) if again > 1 else 1.0) for _ in range(again)])
    return moments


def jumpavg_segments(moments: Moments) -> tuple[tuple[int, ...], float]:
    """Return jumpavg's change points and its description length in bits."""
    groups = jumpavg.classify([moment if len(moment) > 1 else moment[0] for moment in moments])
    starts = itertools.accumulate((len(group) for group in groups), initial=0)
    return tuple(starts)[:-1], groups.bits


def test_a_series_is_told_in_as_many_bits_as_by_jumpavg_or_fewer() -> None:
    rng = random.Random(6)
    fewer = 0
    for _ in range(600):
        moments = series(rng)
        coding, (starts, bits) = SeriesCoder(moments), jumpavg_segments(moments)
        assert coding.count_bits(starts) == pytest.approx(bits, abs=ROUNDING_BITS)
        own = coding.count_bits(coding.find_shortest())
        assert own <= bits + ROUNDING_BITS
        fewer += own < bits - ROUNDING_BITS
    assert fewer  # jumpavg extends one best partition of the past, and sometimes another one is better in the end.


def test_no_other_way_to_cut_a_short_series_is_shorter() -> None:
    rng = random.Random(5)
    for _ in range(40):
        moments = series(rng)[:8]
        coding = SeriesCoder(moments)
        cuts = range(1, len(moments))
        ways = [(0, *chosen) for count in range(len(moments)) for chosen in itertools.combinations(cuts, count)]
        assert coding.count_bits(coding.find_shortest()) == pytest.approx(
            min(map(coding.count_bits, ways)), abs=ROUNDING_BITS
        )


@pytest.mark.parametrize("moments", [[[0.0]] * 5, [[7.0]] * 30, [[5.0]], [[1.0, 1.1, 1.2]], [[-3.0]] * 4])
def test_what_never_changes_is_one_group(moments: Moments) -> None:
    assert SeriesCoder(moments).find_shortest() == (0,)


def test_repeats_of_one_moment_are_never_taken_apart() -> None:
    assert SeriesCoder([[100.0, 100.0, 50.0, 50.0]]).find_shortest() == (0,)
    assert SeriesCoder([[100.0, 101.0]] * 8 + [[50.0, 51.0]] * 8).find_shortest() == (0, 8)


def test_the_unit_of_the_figures_does_not_matter() -> None:
    rng = random.Random(3)
    for _ in range(50):
        moments = series(rng)
        scaled = [[value / 1e9 for value in moment] for moment in moments]
        assert SeriesCoder(scaled).find_shortest() == SeriesCoder(moments).find_shortest()


def test_a_thousand_points_take_a_moment() -> None:
    rng = random.Random(1)
    level, moments = 1e6, []
    for _ in range(1000):
        level *= rng.gauss(1, 0.003)
        moments.append([level * rng.gauss(1, 0.005)])
    began_s = time.process_time()
    assert len(SeriesCoder(moments).find_shortest()) > 1
    assert time.process_time() - began_s < 30  # a fraction of a second; guards against another order of growth
