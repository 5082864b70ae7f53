"""TRex as the generator: which server, how it is started where that is our doing, and how it is used."""

from typing import Any, Literal

from pydantic import Field

from nodrop.model.base import Value


class TrexStart(Value):
    """How an installed TRex is started; without this, a server has to run already."""

    directory: str = "/opt/trex"
    """The release itself, or a folder with one folder for each."""
    interfaces: tuple[str, ...]
    """PCI addresses, or names of interfaces in software mode; in the order of TRex's port numbers."""
    cores: int = Field(ge=1)
    """Threads that send, per pair of ports."""
    software: bool = False
    """Whether it uses no features of cards (--software)."""
    memory_mib: int = Field(default=1024, ge=0)
    """Memory limit (limit_memory)."""
    mbuf_64: int | None = None
    """Buffers of 64 bytes (memory.mbuf_64)."""
    mbuf_factor: float = 0.2
    """--mbuf-factor"""
    platform: dict[str, Any] | None = None
    """TRex's own section of that name: master_thread_id, latency_thread_id, dual_if."""
    i40e_mixed: Literal["ignore", "exit", "unbind"] = "ignore"
    """What to do where other ports of the same card are used by the kernel."""
    vlans: bool = False
    """Whether all that is counted has VLAN tags (--vlan): cards of the 82599 family then look behind them."""
    restart: bool = False
    """Whether one that runs already is ended first, even one started with the same settings."""
    start_timeout_s: float = Field(default=100.0, gt=0)


class TrexPlan(Value):
    """A TRex server and how its ports are used."""

    host: str = "127.0.0.1"
    rpc_port: int = Field(default=4501, ge=1, le=65535)
    publish_port: int = Field(default=4500, ge=1, le=65535)
    ports: tuple[int, ...] = Field(default=(0, 1), min_length=2)
    """TRex's port numbers, in the order of the tester's ports."""
    start: TrexStart | None = None
    """None: only a server that runs already is used."""
    user: str = "nodrop"
    """Who the ports are taken for."""
    take_over: bool = True
    """Whether ports that somebody else holds are taken from him."""
    latency_load_pps: float = Field(default=1000.0, ge=0)
    """Of each latency stream, beside the load of the stream it goes with; 0: no latency is measured."""
    latency_chains: tuple[int, ...] = ()
    """Chains whose latency is measured: as many as TRex has counters for."""
    histograms: bool = True
    """Whether the server keeps HdrHistograms (--hdrh)."""
    cache_size: int = Field(default=0, ge=0)
    """Frames of each stream that are made beforehand."""
    flow_stats: bool = True
    """Whether streams are counted one by one by TRex; else only its ports count."""
    service_mode: bool = False
    """Whether ports stay in service mode during trials, for captures on TRex's console; no stream is counted then."""
    timeout_s: float = Field(default=5.0, gt=0)
    """For the answer to each request."""


class TrexPort(Value):
    """A port as TRex tells of it."""

    number: int
    mac: str
    speed_bps: int | None
    """None where TRex does not know one."""
    driver: str
    description: str = ""
    numa_node: int | None = None
    is_virtual: bool = False
