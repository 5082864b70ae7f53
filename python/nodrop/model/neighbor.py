"""The tester's stations and next hops: ARP and neighbor discovery on its links."""

from pydantic import Field

from nodrop.model.base import Value
from nodrop.model.layer import Vlan
from nodrop.model.traffic import Traffic


class Station(Value):
    """Addresses that the tester answers for with a MAC address (ARP, neighbor discovery)."""

    mac: str
    addresses: tuple[str, ...]
    """Single addresses, or prefixes of which every address counts."""
    tags: tuple[Vlan, ...] = ()
    """VLAN tags of its frames, outermost first."""


class NeighborLink(Value):
    """One end of a chain at a tester port, and its neighbor."""

    port: int = Field(ge=0)
    """Index of the port."""
    chain: int = Field(default=0, ge=0)
    """The chain; several may share a port."""
    station: Station
    """The tester's station on the link."""
    next_hop: str | None = None
    """Address to resolve to the destination MAC of the chain's frames; None: known in advance."""


class Announcement(Value):
    """ARP requests of many stations behind one tester port, before the first trial."""

    traffic: Traffic
    """The requests, each once in a cycle."""
    frame_count: int = Field(ge=1)
    load_pps: float = Field(gt=0)
    repeat_s: float = Field(gt=0)
    """Age after which a trial is preceded by another announcement."""


class NeighborPlan(Value):
    """ARP and neighbor discovery of the tester's ports; ports without a link do neither."""

    links: tuple[NeighborLink, ...] = ()
    announce_every_s: float | None = None
    """Interval of unsolicited announcements of the stations; None: never."""
    timeout_s: float = Field(default=1.0, gt=0, le=60)
    """Time to wait for an answer to each request."""
    tries: int = Field(default=3, ge=1, le=100)
    """Number of requests."""
    announcement: Announcement | None = None
    """Further stations to announce; None: none."""


class NextHop(Value):
    """An address and its resolved MAC address."""

    address: str
    mac: str
    chain: int = 0
    """The chain whose frames are sent to it."""


class NeighborCounts(Value):
    """ARP and neighbor discovery on a tester port during a trial; not counted as test traffic."""

    port: int
    heard_count: int
    """Received messages, for any station."""
    answered_count: int
    """Answered requests."""
    announced_count: int
    """Sent announcements."""

    @property
    def sent_count(self) -> int:
        """Frames the port sent in addition to test frames."""
        return self.answered_count + self.announced_count
