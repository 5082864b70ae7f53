"""Grade of a function in several configurations by the throughput that is left of a baseline.

Source: ETSI GS NFV-PER 001 clause C.2.1.1.5 and table C.2. Its grades are half-open here (B: from 80 % to below 95 %),
as the table has no grade for 94.5 %.
"""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

from nodrop.errors import ConfigError
from nodrop.model.summary import Measure, Summary

Letter = Literal["A", "B", "C", "D", "F"]
GRADES: tuple[tuple[Letter, float], ...] = (("A", 0.95), ("B", 0.80), ("C", 0.70), ("D", 0.60))
"""Grades with the least share of the baseline that each requires; below all: F."""
ALIKE = ("frame_size", "bidirectional", "chain_count", "flow_count")
"""Properties of the traffic that all results of a grade share."""


class GradedResult(NamedTuple):
    """The throughput of one configuration beside the baseline."""

    name: str
    summary: Summary
    measure: Measure
    share: float
    """Of the baseline's throughput."""

    @property
    def rate_bps(self) -> float:
        """Bits per second of all frames with FCS, both ways together."""
        return self.measure.value * self.summary.frame_bytes * 8

    @property
    def cost(self) -> float:
        """Share of the baseline that is lost; negative above the baseline."""
        return 1 - self.share


class GradedResults(NamedTuple):
    """Configurations with their grade."""

    baseline: GradedResult
    others: tuple[GradedResult, ...]

    @property
    def worst(self) -> GradedResult:
        """The configuration that decides the grade."""
        return min(self.others, key=lambda each: each.share)

    @property
    def letter(self) -> Letter:
        """The grade."""
        return find_grade(self.worst.share)


def find_grade(share: float) -> Letter:
    """Return the grade for the smallest share of the baseline."""
    return next((letter for letter, least in GRADES if share >= least), "F")


def grade_results(baseline: tuple[str, Summary], others: Sequence[tuple[str, Summary]], metric: str) -> GradedResults:
    """Grade named results against a baseline by a metric, e.g. `ndr`.

    Raises: ConfigError without another result, for a result without the metric, or for different traffic.
    """
    if not others:
        raise ConfigError("grade: only the baseline is named; name the results of further configurations")
    base = _find_measure(*baseline, metric)
    for name, summary in others:
        _require_alike(baseline, name, summary)
    graded = [
        GradedResult(name, summary, measure := _find_measure(name, summary, metric), measure.value / base.value)
        for name, summary in others
    ]
    return GradedResults(GradedResult(*baseline, base, 1.0), tuple(graded))


def format_share(share: float) -> str:
    """Format a share, rounded down, so that 79.99 % does not read like a better grade."""
    return f"{math.floor(share * 1000 + 1e-9) / 10:.1f} %"


def format_grade(graded: GradedResults) -> str:
    """Format the grade and the result that decides it."""
    worst = graded.worst
    rest = f"{format_share(worst.share)} of the {worst.measure.text} of the baseline"
    return f"Grade {graded.letter}: {worst.name} has {rest}"


def _find_measure(name: str, summary: Summary, metric: str) -> Measure:
    rates = {measure.key: measure for measure in summary.measures if measure.unit == "pps" and measure.value > 0}
    if metric not in rates:
        known = f"; its rates are {', '.join(rates)}, choose one by --metric" if rates else "; name another result"
        raise ConfigError(f"grade: {name} has no rate {metric}{known}")
    return rates[metric]


def _require_alike(baseline: tuple[str, Summary], name: str, summary: Summary) -> None:
    for key in ALIKE:
        base, other = getattr(baseline[1], key), getattr(summary, key)
        if base != other:
            raise ConfigError(
                f"grade: the baseline {baseline[0]} and {name} have different traffic ({key}: {base}, {other}); name "
                "results that differ in the configuration of the SUT alone"
            )
