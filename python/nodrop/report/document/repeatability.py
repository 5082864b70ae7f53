"""The repeatability of rates, by earlier runs of the same setup; the width of the bounds is only the search's step."""

from collections.abc import Iterator

from nodrop.formatting import format_width
from nodrop.model.result import EarlierFigure, EarlierRuns, RunResult
from nodrop.units import format_count, format_pps


def describe_repeatability(result: RunResult) -> Iterator[str]:
    """Yield the range of the rates in earlier runs: `5 earlier runs of this setup: NDR 498.0 kpps to 531.0 kpps`."""
    earlier = result.earlier_runs
    if earlier is None:
        return
    if not earlier.run_ids:
        yield "no earlier run of this setup, so the repeatability is unknown"
        return
    figures = "; ".join(_format_figure(each, earlier) for each in earlier.figures)
    yield f"{format_count(len(earlier.run_ids), 'earlier run')} of this setup: {figures}"


def describe_resolution(result: RunResult) -> Iterator[str]:
    """Yield the repeatability, and that the distance of the bounds is another thing."""
    for text in describe_repeatability(result):
        yield f"{text[0].upper()}{text[1:]}."
    widths = dict.fromkeys(format_width(each) for each in result.goals if each.lower and each.upper)
    if widths and result.earlier_runs:
        yield f"Width, {', '.join(widths)}, is the resolution of this search; repeats may differ by more."


def _format_figure(figure: EarlierFigure, earlier: EarlierRuns) -> str:
    rates = dict.fromkeys((format_pps(figure.lowest), format_pps(figure.highest)))
    some = "" if figure.count == len(earlier.run_ids) else f" in {figure.count} of them"
    return f"{figure.text} {' to '.join(rates)}{some}"
