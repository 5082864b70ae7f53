"""The plan of one run: every `auto` resolved, nothing left to decide."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.calibration import Calibration
from nodrop.model.cloud import CloudPlan
from nodrop.model.engine_plan import CapturePlan, EnginePlan, are_on_interfaces
from nodrop.model.lab_plan import LabPlan
from nodrop.model.neighbor import NeighborPlan
from nodrop.model.search_plan import SearchPlan
from nodrop.model.shipping import ShipPlan
from nodrop.model.traffic import Traffic
from nodrop.model.trex import TrexPlan
from nodrop.model.trial import LoadPhase
from nodrop.model.trial_event import PlannedEvent


class LatencyPoint(Value):
    """A load for a latency trial, as a share of a goal's lower bound."""

    label: str
    goal_label: str
    load_ratio: float = Field(gt=0, le=1)

    @property
    def phase(self) -> str:
        """Phase of its trial."""
        return f"latency {self.label}"

    @property
    def is_at_bound(self) -> bool:
        """Whether this is the lower bound itself, at which the search has measured."""
        return self.load_ratio == 1.0

    def is_at(self, load: str | float | None) -> bool:
        """Return whether this is the load of an expectation: the label of a goal in upper case, or a share."""
        return load == self.load_ratio or (self.is_at_bound and load == self.goal_label.upper())


class LatencyPlan(Value):
    """The latency to measure, with trials after the search unless one of the search has it."""

    points: tuple[LatencyPoint, ...]
    duration_s: float = Field(gt=0)


class FixedRatePlan(Value):
    """One trial at a fixed load, in place of a search."""

    load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    duration_s: float = Field(gt=0)
    asked: str
    """As the user wrote it."""
    is_burst: bool = False
    """Whether each direction sends exactly the frames of this duration, back to back."""
    rest_s: float = Field(default=0.0, ge=0)
    """Time without traffic before the trial."""
    load_phases: tuple[LoadPhase, ...] = ()
    """Loads by time, if events change them."""


class Plan(Value):
    """The plan of one run."""

    profile: str
    frame_size: str = ""
    """Name of the frame size: `64`, `IMIX`."""
    fixed: FixedRatePlan | None = None
    """None: a search."""
    events: tuple[PlannedEvent, ...] = ()
    """Events of the trial at a fixed rate."""
    interval_s: float | None = None
    """Interval of progress reports during a trial at a fixed rate; None: none."""
    percentiles: tuple[float, ...] = (25.0, 75.0, 99.0)
    """Latency percentiles to report."""
    link_speed_bps: int = 10_000_000_000
    """Line rate of each direction, to which percentages refer."""
    path_check: bool = True
    path_check_timeout_s: float = Field(default=0.0, ge=0)
    """Time to retry the path check, since VMs that boot pass no frames."""
    no_traffic: bool = False
    """Whether the run ends after the path check."""
    variant: str = ""
    """The variant, `A` or `B`, of alternating setups; empty without variants."""
    repeat: int = 1
    """Number of the repeat, from 1."""
    repeat_count: int = 1
    """Number of repeats."""
    expect: tuple[str, ...] = ()
    """Thresholds for the figures; see `nodrop.model.expectation`."""
    label: str | None = None
    user_info: dict[str, Any] = Field(default_factory=dict)
    nfvbench: dict[str, Any] = Field(default_factory=dict)
    """Keys of NFVbench's configuration as the user wrote them."""
    asked: dict[str, Any] | None = None
    """Configuration that repeats this run, in nodrop's keys, without destinations; None in results of releases that did
    not store it."""
    lab: LabPlan
    standing_lab: str | None
    """Name of a persistent lab; None: a private lab."""
    cloud: CloudPlan | None = None
    """Resources staged or looked up in OpenStack; None: none."""
    engine: EnginePlan
    trex: TrexPlan | None = None
    """The TRex server that sends and receives; None: nodrop's engine does."""
    traffic: Traffic
    neighbors: NeighborPlan = NeighborPlan()
    """ARP and neighbor discovery of the tester's ports."""
    search: SearchPlan
    budget_s: float | None = None
    """Wall time of a run with a search, except for cloud resources that come up; None: as long as the search takes."""
    latency: LatencyPlan
    drop_reasons: bool = True
    """Whether the kernel's reasons for dropped frames are counted, if the kernel forwards."""
    capture: CapturePlan | None = None
    """Frames to capture; None: none."""
    results_dir: str
    results_index: str | None = None
    """Database that indexes results; None: the one in the results directory."""
    ship: ShipPlan = ShipPlan()
    """Further destinations of logs, events and results."""
    calibration: Calibration | None = None
    """The tester's limits with the same settings, if they were measured."""
    warnings: tuple[str, ...] = ()
    """Reasons to doubt the figures of this setup."""

    def with_warnings(self, warnings: tuple[str, ...]) -> "Plan":
        """Return the plan with further warnings."""
        return self.replace(warnings=(*self.warnings, *warnings))

    @property
    def uses_nfvbench_config(self) -> bool:
        """Whether the user's configuration has a section that only NFVbench's files have."""
        return not self.nfvbench.keys().isdisjoint(("traffic_generator", "measurement"))

    @property
    def sends_into_lab(self) -> bool:
        """Whether the tester's ports are the lab's interfaces, not devices connected elsewhere."""
        return not self.engine.devices or are_on_interfaces(self.engine.devices, self.lab.tester_interfaces)


def name_path(plan: Plan) -> str:
    """Return NFVbench's name of the path: `PVP`, `PVVP` or `EXT`."""
    if plan.lab.sut in ("ext", "wire"):
        return "EXT"
    return "PVVP" if plan.lab.hop_count > 1 else "PVP"


def is_bidirectional(plan: Plan) -> bool:
    """Return whether traffic is measured in both directions, ignoring a trickle."""
    traffic = plan.nfvbench.get("traffic")
    if isinstance(traffic, Mapping) and isinstance(traffic.get("bidirectional"), bool):
        return bool(traffic["bidirectional"])
    return len({stream.tx_port < stream.rx_port for stream in plan.traffic.streams}) > 1


def count_flows(plan: Plan) -> int:
    """Return the number of flows over all chains and directions."""
    return sum(stream.flow_count for stream in plan.traffic.streams)


def name_frame_size(plan: Plan) -> str:
    """Return the name of the frame size."""
    return plan.frame_size or f"{plan.traffic.frame_bytes:g}"
