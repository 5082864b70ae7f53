"""What the other side tells of a trial, as counts that agree with each other."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from nodrop.errors import ConfigError
from nodrop.model.trial import Trial, TrialResult

LOAD_TOLERANCE = 0.01
"""How far the load of an answer may be from the one asked, relatively: testers round it."""
LENIENT = ConfigDict(frozen=True, extra="ignore", strict=True, use_attribute_docstrings=True, allow_inf_nan=False)


class Progress(BaseModel):
    """Counts since the trial began."""

    model_config = LENIENT
    elapsed: float = Field(gt=0)
    sent: float = Field(ge=0)
    lost: float = Field(ge=0)
    """Frames certainly lost."""


class TrialReport(BaseModel):
    """A trial that is over; `lost` or `loss_ratio` has to be there."""

    model_config = LENIENT
    load: float | None = None
    sent: float | None = Field(default=None, ge=0)
    lost: float | None = Field(default=None, ge=0)
    """Frames sent that did not arrive."""
    intended: float | None = Field(default=None, ge=0)
    """Frames that the load and the time ask for."""
    elapsed: float | None = Field(default=None, gt=0)
    """Time really sent."""
    loss_ratio: float | None = Field(default=None, ge=0, le=1)
    """Lost share of the frames, unsent ones included; goes before the counts."""


class ReportedTrial(TrialResult):
    """A trial with the loss ratio it was told with, which need not be a whole number of frames."""

    told_loss_ratio: float | None = None
    recounted: bool = False
    """Whether fewer frames were lost in the end than had been told on the way."""

    @property
    def loss_ratio(self) -> float:
        """Lost share in [0, 1]."""
        return super().loss_ratio if self.told_loss_ratio is None else self.told_loss_ratio


class FrameCounts(NamedTuple):
    """Frames of a trial that is over."""

    intended: int
    sent: int
    lost: int


def reconcile_counts(told: TrialReport, trial: Trial, elapsed_s: float, where: str) -> FrameCounts:
    """The frames of a trial, those that were not told worked out from the others.

    Nothing told: what the load and the time sent ask for was sent. A loss ratio says how many frames are missing in
    all; those that were not lost were then never sent.

    Raises: ConfigError for an answer to something else, for one without loss, and where more was lost than sent.
    """
    if told.load is not None and abs(told.load - trial.intended_load_pps) > LOAD_TOLERANCE * trial.intended_load_pps:
        raise ConfigError(f"{where}: load {trial.intended_load_pps:g} asked, {told.load:g} told; measure what is asked")
    intended_count = _intended_count(told, trial, elapsed_s)
    offered_count = intended_count if told.sent is None else round(told.sent)
    lost_count = None if told.lost is None else round(told.lost)
    if lost_count is not None and lost_count > offered_count:
        raise ConfigError(f"{where}: {lost_count} lost of {offered_count} sent told; count only frames that were sent")
    if told.loss_ratio is not None:
        missing_count = _missing_count(told.loss_ratio, max(intended_count, offered_count))
        unsent_count = max(0, intended_count - offered_count)
        most_count = max(0, missing_count - unsent_count) if lost_count is None else lost_count
        lost_count = min(most_count, missing_count)
        intended_count = offered_count + missing_count - lost_count
    if lost_count is None:
        raise ConfigError(f"{where}: lost or loss_ratio asked, neither told; add one of them")
    return FrameCounts(intended_count, offered_count, lost_count)


def _intended_count(told: TrialReport, trial: Trial, elapsed_s: float) -> int:
    """Frames due in the time really sent, also where those of the whole trial are told."""
    due_count = round(trial.intended_load_pps * min(elapsed_s, trial.duration_s))
    if told.intended is None:
        return due_count
    return min(round(told.intended), due_count) if elapsed_s < trial.duration_s else round(told.intended)


def _missing_count(loss_ratio: float, asked_count: int) -> int:
    """At least one frame where anything was lost."""
    return min(asked_count, max(round(loss_ratio * asked_count), 1)) if loss_ratio else 0
