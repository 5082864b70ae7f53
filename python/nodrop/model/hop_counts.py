"""Frames counted at each hop of a chain in a trial, from the tester's sender to its receiver."""

from nodrop.model.base import Value


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
