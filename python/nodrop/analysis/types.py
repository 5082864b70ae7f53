"""The values of a comparison: outcomes, effects, intervals and differences between setups."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field

from nodrop.model.base import Value
from nodrop.model.goal import Flag
from nodrop.model.summary import MeasureUnit


class ComparisonOutcome(StrEnum):
    """The outcome of B compared with A."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    """The difference is shown to be smaller than the margin."""
    UNDECIDED = "undecided"
    """The runs do not support any of the other outcomes."""


class Margins(Value):
    """The equivalence margins: differences too small to matter, by unit of the measure."""

    pps: float = Field(default=0.01, gt=0, lt=1)
    """Relative margin of a rate: two search widths, the agreement of repeats on a quiet machine."""
    ns: float = Field(default=0.1, gt=0, lt=1)
    """Relative margin of a latency."""
    ratio: float = Field(default=0.001, gt=0, lt=1)
    """Absolute margin of a loss ratio."""


DEFAULT_MARGINS = Margins()


class MetricPoint(Value):
    """The value of a measure in one run."""

    run_id: str
    started_at: str
    value: float
    low: float | None = None
    high: float | None = None
    at_least: bool = False
    """Whether something other than the SUT limited the value."""


class MetricSeries(Value):
    """The values of a measure in all runs of one side, in order of time."""

    points: tuple[MetricPoint, ...]
    mean: float
    """Geometric for rates and latencies, arithmetic for loss ratios."""
    scatter: float | None
    """Standard deviation between runs, relative to the mean (absolute for loss ratios); None for a single run."""
    at_least: bool = False
    """Whether at least one run gives only a lower limit."""


ErrorMethod = Literal["welch", "paired", "pooled", "assumed"]
"""The source of the standard error: the scatter of each side; of the pairs of alternating runs; of the only side with
repeats; an assumption where no side has repeats."""


class MetricComparison(Value):
    """The comparison of one measure."""

    key: str
    """The key of the measure, e.g. `ndr`."""
    text: str
    """The display name, with the frame size where several were measured: `NDR at 64 bytes`."""
    frame_size: str
    unit: MeasureUnit
    higher_is_better: bool
    headline: bool
    """Whether the measure is a primary metric of the runs. Other measures have less weight."""
    verdict: ComparisonOutcome
    effect: float
    """B relative to A: ratio - 1, e.g. -0.05 for 5 % lower; for a loss ratio, the difference."""
    low: float
    """Lower end of the confidence interval of the effect; without repeats it follows from an assumed scatter."""
    high: float
    """Upper end of the confidence interval of the effect."""
    margin: float
    """Equivalence margin, in the unit of the effect."""
    p: float
    """Two-sided p-value: probability of this or a larger difference between runs of the same setup."""
    p_adjusted: float
    """The p-value adjusted for the number of measures in the comparison (Holm)."""
    p_equivalent: float
    """p-value of the equivalence test (two one-sided tests against the margin). The sides are equivalent where the
    entire interval is inside the margin: where this is at most (1 - confidence) / 2."""
    method: ErrorMethod
    a: MetricSeries
    b: MetricSeries
    repeats_needed: int | None = None
    """Additional repeats of each side that would likely decide the outcome; None where it is decided, where no number
    would decide it, and for measures that are not headlines."""
    reason: str = ""
    """The reason for an undecided outcome."""
    needs_repeats: bool = False
    """Whether the outcome is undecided because no difference between so few runs would be significant."""
    flags: tuple[Flag, ...] = ()
    """Notes on the values: outliers, modes, drift."""

    @property
    def is_limit(self) -> bool:
        """Whether a side has only a lower limit of the value, so that the effect is a limit as well."""
        return self.a.at_least or self.b.at_least

    @property
    def is_open(self) -> bool:
        """Whether such a limit shows no effect."""
        return self.is_limit and self.verdict is ComparisonOutcome.UNDECIDED


SetupArea = Literal["sut", "traffic", "search", "tester", "lab", "host", "version", "label"]
"""The part of a setup that differs."""


class SetupDifference(Value):
    """A difference between the setups: a possible cause of different results."""

    model_config = ConfigDict(serialize_by_alias=True)

    key: str
    """Machine-readable path: `host.kernel`, `plan.lab.sut`."""
    text: str
    """Display name: `kernel`."""
    area: SetupArea = Field(validation_alias=AliasChoices("area", "room"), serialization_alias="room")
    a: str
    """The value of A; several values are joined by commas."""
    b: str
    why: str = ""
    """The effect on results, as a sentence, where known."""


class Side(Value):
    """One side of a comparison: A or B."""

    name: str
    """Display name: the label, the SUT's name or the run id."""
    run_ids: tuple[str, ...]
    sut: str


class Comparison(Value):
    """The comparison of two setups."""

    verdict: ComparisonOutcome
    """The overall outcome: worse if any measure is, else better if any is, equivalent if all headline measures are."""
    sentence: str
    """The outcome with its evidence, as a sentence."""
    a: Side
    b: Side
    confidence: float
    paired: bool
    """Whether the runs of A and B alternated, which cancels drift of the machine."""
    metrics: tuple[MetricComparison, ...]
    """Headline measures first."""
    flags: tuple[Flag, ...] = ()
    """Reservations about the comparison."""
    advice: tuple[str, ...] = ()
    """Suggested next steps, as sentences."""
    differences: tuple[SetupDifference, ...] = ()
    """Differences between the setups, most likely cause first."""

    @property
    def needs_repeats(self) -> bool:
        """Whether the outcome is undecided because all primary metrics have too few runs."""
        headlines = [metric for metric in self.metrics if metric.headline]
        return self.verdict is ComparisonOutcome.UNDECIDED and all(metric.needs_repeats for metric in headlines)

    def metrics_with(self, outcome: ComparisonOutcome) -> Sequence[MetricComparison]:
        """Return the measures with an outcome."""
        return [metric for metric in self.metrics if metric.verdict is outcome]
