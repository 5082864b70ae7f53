"""Findings on a series of runs, point by point and in words."""

import functools
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from altair.vegalite.v5.schema import core
from scipy import stats

from nodrop.analysis.segments import compute_mann_whitney_p
from nodrop.analysis.spread import compute_spreads
from nodrop.analysis.trend import Trend, TrendPoint, TrendSeries, analyze_trend, build_series
from nodrop.analysis.trend_text import describe_trend
from nodrop.analysis.types import ComparisonOutcome, Margins
from nodrop.charts import trend as drawing
from nodrop.charts.render import render_spec
from nodrop.model.summary import Measure, Summary
from nodrop.report.trend_plot import ASCII, draw_trend

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


def day(number: int) -> str:
    return (BEGIN + timedelta(days=number)).isoformat()


def trend_series(
    values: Sequence[float], at_least: Sequence[int] = (), width: float | None = None, **keys: Any
) -> TrendSeries:
    """Return a series of one run a day, `r0` the first."""
    points = tuple(
        TrendPoint(
            run_id=f"r{number}",
            started_at=day(number),
            moment=str(number),
            value=value,
            low=None if width is None else value,
            high=None if width is None else value / (1 - width),
            at_least=number in at_least,
        )
        for number, value in enumerate(values)
    )
    fields = {"key": "ndr", "text": "NDR", "unit": "pps", "better": "higher"}
    return TrendSeries(points=points, **(fields | keys))


def noisy_values(*parts: tuple[int, float], seed: int = 1, noise: float = 0.005) -> list[float]:
    """Return so many values around each mean."""
    rng = random.Random(seed)
    return [mean * rng.gauss(1, noise) for count, mean in parts for _ in range(count)]


def summary(number: int, value: float | None = 1e6, limit: str = "sut", **keys: Any) -> Summary:
    """Return a run that found an NDR, or none."""
    measure = Measure(key="ndr", text="NDR", unit="pps", better="higher", value=value or 0.0, limit=limit)
    fields = {
        "run_id": f"r{number}",
        "started_at": day(number),
        "wall_s": 60,
        "status": "complete",
        "sut": "vnf-l2",
        "path": "PVP",
        "chain_count": 1,
        "flow_count": 512,
        "frame_size": "64",
        "frame_bytes": 64,
        "bidirectional": True,
        "asked": "ndr_pdr",
        "algorithm": "nodrop",
        "host": "lab",
        "kernel": "6.1",
        "cpu_model": "cpu",
        "backend": "af_packet",
        "version": "0.1.0",
        "trial_count": 9,
        "measures": () if value is None else (measure,),
    }
    return Summary(**(fields | keys))


def test_a_step_is_found_where_it_is_with_its_size_and_direction() -> None:
    result = analyze_trend(trend_series(noisy_values((12, 1e6), (8, 0.95e6))))
    (change,) = result.changes
    assert (change.before_run_id, change.run_id, change.verdict) == ("r11", "r12", ComparisonOutcome.WORSE)
    assert change.effect == pytest.approx(-0.05, abs=0.005)
    assert change.low is not None and change.high is not None and change.low < -0.05 < change.high
    assert [group.count for group in result.groups] == [12, 8]
    assert result.verdict is ComparisonOutcome.WORSE


def test_more_latency_is_worse() -> None:
    result = analyze_trend(trend_series(noisy_values((12, 40e3), (8, 60e3)), unit="ns", better="lower"))
    assert result.verdict is ComparisonOutcome.WORSE
    assert "50 % higher, which is worse, from run r12 on" in next(describe_trend(result))


def test_the_bounds_of_a_change_are_those_of_mann_and_whitney() -> None:
    for seed, count in ((1, 5), (2, 12), (3, 40)):
        values = noisy_values((20, 1e6), (count, 0.95e6), seed=seed)
        (change,) = analyze_trend(trend_series(values)).changes
        old, new = values[:20], values[20:]
        assert change.low is not None and change.high is not None
        for bound in (change.low, change.high):
            moved = [value - bound * sorted(old)[10] for value in new]
            result = stats.mannwhitneyu(moved, old, method="asymptotic", use_continuity=False).pvalue
            assert result == pytest.approx(0.05, abs=0.02)


def test_what_the_tester_limited_is_shown_and_never_makes_a_change() -> None:
    result = analyze_trend(trend_series([1e6] * 10 + [0.5e6] * 5, at_least=range(10, 15)))
    assert result.changes == () and len(result.series.points) == 15
    assert "5 runs have only a lower limit, shown but not analyzed: r10, r11, r12 and 2 more." in list(
        describe_trend(result)
    )


