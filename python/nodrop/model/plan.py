"""What will be done: every `auto` resolved, nothing left to decide."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.goal import Goal
from nodrop.model.traffic import Traffic

SutKind = Literal["vnf-l2", "bridge"]
"""The SUTs the lab can put between the tester's ports."""

AlgorithmName = Literal["mlrsearch-01"]


class LabPlan(Value):
    """The private lab: tester ports and SUT in namespaces of their own, joined by veth pairs."""

    sut: SutKind
    tester_interfaces: tuple[str, ...] = ("tester0", "tester1")
    """Tester ports, in the order of the streams' port indices."""
    sut_interfaces: tuple[str, ...] = ("sut0", "sut1")
    """The SUT's ends of the same links, in the same order."""
    mtu_bytes: int = Field(default=1500, ge=68)
    sut_core: int | None = None
    """CPU the SUT's process is bound to; None leaves it to the kernel."""
    sut_queue_slots: int = Field(ge=64)
    """Frames the loopback VNF can hold for each of its ports."""
    peer_macs: tuple[str, ...]
    """MAC the loopback VNF writes as destination on each of its ports: the tester's on the other end."""


class EnginePlan(Value):
    """How the packet engine is run."""

    backend: Literal["af_packet"] = "af_packet"
    cores: tuple[int, ...] = ()
    """CPUs its threads are bound to, one thread each; empty leaves one thread unbound."""
    queue_slots: int = Field(ge=64)
    """Frames a tester port can hold before the tester itself drops."""


class SearchPlan(Value):
    """Goals, bounds and durations of the search."""

    algorithm: AlgorithmName
    goals: tuple[Goal, ...] = Field(min_length=1)
    min_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    max_load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    initial_trial_duration_s: float = Field(gt=0)
    final_trial_duration_s: float = Field(gt=0)
    width_ratio: float = Field(gt=0, lt=1)
    """(upper - lower) / upper at which a goal is found."""
    intermediate_phases: int = Field(ge=0)
    expansion_coefficient: float = Field(gt=1)
    search_duration_max_s: float = Field(gt=0)
    repeat_invalid: int = Field(ge=0)
    """How often an invalid trial is tried again before it is given up."""


class LatencyPoint(Value):
    """A load at which latency is measured: a share of what a goal's lower bound turned out to be."""

    label: str
    goal_label: str
    load_ratio: float = Field(gt=0, le=1)


class LatencyPlan(Value):
    """The latency trials that follow the search."""

    points: tuple[LatencyPoint, ...]
    duration_s: float = Field(gt=0)


class Plan(Value):
    """One run, decided."""

    profile: str
    lab: LabPlan
    standing_lab: str | None
    """Name of a lab that is already up; None brings up a private one."""
    engine: EnginePlan
    traffic: Traffic
    search: SearchPlan
    latency: LatencyPlan
    results_dir: str
