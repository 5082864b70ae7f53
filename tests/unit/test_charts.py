"""Charts of results: valid Vega-Lite for every kind of run, with the run's data and nothing else."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair
import jsonschema
import pytest
from tests.factories import latency_summary
from tests.recorded import record_run
from tests.running import MILLION
from tests.suts import LossFloor, SmoothCurve, Step
from tests.waiting import stretch

from nodrop.charts import (
    chains,
    fixed_rate,
    latency,
    load_latency,
    loss,
    rate_by_frame_size,
    search_bounds,
    theme,
)
from nodrop.charts.base import Chart
from nodrop.charts.catalogue import CHART_KINDS
from nodrop.cli.plot import CHARTS
from nodrop.errors import ConfigError
from nodrop.model.goal import Limit
from nodrop.model.latency import compute_latency_curve, merge_latency
from nodrop.model.result import LatencyResult, RunResult
from nodrop.model.trial import DirectionTimes, WindowLatency
from nodrop.model.trial_event import TrialEvent

WIDE: dict[str, Any] = {"search__max_load": "37.5Mpps", "search__algorithm": "mlrsearch-01"}


@cache
def validator() -> jsonschema.Draft7Validator:
    """Return the validator of Vega-Lite 5, with the schema that the package altair ships."""
    file = Path(altair.__file__).parent / "vegalite" / "v5" / "schema" / "vega-lite-schema.json"
    return jsonschema.Draft7Validator(json.loads(file.read_text(encoding="utf-8")))


def require_sound(chart: Chart) -> None:
    """Require a valid chart with separate data, known data names, a title and a description."""
    validator().validate(json.loads(json.dumps(theme.apply_theme(chart.spec))))
    definition = json.dumps(chart.definition)
    assert '"values": [{' not in definition
    assert set(re.findall(r'"data": \{"name": "(\w+)"\}', definition)) == set(chart.data)
    assert chart.title
    assert chart.summary.endswith(".")


def direction_times(port: int, values_ns: Sequence[int]) -> DirectionTimes:
    return DirectionTimes(tx_port=port, rx_port=1 - port, latency_every=1, latency=latency_summary(values_ns))


def with_latencies(result: RunResult, count: int = 2000) -> RunResult:
    """Return the result with latencies of 10 to 10 + count µs in each trial, its last trial as the NDR's trial."""
    series = (
        direction_times(0, range(10_000, 10_000 + count * 1000, 1000)),
        direction_times(1, range(5_000, 5_000 + count * 1000, 1000)),
    )
    trials = tuple(trial.model_copy(update={"directions": series}) for trial in result.trials)
    actual = LatencyResult(label="NDR", load_pps=trials[-1].trial.intended_load_pps, trial_index=trials[-1].index)
    return result.model_copy(update={"trials": trials, "latencies": (actual,)})


def build_charts(result: RunResult) -> list[Chart]:
    """Return all charts of a run that has a search, latencies and counters."""
    return [
        search_bounds.build_chart(result, result.steps),
        rate_by_frame_size.build_chart([result]),
        rate_by_frame_size.build_chart([result], "bps"),
        latency.build_chart([with_latencies(result)]),
        latency.build_chart([with_latencies(result)], each_way=True),
        load_latency.build_chart(with_latencies(result)),
        loss.build_chart(result),
        loss.build_chart(result, result.trials[0]),
        chains.build_chart(with_latencies(result)),
    ]


@pytest.mark.parametrize("sut", [Step(1e9), LossFloor(1e6, 1e-4), Step(3000.0)])
def test_every_chart_is_valid_whatever_the_sut_was_like(sut: Any, tmp_path: Path) -> None:
    for chart in build_charts(record_run(tmp_path, sut, **WIDE)):
        require_sound(chart)


@pytest.mark.parametrize("keys", [{"traffic__bidirectional": False}, {"chains": 64}])
def test_every_chart_is_valid_one_way_and_of_many_chains(keys: dict[str, Any], tmp_path: Path) -> None:
    for chart in build_charts(record_run(tmp_path, MILLION, **WIDE, **keys)):
        require_sound(chart)


def list_axis_titles(definition: Any) -> list[Any]:
    """Return the titles of all axes of a chart, each once, in its order."""
    if isinstance(definition, dict):
        axis = definition.get("axis")
        titles = [axis["title"]] if isinstance(axis, dict) and axis.get("title") else []
        parts = list(definition.values())
    else:
        titles, parts = [], definition if isinstance(definition, list) else []
    for part in parts:
        titles += [title for title in list_axis_titles(part) if title not in titles]
    return titles