def test_a_series_without_a_point_of_the_suts_is_not_judged() -> None:
    result = analyze_trend(trend_series([1e6, 1.1e6], at_least=[0, 1]))
    assert (result.groups, result.verdict) == ((), None)
    assert list(describe_trend(result)) == ["NDR: no run was limited by the SUT; the value is at least 1.100 Mpps."]


def test_a_run_apart_from_the_others_is_no_change() -> None:
    values = noisy_values((20, 1e6))
    values[9] = 0.6e6
    result = analyze_trend(trend_series(values))
    assert result.changes == ()
    assert result.groups[0].outlier_run_ids == ("r9",)
    assert result.groups[0].count == 19 and "r9" not in result.groups[0].run_ids
    assert "1 outlier: r9." in list(describe_trend(result))


def test_a_single_run_at_the_end_is_told_and_said_to_be_one() -> None:
    result = analyze_trend(trend_series([*noisy_values((20, 1e6)), 0.6e6]))
    assert result.verdict is ComparisonOutcome.WORSE
    assert "Only one run confirms this; measure again." in list(describe_trend(result))


def test_a_run_as_low_as_some_before_is_no_change() -> None:
    values = noisy_values((20, 1e6))
    values[9] = 0.6e6
    result = analyze_trend(trend_series([*values, 0.61e6]))
    assert result.changes == () and result.groups[0].outlier_run_ids == ("r9", "r20")
    assert analyze_trend(trend_series([0.61e6, *values])).changes == ()


def test_a_few_bad_runs_between_good_ones_do_not_make_a_stretch_of_its_own() -> None:
    values = noisy_values((60, 1e6))
    for number in (5, 18, 19, 33, 36, 39, 52):
        values[number] *= 0.95
    assert analyze_trend(trend_series(values)).changes == ()


@pytest.mark.parametrize(("few", "many"), [(1, 5), (3, 40), (12, 30), (20, 80), (25, 60)])
def test_the_chance_of_a_stretch_is_that_of_mann_and_whitney(few: int, many: int) -> None:
    rng = random.Random(few)
    a, b = [rng.gauss(-0.6, 1) for _ in range(few)], [rng.gauss(0, 1) for _ in range(many)]
    method = "exact" if few <= 20 else "asymptotic"
    reference = stats.mannwhitneyu(a, b, method=method, use_continuity=False).pvalue
    assert compute_mann_whitney_p(a, b) == pytest.approx(reference) == pytest.approx(compute_mann_whitney_p(b, a))


def test_three_bad_runs_in_a_row_are_a_change_and_another() -> None:
    result = analyze_trend(trend_series(noisy_values((20, 1e6), (3, 0.9e6), (20, 1e6))))
    assert [(change.run_id, change.verdict) for change in result.changes] == [
        ("r20", ComparisonOutcome.WORSE),
        ("r23", ComparisonOutcome.BETTER),
    ]


def test_a_difference_within_the_margin_is_no_change() -> None:
    values = noisy_values((30, 1e6), (30, 0.97e6))
    assert analyze_trend(trend_series(values), Margins(pps=0.02)).verdict is ComparisonOutcome.WORSE
    assert analyze_trend(trend_series(values), Margins(pps=0.05)).verdict is None


def test_a_drift_in_steps_that_do_not_matter_is_seen_in_the_end() -> None:
    values = noisy_values((40, 1e6), (40, 0.993e6), (40, 0.986e6), noise=0.0005)
    result = analyze_trend(trend_series(values))
    assert result.verdict is ComparisonOutcome.WORSE and len(result.groups) == 2


def test_a_difference_smaller_than_the_searches_left_open_is_no_change() -> None:
    assert analyze_trend(trend_series([1e6] * 10 + [0.97e6] * 10, width=0.01)).verdict is ComparisonOutcome.WORSE
    assert analyze_trend(trend_series([1e6] * 10 + [0.97e6] * 10, width=0.05)).verdict is None


def test_loss_is_compared_by_difference_also_from_nothing() -> None:
    result = analyze_trend(trend_series([0.0] * 10 + [0.004] * 10, unit="ratio", better="lower", text="loss"))
    assert result.changes[0].effect == pytest.approx(0.004)
    assert result.verdict is ComparisonOutcome.WORSE
    assert "0.40 points more" in next(describe_trend(result))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "NDR: no run measured it."),
        ([1e6], "NDR has one usable run, 1.000 Mpps; a trend needs more."),
        ([1e6] * 20, "NDR is steady over 20 runs: 1.000 Mpps ± 0 %."),
    ],
)
def test_where_nothing_changed_it_says_so(values: list[float], message: str) -> None:
    assert list(describe_trend(analyze_trend(trend_series(values)))) == [message]


