"""Grades of configurations by their share of a baseline's throughput (ETSI GS NFV-PER 001 C.2.1.1.5)."""

import json
from pathlib import Path

import pytest
from tests.recorded import record_run
from tests.suts import Step
from tests.unit.test_charts import require_sound
from tests.unit.test_trend import summary

from nodrop.analysis.grade import GradedResults, find_grade, grade_results
from nodrop.charts import grade as charts
from nodrop.cli import main
from nodrop.errors import ConfigError
from nodrop.model.summary import Summary
from nodrop.report.grade import list_cautions

FRAME_BITS = 8 * 1250
"""Bits of a frame, so that 100 frames per second are 1 Mb/s."""


def summarize(mbps: float, **keys: object) -> Summary:
    return summary(0, mbps * 100, **({"frame_size": "1250", "frame_bytes": FRAME_BITS / 8} | keys))


def grade(*mbps: float) -> GradedResults:
    baseline, *others = ((f"at {each:g}", summarize(each)) for each in mbps)
    return grade_results(baseline, others, "ndr")


def test_the_smallest_share_of_the_baseline_decides() -> None:
    graded = grade(1000, 950, 931, 948, 902)
    assert [round(each.share * 100, 1) for each in graded.others] == [95.0, 93.1, 94.8, 90.2]
    assert [round(each.cost * 100, 1) for each in graded.others] == [5.0, 6.9, 5.2, 9.8]
    assert (graded.letter, graded.worst.name) == ("B", "at 902")
    assert [round(each.rate_bps / 1e6) for each in graded.others] == [950, 931, 948, 902]


@pytest.mark.parametrize(
    ("mbps", "letter"),
    [(1010, "A"), (950, "A"), (945, "B"), (800, "B"), (799.9, "C"), (700, "C"), (695, "D"), (600, "D"), (599, "F")],
)
def test_no_share_is_between_two_grades(mbps: float, letter: str) -> None:
    assert grade(1000, mbps).letter == find_grade(mbps / 1000) == letter


def test_a_result_above_the_baseline_is_a_caution() -> None:
    assert not list(list_cautions(grade(1000, 999)))
    (text,) = list_cautions(grade(1000, 1010))
    assert text.startswith("at 1010 is above the baseline")


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([], "only the baseline is named"),
        ([("b", summarize(900, frame_size="64"))], r"different traffic \(frame_size: 1250, 64\)"),
        ([("b", summarize(900, measures=()))], "b has no rate ndr; name another result"),
    ],
)
def test_results_that_cannot_be_graded_are_refused(others: list[tuple[str, Summary]], message: str) -> None:
    with pytest.raises(ConfigError, match=f"grade: .*{message}"):
        grade_results(("a", summarize(1000)), others, "ndr")


def test_the_chart_shows_every_configuration_and_the_limits() -> None:
    chart = charts.build_chart(grade(1000, 950, 799.9))
    require_sound(chart)
    assert chart.title == "Grade C: at 799.9 has 79.9 % of the NDR of the baseline"
    assert [row["kind"] for row in chart.data["results"]] == ["baseline", "A", "C"]


def test_the_command_grades_labels_and_fails_below_a_grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for label, capacity_pps in (("bypass", 1e6), ("inspect", 9e5), ("log", 8.5e5)):
        record_run(tmp_path, Step(capacity_pps), label=label)
    names = ["label:bypass", "label:inspect", "label:log", "--results-dir", str(tmp_path)]
    assert main(["grade", *names, "-o", str(tmp_path / "grade.svg")]) == 0
    assert "Grade B: log has 8" in capsys.readouterr().out
    assert (tmp_path / "grade.svg").stat().st_size > 0
    assert main(["grade", *names, "--format", "json", "--fail-below", "A"]) == 8
    assert json.loads(capsys.readouterr().out)["grade"] == "B"
    assert main(["grade", *names, "--format", "markdown", "--fail-below", "B"]) == 0
