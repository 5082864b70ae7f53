"""Texts of a comparison."""

from collections.abc import Iterator, Sequence

from nodrop.analysis.statistics import RunPair
from nodrop.analysis.types import Comparison, ComparisonOutcome, MetricComparison, MetricSeries, Side
from nodrop.model.summary import MeasureUnit
from nodrop.units import format_count, format_ns, format_pps, format_ratio

EFFECT_UNBOUNDED_FROM = 99.0
"""Relative effect from which no number is shown."""
RATIO_FROM = 1.0
"""Relative effect from which a factor is shown instead of a percentage."""
OUTCOME_TEXTS = {
    ComparisonOutcome.WORSE: "B is worse than A",
    ComparisonOutcome.BETTER: "B is better than A",
    ComparisonOutcome.EQUIVALENT: "B is equivalent to A",
    ComparisonOutcome.UNDECIDED: "Undecided whether B differs from A",
}
NEEDS_REPEATS = "needs repeats"
HEADLINE_METRICS_MAX = 2
"""Most measures in the headline; a table lists the others."""


def format_metric_name(text: str, frame_size: str) -> str:
    """Format the name of a measure, with the frame size where there are several."""
    if not frame_size:
        return text
    return f"{text} at {frame_size} bytes" if frame_size.isdigit() else f"{text} with {frame_size}"


def format_percent(share: float) -> str:
    """Format a share of at least 0 with two significant digits: `5.1 %`, `0.42 %`, `12 %`."""
    percent = share * 100
    digits = 0 if percent >= 9.95 else 1 if percent >= 0.995 else 2
    return f"{percent:.{digits}f} %"


def format_effect(effect: float, unit: MeasureUnit) -> str:
    """Format an effect: `5.1 % lower`, `3.2 times as high`, `0.30 points more`."""
    if unit == "ratio":
        return f"{format_percent(abs(effect)).replace('%', 'points')} {'more' if effect > 0 else 'less'}"
    if effect >= EFFECT_UNBOUNDED_FROM:
        return "any number of times as high"
    if effect >= RATIO_FROM:
        return f"{effect + 1:.3g} times as high"
    return f"{format_percent(abs(effect))} {'higher' if effect > 0 else 'lower'}"


def format_interval(low: float, high: float, unit: MeasureUnit) -> str:
    """Format a confidence interval: `4.4 to 5.8 %` where both ends have the sign of the effect."""
    if low * high > 0 and max(abs(low), abs(high)) < RATIO_FROM:
        near, far = sorted((abs(low), abs(high)))
        name = "points" if unit == "ratio" else "%"
        return f"{format_percent(near).removesuffix(' %')} to {format_percent(far).removesuffix(' %')} {name}"
    return f"{format_effect(low, unit)} to {format_effect(high, unit)}"


def describe_effect(metric: MetricComparison) -> str:
    """Describe the effect on a measure; a lower limit of one side gives a lower limit of the effect, or none."""
    if metric.is_open:
        return "not comparable, as a lower limit"
    effect = format_effect(metric.effect, metric.unit)
    return f"at least {effect}" if metric.is_limit else effect


def format_metric_effect(metric: MetricComparison) -> str:
    """Format the effect on a measure for a table; `-` where a lower limit gives none."""
    if metric.is_open:
        return "-"
    effect = format_signed_effect(metric.effect, metric.unit)
    return f"at least {effect}" if metric.is_limit else effect


def format_signed_effect(effect: float, unit: MeasureUnit) -> str:
    """Format an effect for a table: `-5.1 %`, `+0.30 points`."""
    if effect >= EFFECT_UNBOUNDED_FROM:
        return "anything"
    text = format_percent(abs(effect))
    sign = "-" if effect < 0 else "+" if effect > 0 else ""
    return f"{sign}{text.replace('%', 'points') if unit == 'ratio' else text}"


def format_effect_range(low: float, high: float, unit: MeasureUnit) -> str:
    """Format a confidence interval for a table: `-5.8 to -4.4 %`."""
    near = format_signed_effect(low, unit).removesuffix(" %").removesuffix(" points")
    return f"{near} to {format_signed_effect(high, unit)}"


def format_margin(margin: float, unit: MeasureUnit) -> str:
    """Format an equivalence margin: `1 %`, `0.1 points`."""
    return f"{margin * 100:g} {'points' if unit == 'ratio' else '%'}"


