"""A trend plotted with characters: runs as points, segments as lines at their median, changes as vertical lines."""

from collections.abc import Iterator
from typing import NamedTuple

from rich.text import Text

from nodrop.analysis.trend import Trend, TrendPoint
from nodrop.analysis.trend_text import format_time_in_series
from nodrop.analysis.types import ComparisonOutcome
from nodrop.formatting import format_measure

ROWS = 12
COLUMNS_MAX = 100
POINT_COLUMNS = 4
"""The maximum distance between two runs."""
STYLES = {ComparisonOutcome.WORSE: "red", ComparisonOutcome.BETTER: "green"}
FLAT_RATIO = 0.01
"""The share of a value below which a range does not fill the height of the plot."""


class PlotMarks(NamedTuple):
    """The characters of a plot."""

    run: str
    at_least: str
    apart: str
    median: str
    change: str
    axis: str
    corner: str
    base: str
    beyond: str
    """Below and above the plot."""


FINE = PlotMarks("●", "△", "○", "─", "┊", "│", "└", "─", "↓↑")
ASCII = PlotMarks("*", "~", "o", "-", ":", "|", "+", "-", "v^")


class PlotCell(NamedTuple):
    """A character with its style."""

    mark: str
    style: str


def draw_trend(trend: Trend, columns: int, *, plain: bool = False) -> Iterator[Text]:
    """Yield the plot line by line, at most 100 columns wide.

    Args:
        trend: a trend with at least one segment.
        columns: the width of the terminal.
        plain: whether to use ASCII only.
    """
    yield from _Plot(trend, min(columns, COLUMNS_MAX), ASCII if plain else FINE).lines()


class _Plot:
    def __init__(self, trend: Trend, columns: int, marks: PlotMarks) -> None:
        self._trend = trend
        self._marks = marks
        self._points = trend.series.points
        self._low, self._high = _find_range(trend)
        self._labels = self._row_labels()
        self._margin = max(map(len, self._labels.values())) + 2
        self._width = max(10, min(columns - self._margin, POINT_COLUMNS * len(self._points)))
        self._cells: dict[tuple[int, int], PlotCell] = {}

    def lines(self) -> Iterator[Text]:
        """Yield the plot from its top."""
        self._draw_changes()
        self._draw_groups()
        self._draw_points()
        for row in range(ROWS):
            line = Text(f"{self._labels.get(row, ''):>{self._margin - 2}} {self._marks.axis}", style="dim")
            for column in range(self._width):
                cell = self._cells.get((row, column), PlotCell(" ", ""))
                line.append(cell.mark, style=cell.style or "default")
            line.rstrip()
            yield line
        yield Text(f"{'':{self._margin - 1}}{self._marks.corner}{self._marks.base * self._width}", style="dim")
        yield Text(self._time_line(), style="dim")
        yield from self._legend()

    def _draw_changes(self) -> None:
        numbers = {point.run_id: number for number, point in enumerate(self._points)}
        for change in self._trend.changes:
            column = self._column(numbers[change.run_id] - 0.5)
            for row in range(ROWS):
                self._cells[row, column] = PlotCell(self._marks.change, STYLES[change.verdict])

    def _draw_groups(self) -> None:
        numbers = {point.run_id: number for number, point in enumerate(self._points)}
        styles = ["", *(STYLES[change.verdict] for change in self._trend.changes)]
        for group, style in zip(self._trend.groups, styles, strict=True):
            row = self._row(group.median)
            first, last = self._column(numbers[group.run_ids[0]]), self._column(numbers[group.run_ids[-1]])
            for column in range(first, last + 1):
                self._cells[row, column] = PlotCell(self._marks.median, style)

    def _draw_points(self) -> None:
        outliers = _find_outliers(self._trend)
        for number, point in enumerate(self._points):
            place = self._row(point.value), self._column(number)
            self._cells[place] = PlotCell(self._mark(point, outliers), "dim" if point.at_least else "bold")

    def _mark(self, point: TrendPoint, outliers: set[str]) -> str:
        if not self._low <= point.value <= self._high:
            return self._marks.beyond[point.value > self._high]
        if point.at_least:
            return self._marks.at_least
        return self._marks.apart if point.run_id in outliers else self._marks.run

    def _row_labels(self) -> dict[int, str]:
        unit = self._trend.series.unit
        ends = {0: self._high, ROWS - 1: self._low}
        medians = {self._row(group.median): group.median for group in self._trend.groups}
        return {row: format_measure(value, unit) for row, value in (ends | medians).items()}

    def _row(self, value: float) -> int:
        share = (value - self._low) / (self._high - self._low)
        return round((1 - min(1.0, max(0.0, share))) * (ROWS - 1))

    def _column(self, number: float) -> int:
        return min(self._width - 1, max(0, int((number + 0.5) * self._width / len(self._points))))

    def _time_line(self) -> str:
        series = self._trend.series
        first, last = (format_time_in_series(series, self._points[end].started_at) for end in (0, -1))
        gap = max(1, self._width - len(first) - len(last))
        return f"{'':{self._margin}}{first}{'' if first == last else f'{chr(32) * gap}{last}'}"

    def _legend(self) -> Iterator[Text]:
        used_marks = {cell.mark for cell in self._cells.values()}
        marks = self._marks
        meanings = {
            marks.run: "run",
            marks.median: "median",
            marks.at_least: "at least: a lower limit",
            marks.apart: "outlier",
            marks.beyond[0]: "below",
            marks.beyond[1]: "above",
        }
        entries = "   ".join(f"{mark} {text}" for mark, text in meanings.items() if mark in used_marks)
        yield Text(f"{'':{self._margin}}{entries}", style="dim")


def _find_range(trend: Trend) -> tuple[float, float]:
    """Return the range of the judged values, widened if they hardly differ."""
    outliers = _find_outliers(trend)
    judged = [each.value for each in trend.series.points if not each.at_least and each.run_id not in outliers]
    low, high = min(judged), max(judged)
    margin = max(0.0, FLAT_RATIO * abs(high) - (high - low)) / 2 or (0.5 if high == low else 0.0)
    return low - margin, high + margin


def _find_outliers(trend: Trend) -> set[str]:
    return {run_id for group in trend.groups for run_id in group.outlier_run_ids}
