"""A comparison in words."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.statistics import Pair
from nodrop.analysis.types import Comparison, MetricVerdict, Series, Side, Verdict
from nodrop.model.summary import MeasureUnit
from nodrop.units import format_ns, format_pps, format_ratio

ANYTHING_FROM = 99.0
"""Differences from here on, as a share, are no figures any more."""
TIMES_FROM = 1.0
"""From twice as much on people say how many times."""
LEADS = {
    Verdict.WORSE: "B is worse than A",
    Verdict.BETTER: "B is better than A",
    Verdict.EQUIVALENT: "B is equivalent to A",
    Verdict.UNDECIDED: "Undecided whether B differs from A",
}
TOLD_MAX = 2
"""Measures in the first sentence; a table has the rest."""


def metric_text(text: str, frame_size: str) -> str:
    """A measure, with the frame size where there are several."""
    if not frame_size:
        return text
    return f"{text} at {frame_size} bytes" if frame_size.isdigit() else f"{text} with {frame_size}"


def percent_text(share: float) -> str:
    """A share that is not negative, to two digits or so: `5.1 %`, `0.42 %`, `12 %`."""
    percent = share * 100
    digits = 0 if percent >= 9.95 else 1 if percent >= 0.995 else 2
    return f"{percent:.{digits}f} %"


def effect_text(effect: float, unit: MeasureUnit) -> str:
    """A difference: `5.1 % lower`, `3.2 times as high`, `0.30 points more`."""
    if unit == "ratio":
        return f"{percent_text(abs(effect)).replace('%', 'points')} {'more' if effect > 0 else 'less'}"
    if effect >= ANYTHING_FROM:
        return "any number of times as high"
    if effect >= TIMES_FROM:
        return f"{effect + 1:.3g} times as high"
    return f"{percent_text(abs(effect))} {'higher' if effect > 0 else 'lower'}"


def interval_text(low: float, high: float, unit: MeasureUnit) -> str:
    """From the least to the most: `4.4 to 5.8 %` where both go the same way as the difference."""
    if low * high > 0 and max(abs(low), abs(high)) < TIMES_FROM:
        near, far = sorted((abs(low), abs(high)))
        name = "points" if unit == "ratio" else "%"
        return f"{percent_text(near).removesuffix(' %')} to {percent_text(far).removesuffix(' %')} {name}"
    return f"{effect_text(low, unit)} to {effect_text(high, unit)}"


def signed_text(effect: float, unit: MeasureUnit) -> str:
    """A difference for a table: `-5.1 %`, `+0.30 points`."""
    if effect >= ANYTHING_FROM:
        return "anything"
    text = percent_text(abs(effect))
    sign = "-" if effect < 0 else "+" if effect > 0 else ""
    return f"{sign}{text.replace('%', 'points') if unit == 'ratio' else text}"


def span_text(low: float, high: float, unit: MeasureUnit) -> str:
    """An interval for a table: `-5.8 to -4.4 %`."""
    near = signed_text(low, unit).removesuffix(" %").removesuffix(" points")
    return f"{near} to {signed_text(high, unit)}"


def margin_text(margin: float, unit: MeasureUnit) -> str:
    """A difference that does not matter: `1 %`, `0.1 points`."""
    return f"{margin * 100:g} {'points' if unit == 'ratio' else '%'}"


def grounds_text(metric: MetricVerdict, confidence: float) -> str:
    """A measure with how it differs and how sure that is."""
    interval = f"{confidence * 100:g} %: {interval_text(metric.low, metric.high, metric.unit)}"
    figures = f"{metric.text} is {effect_text(metric.effect, metric.unit)} ({interval})"
    limited = metric.verdict is Verdict.UNDECIDED and (metric.a.at_least or metric.b.at_least)
    return f"{figures}, by figures that the SUT did not limit" if limited else figures


def repeats_text(metrics: Sequence[MetricVerdict]) -> str:
    """How many runs there were: `5 repeats each`."""
    counts_a = {len(metric.a.points) for metric in metrics}
    counts_b = {len(metric.b.points) for metric in metrics}
    if counts_a == counts_b and len(counts_a) == 1:
        (count,) = counts_a
        return "one run each" if count == 1 else f"{count} repeats each"
    return f"{_span(counts_a)} of A, {_span(counts_b)} of B"


def _span(counts: set[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least} to {most} runs" if least < most else f"{most} run{'s' if most > 1 else ''}"


def headline(verdict: Verdict, metrics: Sequence[MetricVerdict], confidence: float) -> str:
    """The verdict in a sentence, with the measures it rests on."""
    told = [metric for metric in metrics if metric.verdict is verdict]
    if verdict in (Verdict.EQUIVALENT, Verdict.UNDECIDED):
        told = [metric for metric in metrics if metric.headline]
    within = f" within {margin_text(told[0].margin, told[0].unit)}" if verdict is Verdict.EQUIVALENT else ""
    grounds = ", ".join(grounds_text(metric, confidence) for metric in told[:TOLD_MAX])
    more = f" and {len(told) - TOLD_MAX} more" if len(told) > TOLD_MAX else ""
    parts = [f"{LEADS[verdict]}{within}: {grounds}{more}", repeats_text(told)]
    if verdict is Verdict.WORSE:
        parts += _other_way(metrics)
    elif verdict is Verdict.UNDECIDED:
        parts += _more_needed(told)
    return ", ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:])


def _other_way(metrics: Sequence[MetricVerdict]) -> Iterator[str]:
    better = [metric.text for metric in metrics if metric.verdict is Verdict.BETTER]
    if better:
        rest = f" and {len(better) - TOLD_MAX} more" if len(better) > TOLD_MAX else ""
        yield f"but better in {', '.join(better[:TOLD_MAX])}{rest}"


def _more_needed(metrics: Sequence[MetricVerdict]) -> Iterator[str]:
    needed = [metric.repeats_needed for metric in metrics if metric.repeats_needed]
    if needed:
        yield f"about {max(needed)} more of each would likely decide it"


def too_few(count_a: int, count_b: int) -> str:
    """Why so few runs decide nothing."""
    if count_a == count_b == 1:
        return "one run of each does not show how far runs of one set-up lie apart"
    return f"{count_a} and {count_b} runs can differ that clearly by chance alone"


def not_seen(alone: bool) -> str:
    """Why runs that differ decide nothing."""
    if alone:
        return "seen by itself it would differ; among so many measures one does by chance"
    return "the runs scatter more than they differ"


def advice(verdict: Verdict, metrics: Sequence[MetricVerdict], pairs: Sequence[Pair], suspected: bool) -> Iterator[str]:
    """What to do next."""
    undecided = [metric for metric in metrics if metric.verdict is Verdict.UNDECIDED and metric.headline]
    needed = [metric.repeats_needed for metric in undecided if metric.repeats_needed]
    if needed:
        times = "once more" if max(needed) == 1 else f"about {max(needed)} more times"
        how = "" if len(pairs) > 1 else ", in turn: nodrop run A.yaml --interleave B.yaml --repeat N"
        yield f"Measure each {times}{how}."
    limited = [metric.text for metric in metrics if metric.headline and (metric.a.at_least or metric.b.at_least)]
    if limited:
        yield f"{limited[0]} was not the SUT's alone: allow higher loads, or give the tester CPUs of its own."
    if any(metric.repeats_needed is None and not metric.a.at_least and not metric.b.at_least for metric in undecided):
        yield "Bounds this far apart hide the difference whatever the number of repeats: search with a smaller width."
    if verdict is Verdict.WORSE and suspected:
        yield "Look at what differs between the set-ups first; undo one thing at a time and measure again."


def figure_text(value: float, unit: MeasureUnit) -> str:
    """A figure of a measure: `1.020 Mpps`, `23.1 µs`, `0.5 %`."""
    if unit == "pps":
        return format_pps(value)
    return format_ns(value) if unit == "ns" else format_ratio(value)


def series_text(series: Series, unit: MeasureUnit) -> str:
    """A side's figure with its scatter: `1.020 Mpps ±0.50 %`, `≥ 1.020 Mpps`."""
    least = "≥ " if series.at_least else ""
    scatter = ""
    if series.scatter is not None:
        shown = percent_text(series.scatter)
        if unit == "ratio":
            shown = shown.replace("%", "points")
        scatter = f" ±{shown}"
    return f"{least}{figure_text(series.mean, unit)}{scatter}"


