"""Comparison charts: valid in every theme, complete, and without overlaps."""

from random import Random
from xml.etree import ElementTree

import pytest
from benchmarks.verdict.noise import NOISES
from benchmarks.verdict.runs import draw_runs
from tests.unit.test_charts import require_sound
from tests.verdicts import loss, rate, sides

from nodrop.analysis import Comparison, compare
from nodrop.charts import comparison, theme
from nodrop.charts import render as drawing

BY_NAME = {noise.name: noise for noise in NOISES}


def compare_noise(name: str, count: int, effect: float) -> Comparison:
    return compare(*draw_runs(BY_NAME[name], Random(5), count, effect))


@pytest.mark.parametrize(
    ("name", "count", "effect"),
    [("gaussian", 1, 0.05), ("gaussian", 5, 0.02), ("identical", 5, 0.0), ("modes-rare", 30, 0.0), ("drift", 10, 0.8)],
)
def test_it_is_sound_whatever_is_compared(name: str, count: int, effect: float) -> None:
    chart = comparison.build_chart(compare_noise(name, count, effect))
    require_sound(chart)
    for each in theme.THEMES:
        assert ElementTree.fromstring(drawing.render_svg(chart, each)).tag.endswith("svg")


def test_losses_from_nothing_have_a_panel_of_their_own() -> None:
    chart = comparison.build_chart(compare(*sides([loss(0.0)] * 3, [loss(0.01)] * 3)))
    require_sound(chart)
    (panel,) = chart.definition["vconcat"]
    assert "percentage points" in str(panel)


def test_every_run_of_the_headlines_is_in_it_and_every_measure_says_its_verdict() -> None:
    message = compare_noise("gaussian", 5, 0.02)
    chart = comparison.build_chart(message)
    output = {(row["metric"], row["text"].split(":")[0]) for row in chart.data["runs"]}
    for metric in message.metrics:
        if metric.headline:
            for side, series in (("A", metric.a), ("B", metric.b)):
                assert {(metric.text, f"{side}, run {point.run_id}") for point in series.points} <= output
    rows = {row["metric"]: row["said"] for row in chart.data["effects"]}
    assert rows["NDR"].startswith("worse: ")


def test_dots_that_would_hide_each_other_have_lanes() -> None:
    chart = comparison.build_chart(compare(*sides([rate(1e6)] * 5, [rate(1e6)] * 5)))
    places = [(row["beside"], row["at"]) for row in chart.data["runs"]]
    assert len(set(places)) == len(places) == 10


def test_an_interval_far_wider_than_the_runs_does_not_squeeze_them_together() -> None:
    message = compare_noise("gaussian", 1, 0.0)
    wide = message.model_copy(
        update={"metrics": tuple(each.model_copy(update={"low": -0.9, "high": 9.0}) for each in message.metrics)}
    )
    (low, high), *_ = (
        panel["layer"][0]["encoding"]["x"]["scale"]["domain"]
        for panel in comparison.build_chart(wide).definition["vconcat"]
    )
    assert high - low < 30