def format_evidence(metric: MetricComparison, confidence: float) -> str:
    """Format the effect on a measure with its confidence interval, if its runs support one."""
    if metric.is_open:
        a, b = (_format_mean(side, metric.unit) for side in (metric.a, metric.b))
        return f"{metric.text} is {a} and {b}, and a lower limit shows no difference"
    effect = f"{metric.text} is {describe_effect(metric)}"
    if metric.needs_repeats:
        return effect
    return f"{effect} ({confidence * 100:g} %: {format_interval(metric.low, metric.high, metric.unit)})"


def _format_mean(series: MetricSeries, unit: MeasureUnit) -> str:
    return f"{'at least ' if series.at_least else ''}{format_value(series.mean, unit)}"


def format_outcome(metric: MetricComparison) -> str:
    """Format the outcome of a measure: `worse`, `needs repeats`."""
    return NEEDS_REPEATS if metric.needs_repeats else metric.verdict.value


def format_metric_range(metric: MetricComparison) -> str:
    """Format the confidence interval of a measure for a table; `-` where its runs do not support one."""
    return "-" if metric.needs_repeats or metric.is_open else format_effect_range(metric.low, metric.high, metric.unit)


def format_repeat_counts(metrics: Sequence[MetricComparison]) -> str:
    """Format the number of runs: `5 repeats each`."""
    counts_a = {len(metric.a.points) for metric in metrics}
    counts_b = {len(metric.b.points) for metric in metrics}
    if counts_a == counts_b and len(counts_a) == 1:
        (count,) = counts_a
        return "one run each" if count == 1 else f"{count} repeats each"
    return f"{_format_span(counts_a)} of A, {_format_span(counts_b)} of B"


