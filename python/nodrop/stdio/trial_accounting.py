"""Accounting of one trial that the client measures: its progress, when to stop it, its result."""

from collections.abc import Sequence
from itertools import pairwise
from operator import sub
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from nodrop.errors import ConfigError
from nodrop.model.trial import StopClause, StreamCounts, Trial, Validity, Windows
from nodrop.model.validation_message import format_validation_error
from nodrop.search.base import Sample
from nodrop.stdio.trial_report import FrameCounts, Progress, ReportedTrial, TrialReport, reconcile_counts

Report = TypeVar("Report", bound=BaseModel)
START = Sample(0.0, 0, 0)
ROUNDING_COUNT = 1
"""Difference of loss counts that is due to rounding."""


class TrialAccount:
    """The account of a trial, from its request to its result."""

    def __init__(self, trial: Trial, index: int) -> None:
        self._trial = trial
        self._index = index
        self._samples: list[Sample] = []
        self._first_loss_s: float | None = None
        self._stopped_by: StopClause | None = None

    def progress(self, content: object) -> bool:
        """Record progress; return whether the trial has to stop. Raises ConfigError."""
        report = self._parse(Progress, "progress", content)
        if self._samples and report.elapsed < self._samples[-1].elapsed_s:
            raise ConfigError(
                f"{self._source('progress')}: elapsed {report.elapsed:g} after {self._samples[-1].elapsed_s:g}; "
                "count from the beginning of the trial"
            )
        sample = Sample(report.elapsed, round(report.sent), round(report.lost))
        self._samples.append(sample)
        if sample.lost_count and self._first_loss_s is None:
            self._first_loss_s = sample.elapsed_s
        if self._trial.stop and not self._stopped_by:
            self._stopped_by = self._trial.stop.fires(sample.elapsed_s, sample.lost_count, self._first_loss_s)
        return self._stopped_by is not None

    def close(self, content: object) -> ReportedTrial:
        """Return the trial's result. Raises ConfigError."""
        report = self._parse(TrialReport, "trial", content)
        elapsed_s = report.elapsed or self._elapsed_s()
        counted = reconcile_counts(report, self._trial, elapsed_s, self._source("trial"))
        stopped_by = self._stopped_by if elapsed_s < self._trial.duration_s else None
        return ReportedTrial(
            trial=self._trial,
            index=self._index,
            phase="search",
            started_at="",
            duration_s=elapsed_s,
            stopped_early=stopped_by is not None,
            stopped_by=stopped_by,
            streams=(_build_stream(counted),),
            tester_drop_count=0,
            tester_cpu_ratio=0.0,
            windows=_build_windows(self._samples, Sample(elapsed_s, counted.sent, counted.lost)),
            validity=Validity(),
            reported_loss_ratio=report.loss_ratio,
            recounted=any(sample.lost_count > counted.lost + ROUNDING_COUNT for sample in self._samples),
        )

    def _elapsed_s(self) -> float:
        """Duration for a report without one: up to the latest progress if the trial was stopped, else in full."""
        return self._samples[-1].elapsed_s if self._stopped_by else self._trial.duration_s

    def _parse(self, kind: type[Report], name: str, content: object) -> Report:
        try:
            return kind.model_validate(content)
        except ValidationError as error:
            raise ConfigError(format_validation_error(error, self._source(name))) from None

    def _source(self, kind: str) -> str:
        return f"{kind} {self._index}"


def _build_windows(samples: Sequence[Sample], end: Sample) -> Windows:
    """Return the windows between progress messages; none without progress messages.

    A later, lower count corrects the earlier ones.
    """
    if not samples:
        return Windows(end_s=(), offered_count=(), received_count=())
    points = [end]
    for sample in reversed(samples):
        after = points[0]
        if sample.elapsed_s < after.elapsed_s:
            counted = min(sample.offered_count, after.offered_count), min(sample.lost_count, after.lost_count)
            points.insert(0, Sample(sample.elapsed_s, *counted))
    steps = list(pairwise([START, *points]))
    offered = tuple(after.offered_count - before.offered_count for before, after in steps)
    lost = tuple(after.lost_count - before.lost_count for before, after in steps)
    return Windows(
        end_s=tuple(point.elapsed_s for point in points),
        offered_count=(offered,),
        received_count=(tuple(map(sub, offered, lost)),),
        lost_count=(lost,),
    )


def _build_stream(counted: FrameCounts) -> StreamCounts:
    return StreamCounts(
        stream_id=0,
        tx_port=0,
        rx_port=1,
        intended_count=counted.intended,
        offered_count=counted.sent,
        received_count=counted.sent - counted.lost,
        lost_count=counted.lost,
        duplicate_count=0,
        out_of_order_count=0,
    )
