"""The plan of one run: every `auto` resolved, nothing left to decide."""

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


class LatencyPoint(Value):
    """A load at which latency is measured: a share of what a goal's lower bound turned out to be."""

    label: str
    goal_label: str
    load_ratio: float = Field(gt=0, le=1)


class LatencyPlan(Value):
    """The latency trials that follow the search."""

    points: tuple[LatencyPoint, ...]
    duration_s: float = Field(gt=0)


class FixedRatePlan(Value):
    """One trial at a load that was asked for, in place of a search."""

    load_pps: float = Field(gt=0)
    """Aggregate over all directions."""
    duration_s: float = Field(gt=0)
    asked: str
    """As it was written."""


class Plan(Value):
    """One run, decided."""

    profile: str
    frame_size: str = ""
    """The frame size by the name it is known by: `64`, `IMIX`."""
    fixed: FixedRatePlan | None = None
    """None: loads are searched for."""
    interval_s: float | None = None
    """How often to tell of the counts while a trial at a fixed rate runs; None: never."""
    percentiles: tuple[float, ...] = (25.0, 75.0, 99.0)
    """Percentiles of latency to report."""
    link_speed_bps: int = 10_000_000_000
    """What 100 % stands for, each direction."""
    path_check: bool = True
    path_check_timeout_s: float = Field(default=0.0, ge=0)
    """How long to try again where frames do not go through at first, as VMs that boot let none."""
    no_traffic: bool = False
    """Whether the run ends once the path was checked."""
    variant: str = ""
    """Which of the set-ups measured in turn it is of, `A` or `B`; empty where there is one."""
    repeat: int = 1
    """Which repeat it is, from 1."""
    repeat_count: int = 1
    """How many there are to be."""
    label: str | None = None
    user_info: dict[str, Any] = Field(default_factory=dict)
    nfvbench: dict[str, Any] = Field(default_factory=dict)
    """Keys of NFVbench's configuration, as they were written."""
    asked: dict[str, Any] | None = None
    """Configuration that asks for this run again, in nodrop's keys, without where results go and who is told; None in
    results of releases that did not keep it."""
    lab: LabPlan
    standing_lab: str | None
    """Name of a lab that is already up; None brings up a private one."""
    cloud: CloudPlan | None = None
    """What is staged in OpenStack, or looked for there; None: nothing is."""
    engine: EnginePlan
    trex: TrexPlan | None = None
    """The TRex server that sends and receives; None: the packet engine does."""
    traffic: Traffic
    neighbors: NeighborPlan = NeighborPlan()
    """ARP and neighbour discovery of the tester's ports."""
    search: SearchPlan
    latency: LatencyPlan
    drop_reasons: bool = True
    """Whether the kernel's reasons for dropped frames are counted, where the kernel forwards."""
    capture: CapturePlan | None = None
    """Frames to keep in files."""
    results_dir: str
    results_index: str | None = None
    """Database that results are looked up in; None: the one in the results directory."""
    ship: ShipPlan = ShipPlan()
    """Who is told of the run besides."""
    calibration: Calibration | None = None
    """What the tester can do by itself, where that was measured with the same settings."""
    warnings: tuple[str, ...] = ()
    """What to know of the set-up before believing its figures."""

    def with_warnings(self, warnings: tuple[str, ...]) -> "Plan":
        """Return the plan with further warnings."""
        return self.model_copy(update={"warnings": (*self.warnings, *warnings)})

    @property
    def sends_into_lab(self) -> bool:
        """Whether the tester's ports are the lab's interfaces, and not devices that lead elsewhere."""
        return not self.engine.devices or are_on_interfaces(self.engine.devices, self.lab.tester_interfaces)
