"""The picture of a search: its content is recorded, and every viewer can read the file."""

import errno
import itertools
import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import altair
import jsonschema
import pytest
from tests.recorded import overwrite_result, record_run, space_trials
from tests.running import MILLION
from tests.suts import LossFloor, SmoothCurve, Step, Sut
from tests.waiting import stretch

from nodrop.charts import search_bounds
from nodrop.charts.base import Chart
from nodrop.charts.render import write_chart
from nodrop.charts.search_bounds import build_chart
from nodrop.charts.search_chart_data import build_search_chart_data
from nodrop.cli import main
from nodrop.model.result import RunResult
from nodrop.model.trial import Doubt, Validity, ValidityStatus

WIDE: dict[str, Any] = {"search__max_load": "37.5Mpps", "search__algorithm": "mlrsearch-01"}


def record_search(directory: Path, sut: Sut = MILLION, **overrides: Any) -> RunResult:
    return space_trials(record_run(directory, sut, **overrides))


def layers(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [layer for panel in spec["vconcat"] for layer in panel["layer"] if layer["mark"]["type"] == mark]


def build_picture(result: RunResult) -> Chart:
    return build_chart(result, result.steps)


def draw(result: RunResult, file: Path) -> None:
    """Draw in a child process: the renderer's threads outlive the test and take signals meant for other tests."""
    overwrite_result(result, file.parent)
    command = [sys.executable, "-m", "nodrop", "plot", str(file.parent / result.run_id), "-o", str(file)]
    subprocess.run(command, check=True, timeout=stretch(60))


def test_a_png_is_about_a_thousand_by_six_hundred_and_twice_as_sharp(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    file = tmp_path / "search.png"
    draw(result, file)
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    assert 1800 <= width <= 2100
    assert 1050 <= height <= 1250


def test_an_svg_is_well_formed_and_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    file = tmp_path / "search.SVG"
    draw(result, file)
    text = file.read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    texts = "".join(ElementTree.fromstring(text).itertext())
    for output in ("NDR 0 %", "PDR 0.5 %", "load (", "time since the search began (s)", "trial meets NDR and PDR"):
        assert output in texts
    assert "href=" not in text
    assert "url(http" not in text


def test_the_same_record_gives_the_same_picture(tmp_path: Path) -> None:
    result = record_search(tmp_path)
    files = [tmp_path / name for name in ("one.svg", "two.svg")]
    for file in files:
        draw(result, file)
    assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize("sut", [MILLION, Step(1e9), SmoothCurve(9e5), LossFloor(1e6, 1e-4)])
def test_the_description_is_valid_vega_lite(sut: Sut, tmp_path: Path) -> None:
    """Validate with the schema of Vega-Lite 5 that the package altair ships."""
    result = record_search(tmp_path, sut, **WIDE)
    file = tmp_path / "search.vl.json"
    write_chart(build_picture(result), file)
    schema_file = Path(altair.__file__).parent / "vegalite" / "v5" / "schema" / "vega-lite-schema.json"
    schema = json.loads(schema_file.read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(schema).validate(json.loads(file.read_text(encoding="utf-8")))


def test_every_search_trial_is_a_bar_as_long_as_it_took(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    trials = [trial for trial in result.trials if trial.phase == "search"]
    output = build_picture(result)
    assert {bars["data"]["name"] for bars in layers(output.definition, "rule")} == {"trials"}
    rows = output.data["trials"]
    assert [row["trial"] for row in rows] == [trial.index for trial in trials]
    assert [row["end"] - row["start"] for row in rows] == pytest.approx([trial.duration_s for trial in trials])
    assert [row["load"] for row in rows] == pytest.approx([t.trial.intended_load_pps / 1e6 for t in trials])


def test_bars_say_which_goals_the_trial_met(tmp_path: Path) -> None:
    result = record_search(tmp_path, SmoothCurve(9e5), **WIDE)
    rows = build_picture(result).data["trials"]
    for row in rows:
        loss_ratio = result.trials[row["trial"]].loss_ratio
        expected = "NDR and PDR" if loss_ratio == 0 else "PDR only" if loss_ratio <= 0.005 else "none"
        assert row["outcome"] == f"trial meets {expected}"
    assert {"trial meets NDR and PDR", "trial meets PDR only", "trial meets none"} == {row["outcome"] for row in rows}


def test_trials_that_were_stopped_early_are_marked_where_they_ended(tmp_path: Path) -> None:
    result = record_search(tmp_path, SmoothCurve(9e5), **WIDE)
    stopped = [t.index for t in result.trials if t.stopped_early]
    output = build_picture(result)
    assert [row["trial"] for row in output.data["trials"] if row["stopped"]] == stopped != []
    assert all(marks["transform"][0]["filter"]["field"] == "stopped" for marks in layers(output.definition, "point"))


def test_bounds_are_drawn_as_they_stood_after_each_trial(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    output = build_search_chart_data(result, result.steps)
    ndr = [edge for edge in output.edges if edge.goal == 0]
    for edge, step in zip(ndr, result.steps, strict=False):
        assert edge.lower == (step.after[0].lower_pps and step.after[0].lower_pps / output.load_unit.size)
        assert edge.time == pytest.approx(step.started_s + result.trials[step.trial_index].duration_s)
    assert ndr[-1].time == output.until


def test_many_loads_far_from_the_bounds_get_a_panel_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = record_search(tmp_path, **WIDE)
    near = build_picture(record_search(tmp_path, Step(1e9), **WIDE)).definition
    assert len(near["vconcat"]) == 1
    monkeypatch.setattr(search_bounds, "EDGE_LABELS_MAX", 0)
    far = build_picture(result).definition
    assert [panel["height"] for panel in far["vconcat"]] == [110, 300]
    low, high = far["vconcat"][1]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert 0.9 < low < 1.0 < high < 1.1  # Mpps, around a capacity of a million


def test_few_loads_far_from_the_bounds_are_named_at_the_edge(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    chart = build_picture(result)
    (panel,) = chart.definition["vconcat"]
    low, high = panel["layer"][0]["encoding"]["y"]["scale"]["domain"]
    far = [row for row in chart.data["trials"] if not low <= row["load"] <= high]
    assert far
    assert [row["says"] for row in chart.data["outside"]] == [row["says"] for row in far]
    assert [row["text"][0] for row in chart.data["outside"]] == ["↑" if row["load"] > high else "↓" for row in far]


def test_labels_of_goals_do_not_overlap_and_stay_inside(tmp_path: Path) -> None:
    result = record_search(tmp_path, Step(1e9), goals={"NDR": 0, "P1": 0.001, "P2": 0.002, "P5": 0.005}, **WIDE)
    heights = sorted(row["y"] for row in build_picture(result).data["labels"])
    assert len(heights) == 4
    assert all(below - above >= 34 for above, below in itertools.pairwise(heights))
    assert heights[0] >= 17 and heights[-1] <= 440 - 17


def test_a_trial_that_did_not_count_is_shown_as_that(tmp_path: Path) -> None:
    result = record_search(tmp_path, **WIDE)
    doubt = Doubt.invalid("tester_drops", dropped_count=5)
    spoiled = result.trials[2].model_copy(
        update={"validity": Validity(verdict=ValidityStatus.INVALID, doubts=(doubt,))}
    )
    trials = (*result.trials[:2], spoiled, *result.trials[3:])
    steps = tuple(step for step in result.steps if step.trial_index != 2)
    rows = build_chart(result.model_copy(update={"trials": trials}), steps).data["trials"]
    assert rows[2]["outcome"] == "invalid trial"
    assert "the tester dropped 5 frames in its own receive path" in rows[2]["says"]
    assert rows[2]["start"] == pytest.approx(rows[1]["end"])


def test_plot_draws_a_stored_result_also_one_without_steps(tmp_path: Path) -> None:
    result = record_run(tmp_path, MILLION)
    overwrite_result(result.model_copy(update={"steps": ()}), tmp_path)
    file = tmp_path / "search.vl.json"
    assert main(["plot", "latest", "--results-dir", str(tmp_path), "-o", str(file)]) == 0
    assert layers(json.loads(file.read_text(encoding="utf-8")), "area")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("search.gif", "unknown image format; use a file name that ends in .svg, .png, .pdf, .vl.json"),
        ("none/search.vl.json", f"cannot be written ({os.strerror(errno.ENOENT)}); choose a writable path"),
    ],
)
def test_a_file_that_cannot_be_drawn_into_is_a_sentence_and_exit_code_2(
    name: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record_run(tmp_path, MILLION)
    assert main(["plot", "latest", "--results-dir", str(tmp_path), "-o", str(tmp_path / name)]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / name).exists()


def test_a_run_without_a_search_cannot_be_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = record_run(tmp_path, MILLION)
    overwrite_result(result.model_copy(update={"trials": (), "steps": (), "goals": ()}), tmp_path)
    assert main(["plot", "latest", "--results-dir", str(tmp_path), "-o", str(tmp_path / "search.svg")]) == 2
    assert "no search trial; name another result" in capsys.readouterr().err