def test_runs_with_other_traffic_are_series_of_their_own_in_the_order_of_time() -> None:
    runs = [summary(3), summary(1), summary(2, frame_size="1518"), summary(4, None), summary(5, limit="tester")]
    small, large = build_series(runs, "ndr")
    assert [point.run_id for point in small.points] == ["r1", "r3", "r5"]
    assert [point.at_least for point in small.points] == [False, False, True]
    assert (small.missing_run_ids, large.frame_size) == (("r4",), "1518")
    assert "1 run has no NDR: r4." in list(describe_trend(analyze_trend(small)))


def test_repeats_of_a_suite_are_one_moment() -> None:
    runs = [summary(number, 1e6 if number % 2 else 0.8e6) for number in range(4)]
    (series,) = build_series(runs, "ndr", {run.run_id: "suite" for run in runs})
    assert analyze_trend(series).changes == ()


@functools.cache
def series_shapes() -> dict[str, Trend]:
    return {
        "step": analyze_trend(trend_series(noisy_values((30, 1e6), (20, 1.1e6)), width=0.01)),
        "outlier": analyze_trend(trend_series([*noisy_values((20, 1e6)), 0.1e6, *noisy_values((20, 1e6), seed=2)])),
        "limited": analyze_trend(trend_series([1e6] * 5, at_least=[1, 2])),
        "nothing": analyze_trend(trend_series([1e6], at_least=[0])),
        "one": analyze_trend(trend_series([1e6])),
        "loss": analyze_trend(trend_series([0.0] * 5 + [0.01] * 5, unit="ratio", better="lower")),
        "pause": analyze_trend(trend_series([1e6] * 5).model_copy(update={"points": points_with_gap()})),
        "many": analyze_trend(trend_series(noisy_values((200, 1e6), (200, 1.02e6), (100, 0.9e6)))),
    }


def points_with_gap() -> tuple[TrendPoint, ...]:
    """Return two runs, and two more a year later."""
    return tuple(
        TrendPoint(run_id=f"r{number}", started_at=day(number), moment=str(number), value=1e6)
        for number in (0, 1, 365, 366)
    )


@pytest.mark.parametrize("name", series_shapes())
def test_every_trend_is_a_valid_chart_and_is_drawn(name: str) -> None:
    chart = drawing.build_chart(series_shapes()[name])
    core.Root.from_dict(chart.spec | {"data": {"name": "points"}}, validate=True)
    assert render_spec(chart.spec, ".svg").startswith(b"<svg")
    assert len(chart.data["points"]) == len(series_shapes()[name].series.points)


def test_runs_far_apart_in_time_are_set_by_number() -> None:
    assert not drawing.has_even_times(series_shapes()["pause"].series)
    assert [row["x"] for row in drawing.build_chart(series_shapes()["pause"]).data["points"]] == [1, 2, 3, 4]


@pytest.mark.parametrize("columns", [40, 100, 300])
@pytest.mark.parametrize("name", [name for name, each in series_shapes().items() if each.groups])
def test_the_drawing_fits_the_terminal_and_a_hundred_columns(name: str, columns: int) -> None:
    lines = [line.plain for line in draw_trend(series_shapes()[name], columns)]
    assert max(map(len, lines[:-1])) <= min(columns, 100)
    assert any("●" in line for line in lines)


def test_the_drawing_can_do_without_anything_but_ascii() -> None:
    for name, each in series_shapes().items():
        if each.groups:
            assert all(line.plain.isascii() for line in draw_trend(each, 80, plain=True)), name
    assert "".join(ASCII).isascii()


def test_the_interval_of_repeats_is_students() -> None:
    values = noisy_values((5, 1e6))
    (spread,) = compute_spreads([summary(number, value) for number, value in enumerate(values)])
    reference = stats.t.interval(0.95, 4, loc=sum(values) / 5, scale=stats.sem(values))
    assert (spread.mean_low, spread.mean_high) == pytest.approx(reference)
    assert (spread.lowest, spread.median, spread.highest) == (min(values), sorted(values)[2], max(values))
    assert not spread.at_least
    assert compute_spreads([summary(0), summary(1, limit="shared_cpu")])[0].at_least
