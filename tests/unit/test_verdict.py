"""Comparisons of two sides: possible verdicts, impossible ones, and symmetry."""

import math
from random import Random

import pytest
from tests.verdicts import latency, loss, rate, run, sides

from nodrop.analysis import ComparisonOutcome, Margins, compare
from nodrop.analysis.types import Comparison
from nodrop.errors import ConfigError
from nodrop.report.document.blocks import Table
from nodrop.report.document.comparison import build_comparison_section

GOOD = (1.000e6, 1.004e6, 0.997e6, 1.002e6, 0.998e6)
SLOW = tuple(each * 0.95 for each in (0.999e6, 1.003e6, 0.998e6, 1.001e6, 1.000e6))


def compare_rates(a: tuple[float, ...], b: tuple[float, ...], **rates: object) -> Comparison:
    return compare(*sides([rate(each) for each in a], [rate(each, **rates) for each in b]))  # type: ignore[arg-type]


def test_a_side_that_is_five_percent_slower_is_worse_by_that_much() -> None:
    message = compare_rates(GOOD, SLOW)
    (ndr,) = message.metrics
    assert message.verdict is ndr.verdict is ComparisonOutcome.WORSE
    assert ndr.effect == pytest.approx(-0.05, abs=0.001)
    assert ndr.low < ndr.effect < ndr.high < -0.04
    assert message.sentence.startswith("B is worse than A: NDR is 5.0 % lower (95 %: ")
    assert message.sentence.endswith("5 repeats each")


def test_whichever_side_is_called_a_says_the_same_the_other_way_round() -> None:
    rng = Random(3)
    for _ in range(40):
        count, shift = rng.choice((1, 2, 3, 5, 8)), rng.choice((0.0, 0.005, 0.03))
        at_a = [rate(1e6 * math.exp(rng.gauss(0.0, 0.005))) for _ in range(count)]
        at_b = [rate(1e6 * math.exp(rng.gauss(-shift, 0.005))) for _ in range(count)]
        a, b = sides(at_a, at_b, rng.choice(("in turn", "one after the other")))
        forth, back = compare(a, b).metrics[0], compare(b, a).metrics[0]
        mirrored = {
            ComparisonOutcome.WORSE: ComparisonOutcome.BETTER,
            ComparisonOutcome.BETTER: ComparisonOutcome.WORSE,
        }
        assert back.verdict is mirrored.get(forth.verdict, forth.verdict)
        assert back.p == pytest.approx(forth.p)
        assert math.log1p(back.effect) == pytest.approx(-math.log1p(forth.effect))
        assert math.log1p(back.low) == pytest.approx(-math.log1p(forth.high))
        assert back.repeats_needed == forth.repeats_needed


def test_neither_the_order_of_runs_nor_the_size_of_figures_matters() -> None:
    a, b = sides([rate(each) for each in GOOD], [rate(each) for each in SLOW])
    first = compare(a, b)
    assert compare(a[::-1], b[2:] + b[:2]) == first
    seven = compare(*sides([rate(7 * each) for each in GOOD], [rate(7 * each) for each in SLOW])).metrics[0]
    assert (seven.effect, seven.low, seven.p) == pytest.approx(
        (first.metrics[0].effect, first.metrics[0].low, first.metrics[0].p)
    )


def test_a_lower_latency_is_better() -> None:
    a, b = sides([latency(each / 20) for each in GOOD], [latency(each / 20) for each in SLOW])
    assert compare(a, b, margins=Margins(ns=0.01)).verdict is ComparisonOutcome.BETTER


def test_sides_that_agree_within_the_margin_are_equivalent_and_within_a_smaller_one_they_are_not() -> None:
    a, b = sides([rate(each) for each in GOOD], [rate(each) for each in GOOD[::-1]], "one after the other")
    assert compare(a, b).verdict is ComparisonOutcome.EQUIVALENT
    narrow = compare(a, b, margins=Margins(pps=0.002))
    assert narrow.verdict is ComparisonOutcome.UNDECIDED
    assert narrow.metrics[0].repeats_needed


def test_a_difference_that_is_proven_but_does_not_matter_is_equivalent() -> None:
    a, b = sides([rate(each) for each in GOOD], [rate(each * 0.98) for each in GOOD])
    assert compare(a, b, margins=Margins(pps=0.05)).verdict is ComparisonOutcome.EQUIVALENT


