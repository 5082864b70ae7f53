"""The section `trex`: a TRex server that sends and receives in place of nodrop's engine."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from nodrop.config.per_side import InterfaceNames
from nodrop.model.base import Value
from nodrop.units import parse_pps

LatencyLoad = Annotated[float, Field(ge=0, le=1e6), BeforeValidator(parse_pps, json_schema_input_type=float | str)]
Port = Annotated[int, Field(ge=1, le=65535)]


class TrexStartConfig(Value):
    """An installed TRex that nodrop starts if no server runs; requires `interfaces`."""

    directory: str = Field(default="/opt/trex", min_length=1)
    """Directory of the release, or of several releases."""
    interfaces: InterfaceNames = ()
    """Ports in order: PCI addresses, e.g. `["0000:03:00.0", "0000:03:00.1"]`, or interfaces with `software`, e.g.
    `[eth1, eth2]`; none: TRex is never started, a server must run."""
    cores: int = Field(default=4, ge=1, le=512)
    """Sending threads per pair of ports; 1 to 512."""
    software: bool = False
    """Use no features of the network cards (`--software`)."""
    software_ring: int = Field(default=8192, ge=64, multiple_of=64)
    """Frames that each port buffers in each direction with `software` (`framecnt`), a multiple of 64; each takes 9280
    bytes of the kernel's memory."""
    low_end: bool = False
    """Run all threads on one CPU, with less memory and sleeps instead of busy waits (`low_end`); `cores` and `platform`
    have no effect."""
    low_end_core: int = Field(default=0, ge=0)
    """CPU of all threads with `low_end`."""
    memory: int = Field(default=1024, ge=0)
    """Memory limit in MiB (`limit_memory`); 0: none."""
    mbuf_64: int | None = Field(default=None, ge=1)
    """Packet buffers of 64 bytes, from 1; null: TRex's default."""
    mbuf_factor: float = Field(default=0.2, gt=0)
    """Scale of the numbers of packet buffers (`--mbuf-factor`); above 0."""
    platform: dict[str, Any] | None = None
    """TRex's section `platform`: `{master_thread_id: 0, latency_thread_id: 1, dual_if: [{socket: 0, threads: [2,
    3]}]}`; null: TRex's default."""
    i40e_mixed: Literal["ignore", "exit", "unbind"] = "ignore"
    """What to do if the kernel uses other ports of the same card: `ignore`, `exit` or `unbind`."""
    restart: bool = False
    """Stop a running server first."""


class TrexConfig(Value):
    """TRex, if it is the generator."""

    host: str = Field(default="127.0.0.1", min_length=1)
    """Address or host name of the server."""
    rpc_port: Port = 4501
    """TCP port for requests; 1 to 65535."""
    publish_port: Port = 4500
    """TCP port for published messages; 1 to 65535."""
    ports: tuple[Annotated[int, Field(ge=0, le=63)], ...] = (0, 1)
    """TRex's port numbers, alternating left and right."""
    start: TrexStartConfig = TrexStartConfig()
    """An installed TRex that nodrop starts if no server runs."""
    latency_load: LatencyLoad = 1000.0
    """Frames per second of each latency stream in trials after the search, e.g. `1kpps`, at most a tenth of its
    stream's load; up to 1 Mpps; 0: no latency."""
    cache_size: int = Field(default=0, ge=0, le=10000)
    """Frames of each stream that TRex generates in advance; up to 10000."""
    service_mode: bool = False
    """Keep ports in service mode during trials, to capture on TRex's console; streams are then not counted."""
    take_over: bool = True
    """Acquire ports that another client owns."""
    histograms: bool = True
    """Keep latency histograms on the server (`--hdrh`), which percentiles require."""
    flow_stats: bool = True
    """Count each stream in TRex; false: ports only."""
