"""What the tester is on its links besides a source of test traffic: who can be asked for, and whom it asks for."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.layer import Vlan


class Station(Value):
    """Who asks for one of these addresses on a tester port's link is told this MAC (ARP, neighbour discovery)."""

    mac: str
    addresses: tuple[str, ...]
    """Single ones, or prefixes of which every address counts."""
    tags: tuple[Vlan, ...] = ()
    """VLAN tags of its frames, outermost first."""


class NeighborLink(Value):
    """One end of a chain at a tester port, and its neighbour there."""

    port: int = Field(ge=0)
    """Index of the port."""
    chain: int = Field(default=0, ge=0)
    """The chain; several may share a port."""
    station: Station
    """The tester there."""
    next_hop: str | None = None
    """Whose MAC address the chain's frames are sent to, and is asked for; None: it is known."""


class NeighborPlan(Value):
    """ARP and neighbour discovery of the tester's ports; ports without a link have none."""

    links: tuple[NeighborLink, ...] = ()
    announce_every_s: float | None = None
    """How often stations announce their addresses unasked; None: never."""
    timeout_s: float = Field(default=1.0, gt=0, le=60)
    """How long to wait for answers, each time it is asked."""
    tries: int = Field(default=3, ge=1, le=100)
    """How often to ask."""


class NextHop(Value):
    """An address, and the MAC address its owner told."""

    address: str
    mac: str
    chain: int = 0
    """Whose frames are sent there."""


class NeighborCounts(Value):
    """ARP and neighbour discovery on a tester port during a trial; none of it counts as test traffic."""

    port: int
    heard_count: int
    """Messages that arrived, for whomever."""
    answered_count: int
    """Of the questions among them, those answered."""
    announced_count: int
    """Announcements sent."""

    @property
    def sent_count(self) -> int:
        """Frames the port sent besides test frames."""
        return self.answered_count + self.announced_count
