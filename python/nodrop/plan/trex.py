"""The TRex server of a plan, and the keys that it does not support."""

from collections.abc import Iterator

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.trex import TrexPlan, TrexStart
from nodrop.units import format_count

LATENCY_STREAMS_MAX = 128
"""Latency streams a server has counters for (packet groups with rule_type latency)."""
TREX_SUTS = ("ext", "wire", "openstack")
"""SUTs that do not need nodrop's engine."""


def plan_trex(config: Config) -> TrexPlan | None:
    """Return the server and its ports; None if nodrop's engine sends.

    Raises: ConfigError for keys that TRex does not support.
    """
    if config.generator != "trex":
        return None
    _check(config)
    section = config.trex
    has_latency = config.latency.enabled and section.latency_load > 0
    return TrexPlan(
        host=section.host,
        rpc_port=section.rpc_port,
        publish_port=section.publish_port,
        ports=section.ports,
        start=_start(config),
        take_over=section.take_over,
        latency_load_pps=section.latency_load if has_latency else 0.0,
        latency_chains=_list_latency_chains(config) if has_latency else (),
        histograms=section.histograms,
        cache_size=section.cache_size,
        flow_stats=section.flow_stats and not section.service_mode,
        service_mode=section.service_mode,
    )


def list_trex_warnings(config: Config, trex: TrexPlan | None) -> Iterator[str]:
    """Yield deviations of TRex from nodrop's engine."""
    if trex is None:
        return
    if trex.latency_chains and len(trex.latency_chains) < config.chains:
        yield (
            f"latency is measured on {len(trex.latency_chains)} of {config.chains} chains, evenly chosen: TRex has "
            f"counters for {LATENCY_STREAMS_MAX} latency streams"
        )
    if trex.service_mode:
        yield "trex.service_mode: TRex then counts ports only, not streams (true)"


def _list_latency_chains(config: Config) -> tuple[int, ...]:
    """Return all chains, or as many as there are counters for, evenly chosen."""
    most = LATENCY_STREAMS_MAX // (2 if config.bidirectional else 1)
    count = min(config.chains, most)
    return tuple(number * config.chains // count for number in range(count))


def _start(config: Config) -> TrexStart | None:
    section = config.trex.start
    if not section.interfaces:
        return None
    return TrexStart(
        directory=section.directory,
        interfaces=section.interfaces,
        cores=section.cores,
        software=section.software,
        software_ring=section.software_ring,
        low_end=section.low_end,
        low_end_core=section.low_end_core,
        memory_mib=section.memory,
        mbuf_64=section.mbuf_64,
        mbuf_factor=section.mbuf_factor,
        platform=section.platform,
        i40e_mixed=section.i40e_mixed,
        vlans=config.vlans is not None or config.traffic.vlan is not None,
        restart=section.restart,
    )


def _check(config: Config) -> None:
    if config.sut not in TREX_SUTS or config.lab:
        target = f"lab: {config.lab}" if config.lab else f"sut: {config.sut}"
        raise ConfigError(
            f"generator: trex cannot use {target}, which is brought up between interfaces of nodrop's engine; write "
            "sut: ext for a system between TRex's ports, sut: openstack, or generator: engine"
        )
    if config.ports:
        raise ConfigError(
            f"ports: generator: trex has ports of its own ({', '.join(config.ports)}); remove ports, or write "
            "generator: engine to send through them with nodrop's engine"
        )
    if config.routers and config.sut == "wire":
        raise ConfigError("routers: nothing is between the ports (true); remove routers")
    for key, value in _list_engine_only_keys(config):
        raise ConfigError(f"{key}: not possible with TRex ({value}); remove {key}, or write generator: engine")
    start = config.trex.start
    if start.interfaces and len(start.interfaces) <= max(config.trex.ports):
        raise ConfigError(
            f"trex.start.interfaces: {format_count(len(start.interfaces), 'interface')}, but trex.ports has number "
            f"{max(config.trex.ports)}; name {max(config.trex.ports) + 1} or more, in the order of TRex's numbers"
        )


def _list_engine_only_keys(config: Config) -> Iterator[tuple[str, object]]:
    """Yield keys that only nodrop's engine supports."""
    if config.pattern.kind != "flat":
        yield "pattern.kind", config.pattern.kind
    if config.capture.file is not None:
        yield "capture.file", config.capture.file
    if config.traffic.replay.file is not None:
        yield "traffic.replay.file", config.traffic.replay.file
    for key in ("backend", "cores"):
        if (value := getattr(config.engine, key)) != "auto":
            yield f"engine.{key}", value