def test_the_interval_of_what_is_equivalent_is_inside_the_margin() -> None:
    rng = Random(8)
    seen = 0
    for _ in range(60):
        at_a, at_b = ([rate(1e6 * math.exp(rng.gauss(0.0, 0.004))) for _ in range(6)] for _ in range(2))
        (ndr,) = compare(*sides(at_a, at_b)).metrics
        inside = ndr.low >= -0.01 and ndr.high <= 1 / 0.99 - 1
        assert inside == (ndr.verdict is ComparisonOutcome.EQUIVALENT)
        seen += inside
    assert 10 < seen < 60


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_runs_each_decide_nothing_however_far_apart_they_are(count: int) -> None:
    message = compare_rates(GOOD[:count], tuple(each / 2 for each in GOOD[:count]))
    (ndr,) = message.metrics
    assert message.verdict is ComparisonOutcome.UNDECIDED
    assert ndr.reason
    assert ndr.repeats_needed == 3 - count
    assert "more of each" in message.sentence


def test_one_run_against_nineteen_is_enough_where_it_is_far_from_all() -> None:
    rng = Random(2)
    many = tuple(1e6 * math.exp(rng.gauss(0.0, 0.004)) for _ in range(19))
    a, b = sides([rate(each) for each in many], [rate(0.9e6)], "one after the other")
    assert compare(a, b).verdict is ComparisonOutcome.WORSE
    assert compare(a[:18], b).verdict is ComparisonOutcome.UNDECIDED


def test_runs_that_all_say_the_same_are_not_proof_of_the_smallest_difference() -> None:
    assert compare_rates((1e6,) * 5, (0.9995e6,) * 5).verdict is not ComparisonOutcome.WORSE
    assert compare_rates((1e6,) * 5, (0.95e6,) * 5).verdict is ComparisonOutcome.WORSE


def test_a_figure_that_was_the_testers_never_makes_b_worse() -> None:
    message = compare_rates(GOOD, SLOW, limit="tester")
    assert message.verdict is ComparisonOutcome.UNDECIDED
    assert "B forwards at least this rate" in message.metrics[0].reason
    assert message.metrics[0].repeats_needed is None
    assert any("only a lower limit" in line for line in message.advice)


def test_a_lower_limit_gets_no_percentage() -> None:
    message = compare(*sides([rate(849.2e3)], [rate(646.8e3, width=0.8, limit="unknown")]))
    expected = "NDR is 849.2 kpps and at least 646.8 kpps, and a lower limit shows no difference"
    assert message.sentence == f"Needs repeats: {expected}, one run each"
    (blocks,) = [section.blocks for section in [build_comparison_section(message)]]
    table = next(block for block in blocks if isinstance(block, Table))
    assert [cell.text for cell in table.rows[0][1:5]] == ["849.2 kpps", "≥ 646.8 kpps", "-", "-"]
    assert message.metrics[0].effect < 0.0


def test_a_lower_limit_that_decides_has_an_effect_of_at_least_its_own() -> None:
    message = compare(*sides([rate(each) for each in SLOW], [rate(each, limit="tester") for each in GOOD]))
    assert message.verdict is ComparisonOutcome.BETTER
    assert message.sentence.startswith("B is better than A: NDR is at least 5.3 % higher (95 %: ")


@pytest.mark.parametrize("limit", ["tester", "shared_cpu", "max_load", "unknown"])
def test_where_a_forwards_at_least_more_than_b_b_is_worse(limit: str) -> None:
    a, b = sides([rate(each, limit=limit) for each in GOOD], [rate(each) for each in SLOW])
    assert compare(a, b).verdict is ComparisonOutcome.WORSE
    assert compare(b, a).verdict is ComparisonOutcome.BETTER
    same = sides([rate(each, limit=limit) for each in GOOD], [rate(each) for each in GOOD])
    assert compare(*same).verdict is ComparisonOutcome.UNDECIDED


def test_runs_of_b_without_an_answer_keep_it_from_being_better() -> None:
    a, b = sides([rate(each) for each in SLOW], [rate(each) for each in GOOD])
    b.append(run(40, side="b", status="failed"))
    message = compare(a, b)
    assert message.verdict is ComparisonOutcome.UNDECIDED
    assert "one run of B did not measure it" in message.metrics[0].reason
    a.append(run(41, side="a", status="failed"))
    assert compare(a[:5], b[:5]).verdict is ComparisonOutcome.BETTER