def test_axes_are_named_with_their_units(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    fixed = record_run(tmp_path, Step(3000.0), rate="10kpps", duration=1)
    charts = [*build_charts(result), fixed_rate.build_chart(fixed)]
    over_time = ["rate (Mpps)", "time since the trial began (s)", "lost (Mpps)"]
    percentiles = ["share of frames at or below this latency (percentile)", "latency (ms)"]
    assert [list_axis_titles(chart.definition) for chart in charts] == [
        ["time since the search began (s)", "load (Mpps)"],
        ["frame size, FCS included", "throughput, all directions (Mpps)"],
        ["frame size, FCS included", "throughput on the wire (Mb/s)"],
        percentiles,
        percentiles,
        ["load sent, all directions (Mpps)", "latency (ms)"],
        over_time,
        over_time,
        ["received (kpps)", "chain", ["latency (ms)", "median to 99 %"]],
        ["rate (kpps)", "time since the trial began (s)", "lost (kpps)"],
    ]


def test_a_run_of_one_trial_and_one_of_four_hundred_are_drawn(tmp_path: Path) -> None:
    result = record_run(tmp_path, SmoothCurve(9e5), **WIDE)
    one = result.model_copy(update={"trials": result.trials[:1], "steps": result.steps[:1], "goals": ()})
    for chart in (search_bounds.build_chart(one, one.steps), loss.build_chart(one), chains.build_chart(one)):
        require_sound(chart)
    numbered = range(400)
    created = [trial for trial in result.trials if trial.phase == "search"]
    trials = tuple(created[n % len(created)].model_copy(update={"index": n}) for n in numbered)
    steps = tuple(result.steps[n % len(result.steps)].model_copy(update={"trial_index": n}) for n in numbered)
    many = result.model_copy(update={"trials": trials, "steps": steps, "latencies": ()})
    for chart in (search_bounds.build_chart(many, steps), load_latency.build_chart(with_latencies(many))):
        require_sound(chart)
    assert len(search_bounds.build_chart(many, steps).data["trials"]) == 400


def test_a_curve_ends_where_fewer_than_ten_frames_were_slower() -> None:
    """The histogram itself counts the frames above the last point."""
    series = (direction_times(0, range(1000, 2_001_000, 1000)),)
    points = compute_latency_curve(series)
    last_percentile, last_ns = points[-1]
    assert last_percentile == pytest.approx(99.5)
    assert sum(value > last_ns for value in range(1000, 2_001_000, 1000)) >= 9
    assert [percentile for percentile, _ in points] == sorted(percentile for percentile, _ in points)


def test_a_curve_has_the_percentiles_that_the_figures_have() -> None:
    series = (direction_times(0, range(1000, 901_000, 1000)), direction_times(1, range(5_000, 905_000, 1000)))
    figures = merge_latency(series, (50.0, 90.0, 99.0))
    assert figures
    curve = dict(compute_latency_curve(series))
    assert {percentile: curve[percentile] for percentile in (50.0, 90.0, 99.0)} == figures.percentiles_ns


def test_no_curve_is_drawn_without_histograms(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    with pytest.raises(ConfigError, match="no latency histogram is stored"):
        latency.build_chart([result])
    assert compute_latency_curve([direction_times(0, [1000] * 19)]) == ()


def test_lines_of_several_runs_are_told_apart(tmp_path: Path) -> None:
    """Two runs that differ only in their ids have separate lines."""
    results = [with_latencies(record_run(tmp_path, MILLION)) for _ in range(2)]
    lines = {row["line"] for row in latency.build_chart(results).data["curves"]}
    assert len(lines) == 2
    labeled = [
        result.model_copy(update={"plan": result.plan.model_copy(update={"label": name})})
        for result, name in zip(results, ("before", "after"), strict=True)
    ]
    assert {row["line"].split(",")[0] for row in latency.build_chart(labeled).data["curves"]} == {"before", "after"}


def test_a_figure_that_something_else_limited_says_at_least(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    goals = tuple(each.model_copy(update={"limit": Limit.TESTER}) for each in result.goals)
    chart = rate_by_frame_size.build_chart([result.model_copy(update={"goals": goals})])
    assert all(row["least"] and row["label"].startswith("≥") for row in chart.data["figures"])
    assert "at least, limited by the tester" in chart.summary


def test_the_theoretical_maximum_is_drawn_for_links_that_have_a_speed(tmp_path: Path) -> None:
    """64-byte frames at 10 Gb/s: 14,880,952 per second each way (RFC 2544 appendix B, times ten)."""
    result = record_run(tmp_path, MILLION, link_speed="10Gbps")
    lab = {row["series"] for row in rate_by_frame_size.build_chart([result]).data["figures"]}
    assert rate_by_frame_size.MAXIMUM not in lab
    engine = result.plan.engine.model_copy(update={"devices": ("0000:01:00.0", "0000:01:00.1")})
    real = result.model_copy(update={"plan": result.plan.model_copy(update={"engine": engine})})
    most = [
        row["rate"]
        for row in rate_by_frame_size.build_chart([real]).data["figures"]
        if row["series"] == rate_by_frame_size.MAXIMUM
    ]
    assert most == pytest.approx([2 * 14.880952], rel=1e-6)


def test_loss_over_time_adds_up_to_what_was_lost(tmp_path: Path) -> None:
    result = record_run(tmp_path, SmoothCurve(9e5), **WIDE)
    for trial in result.trials:
        if trial.lost_count and trial.windows.lost_count:
            rows = loss.build_chart(result, trial).data["lost"]
            assert sum(row["lost"] for row in rows) == trial.lost_count


def test_loss_of_several_trials_is_drawn_on_one_scale(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    chart = loss.build_chart(result)
    panels = [panel["vconcat"] for panel in chart.definition["concat"]]
    scales = [lost["layer"][0]["encoding"]["y"]["scale"] for _, lost in panels]
    assert len(panels) > 1
    assert all(scale == scales[0] for scale in scales)
    assert scales[0]["domain"][1] == max(row["rate"] for row in chart.data["lost"])


def test_latency_is_drawn_over_the_load_sent_without_overloads(tmp_path: Path) -> None:
    result = with_latencies(record_run(tmp_path, MILLION, **WIDE))
    half_sent = [
        trial.model_copy(update={"duration_s": 2 * trial.duration_s}) if trial.index == 0 else trial
        for trial in result.trials
    ]
    result = result.model_copy(update={"trials": tuple(half_sent)})
    sent_pps = {trial.index: trial.offered_load_pps for trial in result.trials}
    highest_pps = max(each.upper.load_pps for each in result.goals if each.upper)
    chart = load_latency.build_chart(result)
    loads = {row["load"] for row in chart.data["trials"]}
    assert max(sent_pps.values()) > 2 * highest_pps
    assert all(any(load == pytest.approx(pps / 1e6) for pps in sent_pps.values()) for load in loads)
    assert max(loads) <= load_latency.OVERLOAD_RATIO * highest_pps / 1e6
    assert "not drawn: " in chart.note


def test_no_line_connects_loads_far_apart() -> None:
    rows = [{"percentile": "median", "load": load, "latency": 1.0} for load in (1.0, 1.05, 1.4, 3.0, 3.1)]
    lines = load_latency._build_lines(rows)
    assert [(round(line["load"], 3), line["piece"]) for line in lines] == [(1.025, 0), (1.4, 0), (3.05, 1)]


@pytest.mark.parametrize(
    ("percentile", "text"), [(99.999, "99.999 %"), (99.9996, "99.9996 %"), (99.99996, "99.99996 %")]
)
def test_a_percentile_never_rounds_up_to_all_frames(percentile: float, text: str) -> None:
    assert latency._format_percentile(percentile) == text


def test_a_fixed_rate_is_drawn_over_time_and_a_search_is_not(tmp_path: Path) -> None:
    require_sound(fixed_rate.build_chart(record_run(tmp_path, Step(3000.0), rate="10kpps", duration=1)))
    with pytest.raises(ConfigError, match="at a fixed rate"):
        fixed_rate.build_chart(record_run(tmp_path, MILLION))


def test_events_of_a_trial_are_lines_in_both_panels(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(3000.0), rate="10kpps", duration=1)
    events = tuple(
        TrialEvent(name=name, begin_s=at_s, end_s=at_s)
        for name, at_s in (("kill 0", 0.3), ("start 0", 0.6), ("stop 0", 0.61))
    )
    trials = tuple(trial.model_copy(update={"events": events}) for trial in result.trials)
    chart = fixed_rate.build_chart(result.model_copy(update={"trials": trials}))
    require_sound(chart)
    assert chart.data["events"] == (
        {"time": 0.3, "name": "kill 0", "align": "center"},
        {"time": 0.6, "name": "start 0", "align": "right"},
        {"time": 0.61, "name": "stop 0", "align": "left"},
    )
    assert json.dumps(chart.definition).count('"data": {"name": "events"}') == 3


def test_the_latency_of_a_trial_is_drawn_over_time(tmp_path: Path) -> None:
    result = record_run(tmp_path, Step(3000.0), rate="10kpps", duration=1)
    (trial,) = result.trials
    count = tuple(int(n != 3) for n in range(len(trial.windows.end_s)))
    sum_ns, max_ns = (tuple(size * each for each in count) for size in (5_000, 20_000))
    latency = (WindowLatency(count=count, sum_ns=sum_ns, min_ns=sum_ns, max_ns=max_ns),) * 2
    windows = trial.windows.replace(latency=latency)
    chart = fixed_rate.build_chart(result.model_copy(update={"trials": (trial.replace(windows=windows),)}))
    require_sound(chart)
    rows = chart.data["latencies"]
    assert len(rows) == 2 * sum(count)
    assert {(row["what"], row["ns"]) for row in rows} == {("mean", 5_000.0), ("max", 20_000)}
    assert trial.windows.end_s[2] not in {row["time"] for row in rows}
    assert "latencies" not in fixed_rate.build_chart(result).data


def test_every_color_has_a_counterpart_on_dark_ground_and_none_is_left(tmp_path: Path) -> None:
    lights = [color.light for color in theme.COLORS]
    assert len(set(lights)) == len(lights)
    used = re.findall(
        r"#[0-9a-f]{6}",
        json.dumps([theme.apply_theme(chart.spec) for chart in build_charts(record_run(tmp_path, MILLION))]),
    )
    assert set(used) <= set(lights)
    dark = json.dumps([theme.apply_theme(chart.spec, "dark") for chart in build_charts(record_run(tmp_path, MILLION))])
    assert not set(re.findall(r"#[0-9a-f]{6}", dark)) & set(lights)


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio as WCAG 2.2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_can_be_read_on_both_grounds() -> None:
    named = {color.name: color for color in theme.COLORS}
    for name in ("ink", "muted", "goal-1", "goal-2", "goal-4", "goal-5"):
        assert contrast(named[name].light, named["paper"].light) >= 4.5
        assert contrast(named[name].dark, named["paper"].dark) >= 4.5


SHEET = """
import json, sys
from nodrop.charts import render
from nodrop.charts.base import Chart
charts = [Chart.model_validate_json(line) for line in sys.stdin]
print(json.dumps([render.render_svg(chart) for chart in charts + charts[:1]]))
render.render_pdf(charts[0]).startswith(b"%PDF") or sys.exit(1)
"""


def test_charts_in_a_page_have_names_and_ids_of_their_own(tmp_path: Path) -> None:
    """Render in a child process: the renderer's threads outlive the test."""
    charts = build_charts(record_run(tmp_path, SmoothCurve(9e5), **WIDE))
    lines = "\n".join(chart.model_dump_json() for chart in charts)
    done = subprocess.run(
        [sys.executable, "-c", SHEET], input=lines, text=True, capture_output=True, check=True, timeout=stretch(100)
    )
    drawings = json.loads(done.stdout)
    assert drawings[0] == drawings[-1]
    ids = [name for drawing in drawings[:-1] for name in re.findall(r'\bid="([^"]+)"', drawing)]
    assert len(set(ids)) == len(ids)
    for drawing, chart in zip(drawings, charts, strict=False):
        root = ElementTree.fromstring(drawing)
        assert root.get("role") == "img"
        assert [part.text for part in root[:2]] == [chart.title, chart.summary]
        assert not re.search(r'style="|<script|href="http', drawing)
        assert not re.search(r'\bd="[^"]*\d\.\d{2}', drawing)
    spoken = "".join(re.findall(r'aria-label="([^"]*)"', drawings[0]))
    assert "Trial 0: " in spoken


def test_the_command_draws_every_chart_there_is() -> None:
    assert tuple(CHART_KINDS) == CHARTS


def test_a_page_follows_the_theme_of_its_reader() -> None:
    sheet = theme.build_css()
    assert sheet.count("{") == sheet.count("}")
    assert f'.chart [fill="{theme.INK}"]{{fill:var(--chart-ink)}}' in sheet
