"""How a TRex server is used for a configuration, and what of a configuration it cannot do."""

from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.trex import TrexPlan, TrexStart

LATENCY_STREAMS_MAX = 128
"""Latency streams a server has counters for (packet groups with rule_type latency)."""
TREX_SUTS = ("ext", "wire", "openstack")
"""SUTs that are not brought up beside nodrop's own engine."""


def plan_trex(config: Config) -> TrexPlan | None:
    """The server and its ports; None where nodrop's own engine sends.

    Raises: ConfigError for what TRex cannot do.
    """
    if config.generator != "trex":
        return None
    _check(config)
    asked = config.trex
    has_latency = config.latency.enabled and asked.latency_load > 0
    return TrexPlan(
        host=asked.host,
        rpc_port=asked.rpc_port,
        publish_port=asked.publish_port,
        ports=asked.ports,
        start=_start(config),
        take_over=asked.take_over,
        latency_load_pps=asked.latency_load if has_latency else 0.0,
        latency_chains=_latency_chains(config) if has_latency else (),
        histograms=asked.histograms,
        cache_size=asked.cache_size,
        flow_stats=asked.flow_stats and not asked.service_mode,
        service_mode=asked.service_mode,
    )


def trex_warnings(config: Config, trex: TrexPlan | None) -> Iterator[str]:
    """What TRex does otherwise than nodrop's own engine, where that was not asked for."""
    if trex is None:
        return
    if trex.latency_chains and len(trex.latency_chains) < config.chains:
        yield (
            f"latency of {len(trex.latency_chains)} of {config.chains} chains is measured, evenly chosen: TRex has "
            f"counters for {LATENCY_STREAMS_MAX} latency streams"
        )
    if trex.service_mode:
        yield "trex.service_mode: true asked; TRex counts no streams then, only its ports"


def _latency_chains(config: Config) -> tuple[int, ...]:
    """All, or as many as there are counters for, evenly chosen."""
    most = LATENCY_STREAMS_MAX // (2 if config.bidirectional else 1)
    count = min(config.chains, most)
    return tuple(number * config.chains // count for number in range(count))


def _start(config: Config) -> TrexStart | None:
    asked = config.trex.start
    if not asked.interfaces:
        return None
    return TrexStart(
        directory=asked.directory,
        interfaces=asked.interfaces,
        cores=asked.cores,
        software=asked.software,
        memory_mib=asked.memory,
        mbuf_64=asked.mbuf_64,
        mbuf_factor=asked.mbuf_factor,
        platform=asked.platform,
        i40e_mixed=asked.i40e_mixed,
        vlans=config.vlans is not None or config.traffic.vlan is not None,
        restart=asked.restart,
    )


def _check(config: Config) -> None:
    if config.sut not in TREX_SUTS or config.lab:
        what = f"lab: {config.lab}" if config.lab else f"sut: {config.sut}"
        raise ConfigError(
            f"generator: trex asked with {what}, which is brought up between interfaces of nodrop's own engine; write "
            "sut: ext for what is between TRex's ports, sut: openstack, or generator: engine"
        )
    if config.ports:
        raise ConfigError(
            f"ports: {', '.join(config.ports)} asked with generator: trex, which has ports of its own; leave ports "
            "out, or write generator: engine for nodrop's own engine to send through them"
        )
    if config.routers and config.sut == "wire":
        raise ConfigError("routers: true asked, nothing is between the ports; leave it out")
    for key, asked in _engine_only(config):
        raise ConfigError(f"{key}: {asked} asked, TRex cannot do that; leave it out, or write generator: engine")
    start = config.trex.start
    if start.interfaces and len(start.interfaces) <= max(config.trex.ports):
        raise ConfigError(
            f"trex.start.interfaces: {len(start.interfaces)} asked, trex.ports has number {max(config.trex.ports)}; "
            f"name {max(config.trex.ports) + 1} or more, in the order of TRex's numbers"
        )


def _engine_only(config: Config) -> Iterator[tuple[str, object]]:
    """What was asked that nodrop's own engine alone can do."""
    if config.pattern.kind != "flat":
        yield "pattern.kind", config.pattern.kind
    if config.capture.file is not None:
        yield "capture.file", config.capture.file
    if config.traffic.replay.file is not None:
        yield "traffic.replay.file", config.traffic.replay.file
    for key in ("backend", "cores"):
        if (asked := getattr(config.engine, key)) != "auto":
            yield f"engine.{key}", asked
