"""What a list, a comparison or a trend knows of a run, whoever measured it."""

from typing import Literal

from nodrop.model.base import Value

ResultSource = Literal["nodrop", "nfvbench", "trex"]
"""Who wrote the result."""
MeasureUnit = Literal["pps", "ns", "ratio"]


class Measure(Value):
    """One figure of a run, comparable with that of the same key of another run."""

    key: str
    """Stable, for programs: `ndr`, `pdr_0.5%`, `latency_p99_at_ndr`, `loss_at_10kpps`."""
    text: str
    """The same for people: `NDR`, `PDR 0.5 %`, `latency p99 at NDR`."""
    unit: MeasureUnit
    better: Literal["higher", "lower"]
    value: float
    low: float | None = None
    """It is at least that, as measured: a goal's lower bound."""
    high: float | None = None
    """It is below that: a goal's upper bound. None: not known, then `value` is what it is at least."""
    limit: str = "sut"
    """What kept it from being better, a `Limit`; what is not the SUT's says little of it."""


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
    """As it was asked for: `64`, `IMIX`."""
    frame_bytes: float
    """With FCS; the mean of several sizes."""
    bidirectional: bool
    asked: str
    """What was to be found or sent: `ndr_pdr`, `10kpps`."""
    algorithm: str
    """The search; empty where there was none."""
    host: str
    kernel: str
    cpu_model: str
    backend: str
    """How frames got in and out."""
    version: str
    """Of the program that measured."""
    trial_count: int
    measures: tuple[Measure, ...] = ()


class ResultRow(Value):
    """A run in a list of results: what it found, where it is, and what people say of it."""

    summary: Summary
    tags: tuple[str, ...] = ()
    """Sorted."""
    file: str
    """The result's file."""
    sha256: str | None = None
    """Hash of the file as it was written; None for results of releases that kept none."""
    altered: bool = False
    """Whether the file had another hash when it was read."""
