"""A port of the server: its owner, its streams, its attributes."""

import random
import string
from dataclasses import dataclass, field
from typing import Any

from tests.trex.params import Params
from tests.trex.sender import Flow
from tests.trex.streams import TrexStream
from tests.trex.wire import Refusal

HANDLER_CHARACTERS = 8


def handler() -> str:
    """Return a proof of ownership."""
    return "".join(random.choices(string.ascii_letters + string.digits, k=HANDLER_CHARACTERS))


@dataclass
class Port:
    """One port."""

    number: int
    interface: str
    mac: bytes
    owner: str = ""
    session: int = 0
    handler: str = ""
    streams: dict[int, TrexStream] = field(default_factory=dict)
    is_paused: bool = False
    is_started: bool = False
    """Whether it is running, as of the last check."""
    has_filters: bool = False
    """Whether counters of streams were created and not removed since."""
    dst_mac: bytes = b"\0" * 6
    src_ip: str = ""
    dst_ip: str = ""
    vlans: list[int] = field(default_factory=list)
    is_promiscuous: bool = False
    is_multicast: bool = False
    is_service: bool = False
    is_filtered: bool = False
    vxlan_ports: list[int] = field(default_factory=list)
    queue: list[dict[str, Any]] | None = None
    """Received frames, if queued."""
    queue_size: int = 0
    queue_start_s: float = 0.0
    dropped_count: int = 0
    """ierrors."""
    multiplier: float = 1.0
    paused: list[Flow] = field(default_factory=list)

    def acquire(self, user: str, session: int, *, force: bool) -> str:
        """Give it to a user. Raises Refusal."""
        if self.owner and not force:
            if self.owner != user:
                raise Refusal(f"port is already taken by '{self.owner}'")
            if self.session != session:
                raise Refusal(f"port is already owned by another session of '{user}'")
        self.owner, self.session, self.handler = user, session, handler()
        return self.handler

    def release(self) -> None:
        """Remove the owner; traffic continues."""
        self.owner, self.session, self.handler = "", 0, ""

    def check_owner(self, params: Params) -> None:
        """Raise Refusal for other users."""
        if params.text("handler") != self.handler or not self.owner:
            raise Refusal("port is not owned by you")

    def attributes(self, speed_gbps: float) -> dict[str, Any]:
        """Return `attr` of its status."""
        is_ip = bool(self.src_ip)
        return {
            "speed": speed_gbps,
            "promiscuous": {"enabled": self.is_promiscuous},
            "multicast": {"enabled": self.is_multicast},
            "link": {"up": True},
            "fc": {"mode": 0},
            "vxlan_fs": self.vxlan_ports,
            "layer_cfg": {
                "ether": {"src": mac_text(self.mac), "dst": mac_text(self.dst_mac), "state": "configured"},
                "ipv4": {"src": self.src_ip, "dst": self.dst_ip, "state": "resolved" if is_ip else "none"},
            },
            "vlan": {"tags": self.vlans},
        }


def mac_text(mac: bytes) -> str:
    """Return a MAC address in TRex's notation."""
    return mac.hex(":")
