"""The keys under `trex`: a TRex server that sends and receives in place of nodrop's own engine."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nodrop.model.base import Value
from nodrop.units import parse_pps

LatencyLoad = Annotated[float, Field(ge=0, le=1e6), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Port = Annotated[int, Field(ge=1, le=65535)]


class TrexStartConfig(Value):
    """An installed TRex that is started where none runs; needs `interfaces`."""

    directory: str = Field(default="/opt/trex", min_length=1)
    """Directory of the release, or one with a directory for each."""
    interfaces: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Its ports in order: PCI addresses, as `["0000:03:00.0", "0000:03:00.1"]`, or with `software` interfaces, as
    `[eth1, eth2]`; none: TRex is never started, a server has to run."""
    cores: int = Field(default=4, ge=1, le=512)
    """Threads that send, for each pair of ports; 1 to 512."""
    software: bool = False
    """Whether nothing is left to the cards (`--software`)."""
    memory: int = Field(default=1024, ge=0)
    """Memory limit in MiB (`limit_memory`); 0: none."""
    mbuf_64: int | None = Field(default=None, ge=1)
    """Buffers of 64 bytes, from 1; null: TRex's own number."""
    mbuf_factor: float = Field(default=0.2, gt=0)
    """Scale of its numbers of buffers (`--mbuf-factor`); above 0."""
    platform: dict[str, Any] | None = None
    """TRex's own section of that name: `{master_thread_id: 0, latency_thread_id: 1, dual_if: [{socket: 0, threads: [2,
    3]}]}`; null: left to TRex."""
    i40e_mixed: Literal["ignore", "exit", "unbind"] = "ignore"
    """What to do where the kernel uses other ports of the same card: `ignore`, `exit` or `unbind`."""
    restart: bool = False
    """Whether a server that runs already is ended first."""


class TrexConfig(Value):
    """TRex, where that is the generator."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """Where its server is."""
    rpc_port: Port = 4501
    """TCP port for requests; 1 to 65535."""
    publish_port: Port = 4500
    """TCP port for what it publishes; 1 to 65535."""
    ports: tuple[Annotated[int, Field(ge=0, le=63)], ...] = (0, 1)
    """TRex's port numbers, left and right in turn."""
    start: TrexStartConfig = TrexStartConfig()
    """An installed TRex that is started where none runs."""
    latency_load: LatencyLoad = 1000.0
    """Frames per second of each latency stream in trials after the search, as `1kpps`, at most a tenth of its stream's
    load; up to 1 Mpps; 0: no latency."""
    cache_size: int = Field(default=0, ge=0, le=10000)
    """Frames of each stream that are made beforehand; up to 10000."""
    service_mode: bool = False
    """Whether ports stay in service mode during trials, to capture on TRex's console; streams are not counted then."""
    take_over: bool = True
    """Whether ports that somebody else holds are taken from them."""
    histograms: bool = True
    """Whether the server keeps histograms of latency (`--hdrh`); without, there are no percentiles."""
    flow_stats: bool = True
    """Whether TRex counts streams one by one; else only its ports count."""
