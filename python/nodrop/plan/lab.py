"""The lab of a plan: chains of forwarders between pairs of tester ports."""

import collections
from collections.abc import Iterator, Sequence

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.plan import Forwarder, ForwarderPort, LabPlan, Route, SutKind
from nodrop.plan import addressing

ETHERNET_BYTES = 18
"""Header and FCS: what a frame has more than its MTU."""
IN_LINE: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3", "bridge"})
"""SUTs of which several can stand in line."""
TRANSPARENT: frozenset[SutKind] = frozenset({"bridge", "ovs", "wire"})
"""SUTs that leave MAC addresses as they are."""
FORWARDS_FRAMES: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3"})
"""SUTs whose process takes each frame in and puts it out again."""
ON_ITS_THREAD: frozenset[SutKind] = frozenset({"vnf-l2", "vnf-l3", "ovs"})
"""SUTs with a process that can be bound to a CPU."""


def private_lab(config: Config, available: Sequence[int], largest: int) -> LabPlan:
    """The lab to be brought up for a configuration, with CPUs out of those available, for frames of that size at most.

    Raises: ConfigError.
    """
    if config.hops > 1 and config.sut not in IN_LINE:
        raise ConfigError(
            f"hops: {config.hops} asked, {config.sut} stands alone; use one hop, or one of {', '.join(sorted(IN_LINE))}"
        )
    ports = range(2 * config.chains)
    inner = [(f"inner{end}", f"inner{end + 1}") for end in range(0, 2 * config.chains, 2)] if config.hops > 1 else []
    return LabPlan(
        sut=config.sut,
        chain_count=config.chains,
        tester_interfaces=tuple(f"tester{port}" for port in ports),
        sut_interfaces=tuple(f"sut{port}" for port in ports),
        inner_links=tuple(inner),
        forwarders=tuple(_forwarders(config, available)) if config.sut != "wire" else (),
        mtu_bytes=max(1500, largest - ETHERNET_BYTES),
        sut_backend=config.vnf.backend if config.sut in FORWARDS_FRAMES else "af_packet",
        sut_queue_slots=config.vnf.queue_slots,
    )


def standing_lab(config: Config, standing: LabPlan, largest: int) -> LabPlan:
    """The lab as it stands; what else was asked of it must fit. Raises ConfigError."""
    for key, asked, found in (
        ("sut", config.sut, standing.sut),
        ("chains", config.chains, standing.chain_count),
        ("hops", config.hops, standing.hop_count),
    ):
        if key in config.model_fields_set and asked != found:
            raise ConfigError(
                f"{key}: {asked} asked, lab {config.lab} holds {found}; "
                f"leave {key} out, or bring up another lab: nodrop lab up --{key} {asked} --name ANOTHER"
            )
    if largest > standing.mtu_bytes + ETHERNET_BYTES:
        raise ConfigError(
            f"frame_bytes: {largest} asked, lab {config.lab} takes up to "
            f"{standing.mtu_bytes + ETHERNET_BYTES} bytes; use smaller frames, or leave lab out to get one that fits"
        )
    return standing


def entrance_mac(lab: LabPlan, tx_port: int) -> str:
    """The destination MAC address of what a tester port sends."""
    return addressing.tester_mac(tx_port ^ 1) if lab.sut in TRANSPARENT else addressing.sut_mac(tx_port)


def lab_warnings(lab: LabPlan) -> Iterator[str]:
    """What there is to know of a lab before believing its figures."""
    shared = collections.Counter(
        forwarder.core for forwarder in lab.forwarders if forwarder.core is not None and lab.sut != "ovs"
    )
    for core, count in shared.items():
        if count > 1:
            yield (
                f"{count} VNFs share CPU {core}: each gets a part of it, and a queue can overflow while its VNF waits; "
                "use a machine with more CPUs for figures of chains"
            )


def check_core(key: str, core: int, available: Sequence[int]) -> None:
    """Raises ConfigError when a CPU is not one that nodrop may use."""
    if core not in available:
        listed = ", ".join(map(str, available))
        raise ConfigError(f"{key}: CPU {core} asked, nodrop may use CPUs {listed}; name one of these, auto or none")


def _forwarders(config: Config, available: Sequence[int]) -> Iterator[Forwarder]:
    for chain in range(config.chains):
        ends = [_tester_side(config.chains, 2 * chain), _tester_side(config.chains, 2 * chain + 1)]
        if config.hops > 1:
            near, far = (_inner_side(config.chains, 2 * chain + way) for way in range(2))
            pairs = [(ends[0], near), (far, ends[1])]
        else:
            pairs = [(ends[0], ends[1])]
        for place, ports in enumerate(pairs):
            yield Forwarder(ports=ports, core=_vnf_core(config, available, chain * config.hops + place))


def _tester_side(chain_count: int, port: int) -> ForwarderPort:
    networks = addressing.networks(chain_count, port)
    return ForwarderPort(
        interface=f"sut{port}",
        mac=addressing.sut_mac(port),
        peer_mac=addressing.tester_mac(port),
        addresses=addressing.sut_ips(chain_count, port),
        routes=tuple(Route(prefix=str(network), via=str(network[1])) for network in networks),
    )


def _inner_side(chain_count: int, end: int) -> ForwarderPort:
    """The even end leads to the networks of the odd side, by way of the odd end, and the other way round."""
    networks = addressing.networks(chain_count, end ^ 1)
    vias = addressing.inner_ips(end ^ 1)
    return ForwarderPort(
        interface=f"inner{end}",
        mac=addressing.inner_mac(end),
        peer_mac=addressing.inner_mac(end ^ 1),
        addresses=addressing.inner_ips(end),
        routes=tuple(Route(prefix=str(network), via=via) for network, via in zip(networks, vias, strict=True)),
    )


def _vnf_core(config: Config, available: Sequence[int], position: int) -> int | None:
    """The CPU of the VNF at a position: the last one, then those before it, over and over; never the tester's first."""
    asked = config.vnf.core
    if config.sut not in ON_ITS_THREAD or asked == "none" or (asked == "auto" and len(available) < 2):
        return None
    if isinstance(asked, str):
        return available[1:][::-1][position % (len(available) - 1)]
    check_core("vnf.core", asked, available)
    return asked
