"""How many frames each chain's hops counted in a trial, from the tester's sender to its receiver."""

from nodrop.model.base import Value


class HopCount(Value):
    """A place on a chain's way where somebody counts its frames."""

    name: str
    """`tester0 sends`, `sut0 receives`."""
    interface: str
    frame_count: int | None
    """None: nobody counts this chain's frames apart there, or nobody was asked."""


class ChainHops(Value):
    """One direction of one chain."""

    chain: int
    tx_port: int
    rx_port: int
    hops: tuple[HopCount, ...]
    """In the order frames take them; the first is what the tester sent, the last what it received."""
