"""The BRAS of ETSI GS NFV-PER 001 annex D: contents of its tables, and addresses that the traffic uses."""

from typing import Literal

from pydantic import Field

from nodrop.model.base import Value

TagPlan = Literal["prox", "shifted", "shuffled"]
TtlHandling = Literal["prox", "router"]
SmallFrames = Literal["enlarge", "exact"]


ARP_TIMEOUT_S = 1500
"""Time after which PROX's BRAS forgets the MAC address of a subscriber."""


class BrasTables(Value):
    """The tables, which the values of PROX fill."""

    subscriber_count: int = Field(default=65536, ge=1, le=65536)
    route_count: int = Field(default=8192, ge=1, le=8192)
    next_hop_count: int = Field(default=64, ge=1, le=64)
    tag_plan: TagPlan = "prox"
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of shuffled tags."""
    address: str = "21.22.23.24"
    """The BRAS's end of all tunnels."""
    ttl: TtlHandling = "prox"
    """Directions in which it decrements the TTL: `prox`, only downstream; `router`, both."""
    arp_timeout_s: int = Field(default=ARP_TIMEOUT_S, ge=1)
    """Time after which the MAC address of a subscriber expires that no ARP packet confirms."""