def short_sentence(comparison: Comparison) -> str:
    """The verdict as a heading: `B is worse than A: NDR is 5.1 % lower`."""
    told = comparison.of(comparison.verdict) or comparison.metrics
    first = next((metric for metric in told if metric.headline), told[0])
    within = f" within {margin_text(first.margin, first.unit)}" if comparison.verdict is Verdict.EQUIVALENT else ""
    return f"{LEADS[comparison.verdict]}{within}: {first.text} is {effect_text(first.effect, first.unit)}"


def side_text(name: str, side: Side) -> str:
    """Who a side is: `A: vnf-l2, 5 runs from 20260131T120000Z-3f9a2c on`."""
    runs = f"run {side.run_ids[0]}" if len(side.run_ids) == 1 else f"{len(side.run_ids)} runs from {side.run_ids[0]} on"
    called = "" if side.name in (side.sut, side.run_ids[0]) else f"{side.name}, "
    return f"{name}: {called}{side.sut}, {runs}"


def method_text(comparison: Comparison) -> str:
    """What the numbers mean, in a sentence or two."""
    names = {
        "welch": "intervals by Welch's t",
        "paired": "intervals by Student's t of pairs measured in turn",
        "pooled": "intervals by Student's t with the scatter of the side that has repeats",
        "assumed": "intervals from an assumed scatter, as there are no repeats",
    }
    methods = "; ".join(names[method] for method in dict.fromkeys(metric.method for metric in comparison.metrics))
    confidence = f"{comparison.confidence * 100:g} %"
    margins = dict.fromkeys(margin_text(metric.margin, metric.unit) for metric in comparison.metrics)
    return (
        f"{confidence} {methods}. Equivalent: proven to differ by less than {' / '.join(margins)}. "
        f"Where nothing differs, at most {(1 - comparison.confidence) * 100:.3g} % of comparisons call anything better "
        "or worse."
    )