def test_drift_that_looks_like_a_difference_decides_nothing_and_in_turn_it_cancels() -> None:
    rng = Random(4)
    at = [rate(1e6 * math.exp(-0.004 * place + rng.gauss(0.0, 0.001))) for place in range(16)]
    after = compare(*sides(at[:8], at[8:], "one after the other"))
    assert after.verdict is ComparisonOutcome.UNDECIDED
    assert "drifted" in after.metrics[0].reason
    assert {flag.code for flag in after.flags} == {"one_after_the_other"}
    in_turn = compare(*sides(at[::2], at[1::2]))
    assert in_turn.verdict is ComparisonOutcome.EQUIVALENT
    assert in_turn.paired
    assert "drift" in {flag.code for flag in in_turn.metrics[0].flags}


def test_a_run_far_from_the_others_and_two_bands_are_pointed_out() -> None:
    flags = {flag.code for flag in compare_rates((*GOOD, 0.9e6), (*SLOW, 0.952e6)).metrics[0].flags}
    assert flags == {"outlier"}
    bands = (1.000e6, 0.950e6, 0.951e6, 1.001e6, 0.949e6, 0.999e6)
    flags = {flag.code for flag in compare_rates(bands, bands).metrics[0].flags}
    assert flags == {"two_modes"}


def test_a_bound_twice_as_wide_does_not_make_a_side_worse() -> None:
    """Lower bounds differ by the width of a search; the values between the bounds do not."""
    middle = 1e6
    a = [rate(middle / math.sqrt(1 + 0.005), width=0.005) for _ in range(5)]
    b = [rate(middle / math.sqrt(1 + 0.04), width=0.04) for _ in range(5)]
    (ndr,) = compare(*sides(a, b)).metrics
    assert ndr.effect == pytest.approx(0.0, abs=1e-9)
    assert ndr.verdict is ComparisonOutcome.UNDECIDED
    assert ndr.repeats_needed is None
    assert any("smaller width" in line for line in compare(*sides(a, b)).advice)


def test_loss_is_compared_in_points_as_there_is_no_ratio_to_nothing() -> None:
    a, b = sides([loss(0.0)] * 4, [loss(0.004), loss(0.005), loss(0.006), loss(0.005)])
    message = compare(a, b)
    assert message.verdict is ComparisonOutcome.WORSE
    assert message.metrics[0].effect == pytest.approx(0.005)
    assert "0.50 points more" in message.sentence
    assert compare(a, a).verdict is ComparisonOutcome.EQUIVALENT


def test_a_side_that_forwards_nothing_is_worse() -> None:
    assert compare_rates(GOOD, (0.0,) * 5, width=0.0).verdict is ComparisonOutcome.WORSE


def test_frame_sizes_are_compared_with_their_like() -> None:
    a = [run(2 * at, rate(1e6), rate(1.2e6, "pdr"), side="a", size=size) for at, size in enumerate(["64", "IMIX"] * 3)]
    b = [
        run(2 * at + 1, rate(each), side="b", size=size)
        for at, (size, each) in enumerate([("64", 1e6), ("IMIX", 0.9e6), ("1518", 8e5)] * 3)
    ]
    message = compare(a, b)
    assert [(metric.text, metric.verdict) for metric in message.metrics] == [
        ("NDR at 64 bytes", ComparisonOutcome.EQUIVALENT),
        ("NDR with IMIX", ComparisonOutcome.WORSE),
    ]
    assert message.verdict is ComparisonOutcome.WORSE


def test_single_sizes_that_differ_are_compared_all_the_same() -> None:
    (metric,) = compare([run(0, rate(1e6), size="64")], [run(1, rate(1e6), size="128")]).metrics
    assert metric.frame_size == "64/128"


def test_rates_are_headlines_and_latencies_are_not_unless_they_are_asked_for() -> None:
    rng = Random(1)
    a, b = (
        [run(2 * at + first, latency(2e4 * math.exp(rng.gauss(0.0, 0.3))), rate(1e6), side=side) for at in range(4)]
        for first, side in enumerate("ab")
    )
    assert [(metric.key, metric.headline) for metric in compare(a, b).metrics] == [
        ("ndr", True),
        ("latency_p99_at_ndr", False),
    ]
    assert compare(a, b).verdict is ComparisonOutcome.EQUIVALENT
    requested = compare(a, b, metrics=["latency_p99_at_ndr"])
    assert [metric.headline for metric in requested.metrics] == [True]
    assert requested.verdict is ComparisonOutcome.UNDECIDED


def test_what_cannot_be_compared_is_said_with_what_there_is() -> None:
    with pytest.raises(ConfigError, match="metric: pdr is not measured by both A and B; choose from: ndr"):
        compare([run(0, rate(1e6))], [run(1, rate(1e6))], metrics=["pdr"])
    with pytest.raises(ConfigError, match="A: ndr at frame size 64; B: no metric at frame size 64"):
        compare([run(0, rate(1e6))], [run(1)])
