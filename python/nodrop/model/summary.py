"""A run in short, for lists, comparisons and trends, regardless of the program that measured."""

from typing import Literal

from nodrop.model.base import Value

ResultSource = Literal["nodrop", "nfvbench", "trex"]
"""Program that wrote the result."""
MeasureUnit = Literal["pps", "ns", "ratio"]


class Measure(Value):
    """A figure of a run, comparable with the figure of the same key of another run."""

    key: str
    """Stable, for programs: `ndr`, `pdr_0.5%`, `latency_p99_at_ndr`, `loss_at_10kpps`."""
    text: str
    """The same for people: `NDR`, `PDR 0.5 %`, `latency p99 at NDR`."""
    unit: MeasureUnit
    better: Literal["higher", "lower"]
    value: float
    low: float | None = None
    """Lower limit of the value: a goal's lower bound."""
    high: float | None = None
    """Upper limit of the value: a goal's upper bound. None: unknown, then `value` is a lower limit."""
    limit: str = "sut"
    """What limits the value, a `Limit`; limits other than the SUT say little about the SUT."""


class MissingGoal(Value):
    """A goal of a search for which no load was found."""

    text: str
    """The goal: `NDR`, `PDR 0.5 %`."""
    reason: str
    """A sentence: `The search ended before it had a lower bound.`"""


class Summary(Value):
    """A run in one row."""

    run_id: str
    source: ResultSource = "nodrop"
    started_at: str
    """UTC, ISO 8601."""
    wall_s: float
    status: str
    error: str | None = None
    label: str | None = None
    sut: str
    path: str
    """NFVbench's service chain: `PVP`, `PVVP`, `EXT`."""
    chain_count: int
    flow_count: int
    frame_size: str
    """As requested: `64`, `IMIX`."""
    frame_bytes: float
    """With FCS; the mean for several sizes."""
    bidirectional: bool
    asked: str
    """What was measured: `ndr_pdr`, `10kpps`."""
    algorithm: str
    """The search; empty for a run without one."""
    host: str
    kernel: str
    cpu_model: str
    backend: str
    """Packet I/O of the tester."""
    version: str
    """Version of the program that measured."""
    trial_count: int
    setup: str = ""
    """The same for runs of the same plan, SUT, host and version; empty if unknown."""
    measures: tuple[Measure, ...] = ()
    missing_goals: tuple[MissingGoal, ...] = ()
    """Goals without a load that meets them."""
    doubts: tuple[str, ...] = ()
    """Impossible values in another tester's file, a sentence each; figures derived from them are left out."""


class ResultRow(Value):
    """A run in a list of results: its summary, file and tags."""

    summary: Summary
    tags: tuple[str, ...] = ()
    """Sorted."""
    file: str
    """The result's file."""
    sha256: str | None = None
    """Hash of the file when it was written; None for results of releases that stored none."""
    altered: bool = False
    """Whether the file had another hash when it was read."""
