"""Where the frames of a trial were lost: every hop from the tester's sender to its receiver."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

Side = Literal["tester", "wire", "sut"]
"""Who lost it: the tester, what lies between the two, or the SUT."""


class Cause(Value):
    """Why frames were lost at a hop, as some counter has it."""

    name: str
    """Stable: not_sent, send_refused, backlog_full, receive_refused, driver_dropped, queue_dropped, ring_full,
    tester_dropped, corrupted, vnf_<counter>, ip_<counter>, or the kernel's drop reason, as NETFILTER_DROP."""
    text: str
    """The same in words: `dropped at its receive ring, which was full`."""
    count: int = Field(ge=1)


class Hop(Value):
    """One stretch of the path: frames that came to it and frames that got past it."""

    place: str
    """`the wire tester0 → sut0`, `the VNF, sut0 to sut1`."""
    side: Side
    in_count: int
    out_count: int
    causes: tuple[Cause, ...] = ()
    """Together never more than were lost here."""

    @property
    def lost_count(self) -> int:
        """Frames that came and did not get past."""
        return self.in_count - self.out_count

    @property
    def unattributed_count(self) -> int:
        """Frames lost here that no counter gives a cause for."""
        return self.lost_count - sum(cause.count for cause in self.causes)


class DirectionLedger(Value):
    """The hops of one direction, in the order frames take them; each begins with what the one before let past."""

    tx_port: int
    rx_port: int
    hops: tuple[Hop, ...]


class LossLedger(Value):
    """All that is known of where a trial's frames were lost."""

    ways: tuple[DirectionLedger, ...] = ()
    """Empty when the host's counters could not be read."""
    remarks: tuple[str, ...] = ()
    """What the counters say that does not fit the frames, and what could not be read."""
    reading_s: float = 0.0
    """Time it took to read all counters, before and after together; none of it within the trial."""

    @property
    def lost_count(self) -> int:
        """Frames lost or not sent, all directions."""
        return sum(hop.lost_count for way in self.ways for hop in way.hops)

    @property
    def unattributed_count(self) -> int:
        """Frames that have a place where they were lost but no cause."""
        return sum(hop.unattributed_count for way in self.ways for hop in way.hops)
