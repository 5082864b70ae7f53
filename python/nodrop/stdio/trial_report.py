"""Reports of the client about a trial, reconciled to counts that agree with each other."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from nodrop.errors import ConfigError
from nodrop.model.trial import Trial, TrialResult

LOAD_TOLERANCE = 0.01
"""Relative tolerance of a report's load: testers round loads."""
LENIENT = ConfigDict(frozen=True, extra="ignore", strict=True, use_attribute_docstrings=True, allow_inf_nan=False)


class Progress(BaseModel):
    """Counts since the trial began."""

    model_config = LENIENT
    elapsed: float = Field(gt=0)
    sent: float = Field(ge=0)
    lost: float = Field(ge=0)
    """Frames that are certainly lost."""


class TrialReport(BaseModel):
    """The report of a completed trial; `lost` or `loss_ratio` is required."""

    model_config = LENIENT
    load: float | None = None
    sent: float | None = Field(default=None, ge=0)
    lost: float | None = Field(default=None, ge=0)
    """Frames sent that did not arrive."""
    intended: float | None = Field(default=None, ge=0)
    """Frames due at this load in this time."""
    elapsed: float | None = Field(default=None, gt=0)
    """Time of sending."""
    loss_ratio: float | None = Field(default=None, ge=0, le=1)
    """Share of the frames lost or unsent; overrides the counts."""


class ReportedTrial(TrialResult):
    """A trial with the loss ratio of its report, which need not correspond to a whole number of frames."""

    reported_loss_ratio: float | None = None
    recounted: bool = False
    """Whether the final loss is lower than that of a progress message."""

    @property
    def loss_ratio(self) -> float:
        """Lost share in [0, 1]."""
        return super().loss_ratio if self.reported_loss_ratio is None else self.reported_loss_ratio


class FrameCounts(NamedTuple):
    """Frames of a completed trial."""

    intended: int
    sent: int
    lost: int


def reconcile_counts(report: TrialReport, trial: Trial, elapsed_s: float, source: str) -> FrameCounts:
    """Return the frames of a trial; counts that the report lacks follow from the others.

    Without a count of sent frames, all frames due were sent. A loss ratio covers lost and unsent frames: missing frames
    that were not lost were not sent.

    Raises: ConfigError for a report of another load, for one without loss, and for more frames lost than sent.
    """
    load_pps = trial.intended_load_pps
    if report.load is not None and abs(report.load - load_pps) > LOAD_TOLERANCE * load_pps:
        raise ConfigError(f"{source}: load is {report.load:g}, not {load_pps:g}; measure the requested load")
    intended_count = _derive_intended_count(report, trial, elapsed_s)
    offered_count = intended_count if report.sent is None else round(report.sent)
    lost_count = None if report.lost is None else round(report.lost)
    if lost_count is not None and lost_count > offered_count:
        raise ConfigError(f"{source}: {lost_count} lost of {offered_count} sent; count only frames that were sent")
    if report.loss_ratio is not None:
        missing_count = _derive_missing_count(report.loss_ratio, max(intended_count, offered_count))
        unsent_count = max(0, intended_count - offered_count)
        lost_max = max(0, missing_count - unsent_count) if lost_count is None else lost_count
        lost_count = min(lost_max, missing_count)
        intended_count = offered_count + missing_count - lost_count
    if lost_count is None:
        raise ConfigError(f"{source}: lost and loss_ratio are missing; add one of them")
    return FrameCounts(intended_count, offered_count, lost_count)


def _derive_intended_count(report: TrialReport, trial: Trial, elapsed_s: float) -> int:
    """Return the frames due in the time of sending, even if the report counts those of the entire trial."""
    due_count = round(trial.intended_load_pps * min(elapsed_s, trial.duration_s))
    if report.intended is None:
        return due_count
    return min(round(report.intended), due_count) if elapsed_s < trial.duration_s else round(report.intended)


def _derive_missing_count(loss_ratio: float, intended_count: int) -> int:
    """Return the lost and unsent frames, at least one for a loss ratio above 0."""
    return min(intended_count, max(round(loss_ratio * intended_count), 1)) if loss_ratio else 0
