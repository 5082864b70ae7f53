"""Keys of the BRAS workload."""

from ipaddress import IPv4Address
from typing import Annotated

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.model.bras import SmallFrames, TagPlan, TtlHandling
from nodrop.units import parse_pps


class BrasConfig(Value):
    """The BRAS workload (`workload: bras`): its subscribers and routes, see docs/how-to/bras.md."""

    subscribers: int = Field(default=65536, ge=1, le=65536)
    """Subscribers, each with an S-tag, a C-tag and a GRE key; 1 to 65536."""
    routes: int = Field(default=8192, ge=1, le=8192)
    """Routes to the core, 10.0.0.0/24, 10.0.16.0/24 and so on; 1 to 8192."""
    next_hops: int = Field(default=64, ge=1, le=64)
    """Next hops that the routes cycle through; 1 to 64."""
    tags: TagPlan = "prox"
    """Tags of the subscribers: `prox`, as PROX, some with VLAN id 0; `shifted`, both ids one higher; `shuffled`, those
    of PROX in random order."""
    seed: int = Field(default=1, ge=0, lt=2**63)
    """Seed of shuffled tags, and of the order of subscribers and destinations; from 0."""
    small_frames: SmallFrames = "enlarge"
    """How frames of 64 to 71 bytes are sent, which have no space for nodrop's signature: `enlarge`, with 72 bytes;
    `exact`, in their size, with the signature in the IPv4 and UDP headers and hence without latency."""
    ttl: TtlHandling = "prox"
    """Directions in which `vnf-bras` decrements the TTL: `prox`, only downstream; `router`, both."""
    address: IPv4Address = IPv4Address("21.22.23.24")
    """The BRAS's end of all tunnels."""
    subscriber_address: IPv4Address = IPv4Address("192.168.1.1")
    """IP address of every subscriber."""
    gateway: IPv4Address = IPv4Address("192.168.1.254")
    """Address that the subscribers ask for by ARP before the measurement."""
    label: int = Field(default=16, ge=16, lt=2**20)
    """MPLS label of frames from the core; from 16."""
    arp_rate: (
        Annotated[float, Field(gt=0, le=1e12), BeforeValidator(parse_pps, json_schema_input_type=float | str)] | None
    ) = None
    """Rate of the ARP requests before the measurement, one per subscriber, e.g. `5kpps`; null: 50 kpps to `vnf-bras`,
    at most half of its `vnf.capacity`, 5 kpps to others."""
