"""What a comparison says: words, numbers, and how sure they are."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.goal import Flag
from nodrop.model.summary import MeasureUnit


class Verdict(StrEnum):
    """What B is beside A."""

    WORSE = "worse"
    BETTER = "better"
    EQUIVALENT = "equivalent"
    """Any difference is smaller than the margin, and that is proven."""
    UNDECIDED = "undecided"
    """The runs do not show which of the others it is."""


class Margins(Value):
    """Differences that do not matter, by the unit of a measure."""

    pps: float = Field(default=0.01, gt=0, lt=1)
    """Of a rate, relative. Two widths of a search: repeats on a quiet machine agree that far, and few act on less."""
    ns: float = Field(default=0.1, gt=0, lt=1)
    """Of a latency, relative."""
    ratio: float = Field(default=0.001, gt=0, lt=1)
    """Of a loss ratio, as a difference."""


class Point(Value):
    """A measure as one run has it."""

    run_id: str
    started_at: str
    value: float
    low: float | None = None
    high: float | None = None
    at_least: bool = False
    """Something other than the SUT kept it from being better."""


class Series(Value):
    """A measure as all runs of one side have it, in the order of time."""

    points: tuple[Point, ...]
    mean: float
    """Geometric for rates and latencies, arithmetic for loss ratios."""
    scatter: float | None
    """Standard deviation from run to run, relative to the mean (for loss ratios: absolute); None for a single run."""
    at_least: bool = False
    """One run or more says only what it is at least."""


Method = Literal["welch", "paired", "pooled", "assumed"]
"""Where the standard error is from: each side's own scatter; that of pairs measured one after the other; the scatter of
the side that has any; an assumption, where no side has."""


class MetricVerdict(Value):
    """One measure, judged."""

    key: str
    """Of the measure: `ndr`."""
    text: str
    """For people, with the frame size where several were measured: `NDR at 64 bytes`."""
    frame_size: str
    unit: MeasureUnit
    higher_is_better: bool
    headline: bool
    """Whether it is what the runs were made for. The others are looked at with less weight."""
    verdict: Verdict
    effect: float
    """B beside A: ratio - 1, as -0.05 for 5 % lower; of a loss ratio the difference."""
    low: float
    """The least it is, at the confidence of the comparison."""
    high: float
    """The most it is."""
    margin: float
    """Difference that does not matter, in the same terms."""
    p: float
    """Chance of such a difference, or a greater one, between runs of one and the same set-up."""
    p_adjusted: float
    """The same when all measures of the comparison are looked at for one that differs (Holm)."""
    p_equivalent: float
    """Chance to see sides so alike where the difference is as great as the margin; it is equivalent where the whole
    interval is inside the margin, when this is at most half of what the confidence leaves."""
    method: Method
    a: Series
    b: Series
    repeats_needed: int | None = None
    """How many more of each would likely decide it; None where it is decided, where no number would, and for measures
    that are no headline."""
    reason: str = ""
    """Why it is undecided, as a sentence."""
    flags: tuple[Flag, ...] = ()
    """What to know of its values: outliers, modes, figures that were the tester's."""


Room = Literal["sut", "traffic", "search", "tester", "lab", "host", "version", "label"]
"""Which part of a set-up differs."""


class Difference(Value):
    """Something in which the set-ups differ, and that may be why the figures do."""

    key: str
    """Where it is found, for programs: `host.kernel`, `plan.lab.sut`."""
    text: str
    """For people: `kernel`."""
    room: Room
    a: str
    """What A has; several values joined by commas."""
    b: str
    why: str = ""
    """What it does to figures, as a sentence, where that is known."""


class Side(Value):
    """A or B."""

    name: str
    """What people call it: its label, or the SUT's name, or the run's id."""
    run_ids: tuple[str, ...]
    sut: str


class Comparison(Value):
    """Two set-ups compared."""

    verdict: Verdict
    """Of all measures: worse if one is, else better if one is, equivalent if all headline measures are."""
    sentence: str
    """The verdict with its grounds."""
    a: Side
    b: Side
    confidence: float
    paired: bool
    """Whether they were measured in turn, so that drift of the machine cancels."""
    metrics: tuple[MetricVerdict, ...]
    """Headline measures first."""
    flags: tuple[Flag, ...] = ()
    """What to know before believing it."""
    advice: tuple[str, ...] = ()
    """What to do next, as sentences."""
    differences: tuple[Difference, ...] = ()
    """Suspects, likeliest first."""

    def of(self, verdict: Verdict) -> Sequence[MetricVerdict]:
        """The measures of which it says that."""
        return [metric for metric in self.metrics if metric.verdict is verdict]
