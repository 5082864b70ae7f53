"""Frames counted at each hop of a chain in a trial, and the loss ledger: frames lost at each hop, with causes."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

Side = Literal["tester", "wire", "sut"]
"""The part that lost frames: the tester, the link between tester and SUT, or the SUT."""


class HopCount(Value):
    """A point on a chain's path where its frames are counted."""

    name: str
    """`tester0 sends`, `sut0 receives`."""
    interface: str
    frame_count: int | None
    """None: the chain's frames are not counted separately there, or the counter was not read."""


class ChainHops(Value):
    """One direction of one chain."""

    chain: int
    tx_port: int
    rx_port: int
    hops: tuple[HopCount, ...]
    """In the order of the path; the first is what the tester sent, the last what it received."""


class Cause(Value):
    """A cause of loss at a hop, from a counter."""

    name: str
    """Stable: not_sent, send_refused, backlog_full, receive_refused, driver_dropped, queue_dropped, ring_full,
    tester_dropped, corrupted, vnf_<counter>, ip_<counter>, or the kernel's drop reason, as NETFILTER_DROP."""
    text: str
    """The cause in words: `dropped at its receive ring, which was full`."""
    count: int = Field(ge=1)


class Hop(Value):
    """One section of the path: frames that entered it and frames that left it."""

    place: str
    """`the wire tester0 → sut0`, `the VNF, sut0 to sut1`."""
    side: Side
    in_count: int
    out_count: int
    causes: tuple[Cause, ...] = ()
    """Their sum never exceeds the frames lost here."""

    @property
    def lost_count(self) -> int:
        """Frames that entered but did not leave."""
        return self.in_count - self.out_count

    @property
    def unattributed_count(self) -> int:
        """Lost frames without a cause in any counter."""
        return self.lost_count - sum(cause.count for cause in self.causes)


class DirectionLedger(Value):
    """The hops of one direction, in the order of the path; each starts with the frames that left the previous one."""

    tx_port: int
    rx_port: int
    hops: tuple[Hop, ...]


class LossLedger(Value):
    """Where a trial's frames were lost."""

    ways: tuple[DirectionLedger, ...] = ()
    """Empty if the host's counters could not be read."""
    remarks: tuple[str, ...] = ()
    """Counters that contradict the frames, or could not be read."""
    reading_s: float = 0.0
    """Time to read all counters before and after the trial; none of it is within the trial."""

    @property
    def lost_count(self) -> int:
        """Frames lost or not sent, over all directions."""
        return sum(hop.lost_count for way in self.ways for hop in way.hops)

    @property
    def unattributed_count(self) -> int:
        """Frames lost at a known hop but without a cause."""
        return sum(hop.unattributed_count for way in self.ways for hop in way.hops)
