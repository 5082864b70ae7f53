"""Figures of a service activation test: information rate, frame loss ratio, delay, delay variation, availability.

Rates are those of one direction, in bits per second from destination MAC address to FCS.
"""

from collections.abc import Iterable
from enum import StrEnum

from pydantic import computed_field

from nodrop.model.base import Value
from nodrop.model.procedure import Y1564Plan
from nodrop.procedure.y1564_bursts import BurstLimits
from nodrop.procedure.y1564_subtests import SubtestKind
from nodrop.units import format_bps


class Verdict(StrEnum):
    """The verdict on a sub-test, or on the service."""

    PASS = "pass"
    FAIL = "fail"
    NOT_POSSIBLE = "not possible"
    """The link is too slow for the rate."""
    ABORTED = "aborted"
    """It was not measured: the run failed, or the tester or other work may be why it did not pass."""
    SKIPPED = "skipped"
    """A sub-test before it did not pass."""


class Minute(Value):
    """A minute of the performance test in one direction; the last one may be shorter."""

    number: int
    """From 1."""
    duration_s: int
    ir_bps: float
    lost_count: int
    flr: float
    ftd_mean_ns: float | None
    ftd_max_ns: int | None
    errored_s: int
    """Severely errored seconds."""
    unavailable_s: int


class Availability(Value):
    """The availability of one direction."""

    second_count: int
    errored_s: int
    """Severely errored seconds, whether available or not."""
    unavailable_s: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ratio(self) -> float:
        """Share of available time."""
        return 1 - self.unavailable_s / self.second_count if self.second_count else 1.0


class DirectionFigures(Value):
    """What one direction of a sub-test shows."""

    tx_port: int
    rx_port: int
    offered_count: int
    lost_count: int
    flr: float
    """Frame loss ratio of available time."""
    ir_bps: float
    """Information rate: the frames that arrived, over the time of sending."""
    ir_min_bps: float | None
    """In the second with the fewest arrivals; None if there is no more than one."""
    ir_max_bps: float | None
    ftd_min_ns: int | None = None
    """Frame transfer delay, one way; None: not measured, as of the following ones."""
    ftd_mean_ns: float | None = None
    ftd_max_ns: int | None = None
    fdv_ns: int | None = None
    """Frame delay variation: the 99.9th percentile of the delay minus the smallest."""
    availability: Availability | None = None
    """In the performance test only."""
    minutes: tuple[Minute, ...] = ()
    misses: tuple[str, ...] = ()
    """Each limit that is missed, in words."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def total_flr(self) -> float:
        """Frame loss ratio of all time."""
        return self.lost_count / self.offered_count if self.offered_count else 1.0

    @property
    def name(self) -> str:
        """The direction: `0→1`."""
        return f"{self.tx_port}→{self.rx_port}"


class Step(Value):
    """A sub-test and its verdict."""

    kind: SubtestKind
    name: str
    rate_bps: float
    """Rate at which each direction sends."""
    load_pps: float
    line_rate_bps: float
    """The same rate with preamble and gap: the utilized line rate."""
    duration_s: float
    lower_bps: float
    """Least information rate that passes."""
    upper_bps: float | None
    """Largest information rate that passes; None: not limited."""
    burst: BurstLimits | None = None
    """What may pass of a burst; None: not a burst."""
    verdict: Verdict | None
    """None: still to come."""
    reason: str = ""
    """Why it has no other verdict; empty if it passed."""
    run_id: str = ""
    is_suspect: bool = False
    """Whether tester or other work may have affected its counts."""
    directions: tuple[DirectionFigures, ...] = ()


def merge_verdicts(verdicts: Iterable[Verdict | None]) -> Verdict:
    """Return the verdict on several sub-tests together: `pass` only if each passed."""
    found = set(verdicts)
    if Verdict.FAIL in found:
        return Verdict.FAIL
    if found & {Verdict.ABORTED, None}:
        return Verdict.ABORTED
    return Verdict.NOT_POSSIBLE if Verdict.NOT_POSSIBLE in found else Verdict.PASS


class Y1564Report(Value):
    """What the tests of the service found."""

    plan: Y1564Plan
    steps: tuple[Step, ...]
    """All sub-tests in order."""
    deviations: tuple[str, ...] = ()
    """Each with its code."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def verdict(self) -> Verdict:
        """The verdict on the service."""
        return merge_verdicts(step.verdict for step in self.steps)

    @property
    def performance(self) -> Step | None:
        """The performance test; None for a service without a committed rate."""
        return next((step for step in self.steps if step.kind == "performance"), None)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def text(self) -> str:
        """The answer in a sentence."""
        service = f"The service with {describe_profile(self.plan)}"
        verdict = self.verdict
        if verdict is Verdict.PASS:
            return f"{service} passes all tests."
        missed = next((step for step in self.steps if step.verdict is verdict), None)
        if missed is None:
            return f"{service} has no verdict: the tests did not end."
        if verdict is Verdict.FAIL:
            return f"{service} fails: {missed.name}, {missed.reason}."
        return f"{service} has no verdict: {missed.name} {verdict}, {missed.reason}."


def describe_profile(plan: Y1564Plan) -> str:
    """Return the rates of a service: `CIR 1 Mb/s, EIR 500 kb/s`."""
    rates = (("CIR", plan.cir_bps), ("EIR", plan.eir_bps))
    return ", ".join(f"{name} {format_bps(rate_bps)}" for name, rate_bps in rates if rate_bps)