def _format_span(counts: set[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least} to {most} runs" if least < most else format_count(most, "run")


def format_headline(verdict: ComparisonOutcome, metrics: Sequence[MetricComparison], confidence: float) -> str:
    """Format the outcome as a sentence, with the measures that decide it."""
    decisive = [metric for metric in metrics if metric.verdict is verdict]
    if verdict in (ComparisonOutcome.EQUIVALENT, ComparisonOutcome.UNDECIDED):
        decisive = [metric for metric in metrics if metric.headline]
    within = (
        f" within {format_margin(decisive[0].margin, decisive[0].unit)}"
        if verdict is ComparisonOutcome.EQUIVALENT
        else ""
    )
    grounds = ", ".join(format_evidence(metric, confidence) for metric in decisive[:HEADLINE_METRICS_MAX])
    more = f" and {len(decisive) - HEADLINE_METRICS_MAX} more" if len(decisive) > HEADLINE_METRICS_MAX else ""
    needs_repeats = all(metric.needs_repeats for metric in decisive)
    outcome = NEEDS_REPEATS.capitalize() if needs_repeats else OUTCOME_TEXTS[verdict]
    parts = [f"{outcome}{within}: {grounds}{more}", format_repeat_counts(decisive)]
    if verdict is ComparisonOutcome.WORSE:
        parts += _list_better_metrics(metrics)
    elif verdict is ComparisonOutcome.UNDECIDED:
        parts += _format_repeats_needed(decisive)
    return ", ".join(parts[:2]) + "".join(f"; {part}" for part in parts[2:])


def _list_better_metrics(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    better = [metric.text for metric in metrics if metric.verdict is ComparisonOutcome.BETTER]
    if better:
        more = f" and {len(better) - HEADLINE_METRICS_MAX} more" if len(better) > HEADLINE_METRICS_MAX else ""
        yield f"but better in {', '.join(better[:HEADLINE_METRICS_MAX])}{more}"


def _format_repeats_needed(metrics: Sequence[MetricComparison]) -> Iterator[str]:
    counts = [metric.repeats_needed for metric in metrics if metric.repeats_needed]
    if counts:
        yield f"about {max(counts)} more of each would likely decide it"


def explain_too_few_runs(count_a: int, count_b: int) -> str:
    """Explain why the number of runs cannot decide the outcome."""
    if count_a == count_b == 1:
        return "one run of each side does not show the scatter between runs"
    return f"{count_a} and {count_b} runs can differ this much by chance"


def explain_no_difference(alone: bool) -> str:
    """Explain why a difference between the runs does not decide the outcome."""
    if alone:
        return "significant on its own, but not after adjustment for the number of measures"
    return "the scatter between runs exceeds the difference"


def suggest_next_steps(
    verdict: ComparisonOutcome, metrics: Sequence[MetricComparison], pairs: Sequence[RunPair], suspected: bool
) -> Iterator[str]:
    """Suggest next steps."""
    undecided = [metric for metric in metrics if metric.verdict is ComparisonOutcome.UNDECIDED and metric.headline]
    counts = [metric.repeats_needed for metric in undecided if metric.repeats_needed]
    if counts:
        times = "once more" if max(counts) == 1 else f"about {max(counts)} more times"
        how = "" if len(pairs) > 1 else ", alternating: nodrop run -c A.yaml --interleave B.yaml --repeat N"
        yield f"Measure each {times}{how}."
    limited = [metric.text for metric in metrics if metric.headline and metric.is_limit]
    if limited:
        yield (
            f"{limited[0]} is only a lower limit in some runs: allow more time and higher loads, or give the tester "
            "dedicated CPUs."
        )
    if any(metric.repeats_needed is None and not metric.is_limit for metric in undecided):
        yield "The search width hides the difference whatever the number of repeats: search with a smaller width."
    if verdict is ComparisonOutcome.WORSE and suspected:
        yield "Check the differences between the setups: revert one at a time and measure again."


def format_value(value: float, unit: MeasureUnit) -> str:
    """Format a value of a measure: `1.020 Mpps`, `23.1 µs`, `0.5 %`."""
    if unit == "pps":
        return format_pps(value)
    return format_ns(value) if unit == "ns" else format_ratio(value)


def format_series(series: MetricSeries, unit: MeasureUnit) -> str:
    """Format the mean of a side with its scatter: `1.020 Mpps ±0.50 %`, `≥ 1.020 Mpps`."""
    least = "≥ " if series.at_least else ""
    scatter = ""
    if series.scatter is not None:
        text = format_percent(series.scatter)
        if unit == "ratio":
            text = text.replace("%", "points")
        scatter = f" ±{text}"
    return f"{least}{format_value(series.mean, unit)}{scatter}"


def format_short_outcome(comparison: Comparison) -> str:
    """Format the outcome as a heading: `B is worse than A: NDR is 5.1 % lower`."""
    decisive = comparison.metrics_with(comparison.verdict) or comparison.metrics
    first = next((metric for metric in decisive if metric.headline), decisive[0])
    within = (
        f" within {format_margin(first.margin, first.unit)}"
        if comparison.verdict is ComparisonOutcome.EQUIVALENT
        else ""
    )
    outcome = NEEDS_REPEATS.capitalize() if comparison.needs_repeats else OUTCOME_TEXTS[comparison.verdict]
    return f"{outcome}{within}: {first.text} is {describe_effect(first)}"


def format_side(name: str, side: Side) -> str:
    """Format a side: `A: vnf-l2, 5 runs from 20260131T120000Z-3f9a2c on`."""
    runs = f"run {side.run_ids[0]}" if len(side.run_ids) == 1 else f"{len(side.run_ids)} runs from {side.run_ids[0]} on"
    label = "" if side.name in (side.sut, side.run_ids[0]) else f"{side.name}, "
    return f"{name}: {label}{side.sut}, {runs}"


def describe_method(comparison: Comparison) -> str:
    """Describe the statistical method in one or two sentences."""
    names = {
        "welch": "intervals by Welch's t",
        "paired": "intervals by Student's t of pairs of alternating runs",
        "pooled": "intervals by Student's t with the scatter of the side with repeats",
        "assumed": "confidence needs repeats: the number of repeats assumes the scatter of a shared machine",
    }
    methods = "; ".join(names[method] for method in dict.fromkeys(metric.method for metric in comparison.metrics))
    confidence = f"{comparison.confidence * 100:g} %"
    margins = dict.fromkeys(format_margin(metric.margin, metric.unit) for metric in comparison.metrics)
    return (
        f"{confidence} {methods}. Equivalent: shown to differ by less than {' / '.join(margins)}. "
        f"Where nothing differs, at most {(1 - comparison.confidence) * 100:.3g} % of comparisons report better "
        "or worse."
    )
