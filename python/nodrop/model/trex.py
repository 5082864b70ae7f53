"""TRex as the generator: the server, how to start it, and its settings."""

from typing import Any, Literal

from pydantic import Field

from nodrop.model.base import Value


class TrexStart(Value):
    """How to start an installed TRex; without this, a server must run."""

    directory: str = "/opt/trex"
    """Directory of the release, or of several releases."""
    interfaces: tuple[str, ...]
    """PCI addresses, or names of interfaces in software mode; in the order of TRex's port numbers."""
    cores: int = Field(ge=1)
    """Sending threads per pair of ports."""
    software: bool = False
    """Whether no features of the cards are used (--software)."""
    software_ring: int = Field(default=8192, ge=64)
    """Frames that each port buffers in each direction in software mode."""
    low_end: bool = False
    """Whether all threads share one CPU (low_end); `cores` and `platform` are then not used."""
    low_end_core: int = Field(default=0, ge=0)
    """CPU of all threads with low_end."""
    memory_mib: int = Field(default=1024, ge=0)
    """Memory limit (limit_memory)."""
    mbuf_64: int | None = None
    """Buffers of 64 bytes (memory.mbuf_64)."""
    mbuf_factor: float = 0.2
    """--mbuf-factor"""
    platform: dict[str, Any] | None = None
    """TRex's section `platform`: master_thread_id, latency_thread_id, dual_if."""
    i40e_mixed: Literal["ignore", "exit", "unbind"] = "ignore"
    """What to do if the kernel uses other ports of the same card."""
    vlans: bool = False
    """Whether all counted frames have VLAN tags (--vlan): cards of the 82599 family then parse behind the tag."""
    restart: bool = False
    """Whether a running server is stopped first, even one with the same settings."""
    start_timeout_s: float = Field(default=100.0, gt=0)

    @property
    def thread_count(self) -> int:
        """Sending threads of the server."""
        return (1 if self.low_end else self.cores) * len(self.interfaces) // 2


class TrexPlan(Value):
    """A TRex server and the use of its ports."""

    host: str = "127.0.0.1"
    rpc_port: int = Field(default=4501, ge=1, le=65535)
    publish_port: int = Field(default=4500, ge=1, le=65535)
    ports: tuple[int, ...] = Field(default=(0, 1), min_length=2)
    """TRex's port numbers, in the order of the tester's ports."""
    start: TrexStart | None = None
    """None: a server must run."""
    user: str = "nodrop"
    """Owner name for acquired ports."""
    take_over: bool = True
    """Whether ports that another client owns are acquired."""
    latency_load_pps: float = Field(default=1000.0, ge=0)
    """Load of each latency stream, in addition to its stream's load; 0: no latency is measured."""
    latency_chains: tuple[int, ...] = ()
    """Chains whose latency is measured, limited by TRex's counters."""
    histograms: bool = True
    """Whether the server keeps HdrHistograms (--hdrh)."""
    cache_size: int = Field(default=0, ge=0)
    """Frames of each stream that are generated in advance."""
    flow_stats: bool = True
    """Whether TRex counts each stream; else only its ports."""
    service_mode: bool = False
    """Whether ports stay in service mode during trials, for captures on TRex's console; streams are then not
    counted."""
    timeout_s: float = Field(default=5.0, gt=0)
    """Time limit of each request."""


class TrexPort(Value):
    """A port as TRex reports it."""

    number: int
    mac: str
    speed_bps: int | None
    """None if TRex does not know it."""
    driver: str
    description: str = ""
    numa_node: int | None = None
    is_virtual: bool = False
