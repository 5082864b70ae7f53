"""The BRAS workload: subscribers behind two VLAN tags on the left, keyed GRE over MPLS on the right.

Source: ETSI GS NFV-PER 001 annex D, figures D.3 to D.6; the values are those of PROX.
"""

import math
from collections.abc import Iterator
from ipaddress import IPv4Address

from nodrop.config.schema import Config
from nodrop.errors import ConfigError
from nodrop.model.bras import ARP_TIMEOUT_S, BrasTables
from nodrop.model.choices import SutKind
from nodrop.model.expectation import parse_expectation
from nodrop.model.lab_plan import LabPlan
from nodrop.model.layer import Arp, Ethernet, Gre, Ipv4, Layer, Mpls, Udp, Vlan
from nodrop.model.neighbor import Announcement
from nodrop.model.traffic import (
    ArrivalField,
    ConstantArrival,
    FieldName,
    FieldRange,
    MaskedArrival,
    MaskedValues,
    RandomValues,
    SignatureForm,
    SizeShare,
    Stream,
    TableArrival,
    Traffic,
)
from nodrop.plan.chain_ends import plan_chain_ends
from nodrop.plan.frame_sizes import BEHIND_HEADERS_BYTES, FCS_BYTES, SizeOrder, plan_sizes
from nodrop.rates import SearchedRate, parse_rate
from nodrop.units import format_seconds

SUTS: frozenset[SutKind] = frozenset({"vnf-bras", "ext"})
REPLACED_KEYS = ("flow_count", "flows", "tunnel", "vlans", "networks", "routers", "gateways", "traffic")
"""Keys that describe other frames or paths."""
CPE_HEADER_BYTES, CORE_HEADER_BYTES = 22, 46
"""Headers in front of a subscriber's IP packet on each side."""
CORE_EXTRA_BYTES = CORE_HEADER_BYTES - CPE_HEADER_BYTES
"""Bytes by which a frame is longer on the core side."""
UDP_PACKET_BYTES = 28
CPE_SIGNATURE_AT, CORE_SIGNATURE_AT = CPE_HEADER_BYTES + UDP_PACKET_BYTES, CORE_HEADER_BYTES + UDP_PACKET_BYTES
"""Offset of the signature on each side."""
SMALLEST_CPE_BYTES = CPE_SIGNATURE_AT + BEHIND_HEADERS_BYTES
EMPTY_CORE_BYTES = CORE_SIGNATURE_AT + FCS_BYTES
"""Frame on the core side with an empty UDP datagram."""
TAG_BYTES = 4
SUBSCRIBER_BITS = 8
"""Bits of a subscriber's number in the C-tag; the others are in the S-tag."""
C_TAG_MASK, S_TAG_MASK = 0xF33, 0x0FF
S_TAG_TYPE = 0x88A8
DESTINATIONS = IPv4Address("10.0.0.0")
DESTINATION_MASK = 0x01FFF0FF
"""Bits of an address behind a route: number of the route, host."""
HOST_BITS = 8
HOSTS_PER_ROUTE = 2**HOST_BITS
MAC_MASK, WORD_MASK, LABEL_MASK, VLAN_ID_MASK = 2**48 - 1, 2**32 - 1, 0xFFFFF000, 0xFFF
TUNNEL_END = "1.1.1.1"
"""The first next hop's end of its tunnel."""
UDP_PORT = 53
DOWNSTREAM_SEED_STEP = 1
"""Added to the seed of the upstream destinations for those downstream."""
VALUES_MAX = 65536
"""Destinations in a cycle."""
ARP_PPS, REMOTE_ARP_PPS = 50_000.0, 5_000.0
REPEAT_S = 600.0
"""Age of the announcements after which a trial is preceded by others; a trial must not outlast the remaining time."""


def use_workload(config: Config) -> Config:
    """Return the configuration with the SUT of its workload, or the workload of its SUT.

    Raises: ConfigError if keys contradict the workload.
    """
    if config.sut == "vnf-bras" and config.workload is None:
        config = config.replace(workload="bras")
    if config.workload is None:
        return config
    if "sut" not in config.model_fields_set and not config.ports:
        config = config.replace(sut="vnf-bras")
    _check(config)
    if has_exact_small_frames(config, plan_sizes(config)[0]):
        _check_exact_small_frames(config)
        latency = config.latency.replace(enabled=False)
        config = config.replace(latency=latency, engine=config.engine.replace(latency_every=0))
    return config


def has_exact_small_frames(config: Config, sizes: tuple[SizeShare, ...]) -> bool:
    """Return whether frames have no space for a signature behind their headers, and are not enlarged."""
    smallest = min(size.frame_bytes for size in sizes)
    return config.bras.small_frames == "exact" and smallest < SMALLEST_CPE_BYTES


def plan_tables(config: Config) -> BrasTables:
    """Return the contents of the tables."""
    section = config.bras
    return BrasTables(
        subscriber_count=section.subscribers,
        route_count=section.routes,
        next_hop_count=section.next_hops,
        tag_plan=section.tags,
        seed=section.seed,
        address=str(section.address),
        ttl=section.ttl,
        arp_timeout_s=max(ARP_TIMEOUT_S, math.ceil(REPEAT_S + config.duration)),
    )


def check_lab_tables(config: Config, existing: BrasTables) -> None:
    """Check that the BRAS of a standing lab serves the configuration. Raises ConfigError if it does not."""
    planned = plan_tables(config)
    if existing.replace(arp_timeout_s=planned.arp_timeout_s) != planned:
        raise ConfigError(
            f"bras: lab {config.lab} was brought up with other tables; write the same keys, or bring up another lab "
            "with them"
        )
    if existing.arp_timeout_s < planned.arp_timeout_s:
        raise ConfigError(
            f"duration: the BRAS of lab {config.lab} forgets subscribers during a trial of "
            f"{format_seconds(config.duration)}; write up to {existing.arp_timeout_s - REPEAT_S:g}s, or bring up "
            "another lab with it"
        )


def build_streams(config: Config, lab: LabPlan, sizes: tuple[SizeShare, ...], order: SizeOrder) -> Iterator[Stream]:
    """Yield the stream of each direction; `sizes` are those on the subscribers' side."""
    ((cpe, core),) = plan_chain_ends(config, lab)
    is_exact = has_exact_small_frames(config, sizes)
    signature: SignatureForm = "headers" if is_exact else "payload"
    if not is_exact:
        sizes = tuple(size.replace(frame_bytes=max(size.frame_bytes, SMALLEST_CPE_BYTES)) for size in sizes)
    forward = config.traffic.forward
    yield Stream(
        stream_id=0,
        tx_port=cpe.port,
        rx_port=core.port,
        share=forward if config.bidirectional else 1.0,
        sizes=sizes,
        size_order=order,
        signature=signature,
        layers=(
            *_build_cpe_headers(config, cpe.tester_mac, cpe.next_mac),
            *_build_packet(str(config.bras.subscriber_address), str(DESTINATIONS)),
        ),
        ranges=(*_list_tag_ranges(config), _build_destinations(config, layer=3, field="dst", seed=config.bras.seed)),
        rx_offsets=(CORE_SIGNATURE_AT,),
        arrival_fields=tuple(_list_core_fields(config, core.next_mac)),
    )
    if config.bidirectional:
        yield Stream(
            stream_id=1,
            tx_port=core.port,
            rx_port=cpe.port,
            share=1 - forward,
            sizes=tuple(
                size.replace(frame_bytes=EMPTY_CORE_BYTES if is_exact else size.frame_bytes + CORE_EXTRA_BYTES)
                for size in sizes
            ),
            size_order=order,
            signature=signature,
            layers=(
                Ethernet(src=core.tester_mac, dst=core.next_mac),
                Mpls(label=config.bras.label),
                Ipv4(src=TUNNEL_END, dst=str(config.bras.address)),
                Gre(key=0),
                *_build_packet(str(DESTINATIONS), str(config.bras.subscriber_address)),
            ),
            ranges=(
                FieldRange(layer=3, field="key", values=_draw_subscribers(config)),
                _build_destinations(config, layer=4, field="src", seed=config.bras.seed + DOWNSTREAM_SEED_STEP),
            ),
            # Packet sockets receive a frame without its outermost tag.
            rx_offsets=(CPE_SIGNATURE_AT, CPE_SIGNATURE_AT - TAG_BYTES),
            arrival_fields=tuple(_list_cpe_fields(config, cpe.tester_mac, cpe.next_mac)),
        )


def plan_announcement(config: Config, lab: LabPlan) -> Announcement | None:
    """Return the ARP requests of all subscribers; None without frames to them."""
    if config.workload != "bras" or not config.bidirectional:
        return None
    ((cpe, core),) = plan_chain_ends(config, lab)
    layers = (
        *_build_cpe_headers(config, cpe.tester_mac, "ff:ff:ff:ff:ff:ff"),
        Arp(
            sender_mac=cpe.tester_mac,
            sender_ip=str(config.bras.subscriber_address),
            target_mac="00:00:00:00:00:00",
            target_ip=str(config.bras.gateway),
        ),
    )
    stream = Stream(
        stream_id=0,
        tx_port=cpe.port,
        rx_port=core.port,
        sizes=(SizeShare(frame_bytes=sum(layer.header_bytes for layer in layers) + BEHIND_HEADERS_BYTES),),
        layers=layers,
        ranges=tuple(_list_tag_ranges(config)),
    )
    return Announcement(
        traffic=Traffic(streams=(stream,)),
        frame_count=config.bras.subscribers,
        load_pps=config.bras.arp_rate or _choose_arp_pps(lab),
        repeat_s=REPEAT_S,
    )


def _choose_arp_pps(lab: LabPlan) -> float:
    """Return a rate of ARP requests that the BRAS surely learns from."""
    if lab.sut != "vnf-bras":
        return REMOTE_ARP_PPS
    return min(ARP_PPS, lab.sut_capacity_pps / 2) if lab.sut_capacity_pps else ARP_PPS


def list_age_warnings(config: Config) -> Iterator[str]:
    """Yield that a BRAS may forget subscribers during a long trial; nodrop's own remembers them for longer."""
    longest_s = ARP_TIMEOUT_S - REPEAT_S
    if config.sut == "ext" and config.bidirectional and config.duration > longest_s:
        yield (
            f"in a trial of {format_seconds(config.duration)}, the ARP entries of the subscribers may expire: a BRAS "
            f"that keeps them for {format_seconds(ARP_TIMEOUT_S)}, as PROX does, needs trials of up to "
            f"{format_seconds(longest_s)}, or a longer timeout"
        )


def list_size_warnings(config: Config, sizes: tuple[SizeShare, ...]) -> Iterator[str]:
    """Yield the sizes that the headers and the signature enlarge, or that no latency is measured."""
    if has_exact_small_frames(config, sizes):
        (size,) = sizes
        yield (
            f"no latency is measured: frames of {size.frame_bytes} bytes ({EMPTY_CORE_BYTES} on the core side) have no "
            "space for a send time"
        )
        return
    for size in sizes:
        if size.frame_bytes < SMALLEST_CPE_BYTES:
            yield (
                f"frames of {size.frame_bytes} bytes are sent with {SMALLEST_CPE_BYTES} on the subscribers' side and "
                f"{SMALLEST_CPE_BYTES + CORE_EXTRA_BYTES} on the core side, to which all rates refer: two VLAN tags, "
                "IPv4, UDP and the signature need that; bras.small_frames: exact sends them unchanged, without latency"
            )


def _check(config: Config) -> None:
    if config.sut not in SUTS:
        raise ConfigError(
            f"sut: {config.sut} is no BRAS (workload: bras); write sut: vnf-bras, or sut: ext to measure the BRAS "
            "between ports"
        )
    if config.generator != "engine":
        raise ConfigError(
            f"generator: the BRAS workload needs nodrop's engine ({config.generator}); write generator: engine"
        )
    for key in ("chains", "hops"):
        if getattr(config, key) != 1:
            raise ConfigError(f"{key}: the BRAS workload has one path ({getattr(config, key)}); write {key}: 1")
    for key in REPLACED_KEYS:
        if key in config.model_fields_set and getattr(config, key) != type(config).model_fields[key].get_default(
            call_default_factory=True
        ):
            if key == "traffic" and config.traffic.model_fields_set <= {"imix", "genome", "forward"}:
                continue
            raise ConfigError(f"{key}: the BRAS workload has frames and a path of its own; remove {key}, or workload")
    if config.sut == "ext" and config.macs is None:
        raise ConfigError(
            "macs: missing, the BRAS is addressed by the MAC addresses of its ports; write those on the subscribers' "
            "and on the core side, e.g. [02:00:00:00:01:00, 02:00:00:00:01:01]"
        )


def _check_exact_small_frames(config: Config) -> None:
    """Raise ConfigError for several sizes at a time, and for a rate or expectation that needs the latency."""
    reason = f"frames below {SMALLEST_CPE_BYTES} bytes have no send time (bras.small_frames: exact)"
    remedy = "or write bras.small_frames: enlarge"
    if len(plan_sizes(config)[0]) > 1:
        raise ConfigError(
            f"frame_bytes: a mix has one form of signature, but {reason}; write sizes one by one, {remedy}"
        )
    rate = parse_rate(config.rate)
    if isinstance(rate, SearchedRate) and rate.load_ratio:
        raise ConfigError(
            f"rate: {config.rate} measures the latency, but {reason}; write a rate without a share, {remedy}"
        )
    if config.trial_events:
        raise ConfigError(
            f"trial_events: '{config.trial_events[0]}' needs the times of frames, but {reason}; remove it, {remedy}"
        )
    for expectation in map(parse_expectation, config.expect):
        if expectation.figure == "latency":
            raise ConfigError(f"expect: {expectation.text} needs the latency, but {reason}; remove it, {remedy}")


def _build_cpe_headers(config: Config, src: str, dst: str) -> tuple[Layer, ...]:
    first = 1 if config.bras.tags == "shifted" else 0
    return Ethernet(src=src, dst=dst), Vlan(kind="qinq", id=first), Vlan(id=first)


def _build_packet(src: str, dst: str) -> tuple[Layer, ...]:
    return Ipv4(src=src, dst=dst), Udp(src_port=UDP_PORT, dst_port=UDP_PORT)


def _draw_subscribers(config: Config) -> RandomValues:
    count = config.bras.subscribers
    return RandomValues(count=count, span=count, seed=config.bras.seed)


def _list_tag_ranges(config: Config) -> Iterator[FieldRange]:
    """Yield both tags as parts of the subscriber's number."""
    count, seed = config.bras.subscribers, config.bras.seed
    for layer, skip_bits, mask in ((1, SUBSCRIBER_BITS, S_TAG_MASK), (2, 0, C_TAG_MASK)):
        values = MaskedValues(count=count, span=count, seed=seed, skip_bits=skip_bits, mask=mask)
        yield FieldRange(layer=layer, field="id", values=values)


def _build_destinations(config: Config, *, layer: int, field: FieldName, seed: int) -> FieldRange:
    """Return random addresses behind all routes."""
    span = config.bras.routes * HOSTS_PER_ROUTE
    values = MaskedValues(count=min(span, VALUES_MAX), span=span, seed=seed, mask=DESTINATION_MASK)
    return FieldRange(layer=layer, field=field, values=values)


def _list_core_fields(config: Config, bras_mac: str) -> Iterator[ArrivalField]:
    """Yield what the BRAS writes in front of an upstream packet: the route's headers, and the subscriber's key."""
    yield ArrivalField(anchor="start", offset=6, width=6, mask=MAC_MASK, values=_constant(bras_mac))
    sent = _build_destinations(config, layer=3, field="dst", seed=config.bras.seed).values
    assert isinstance(sent, MaskedValues)
    numbers = range(1, config.bras.next_hops + 1)
    for at, width, mask, entries in (
        (0, 6, MAC_MASK, (int(str(number), 16) for number in numbers)),
        (14, 4, LABEL_MASK, (int(f"{number}12", 16) << 12 for number in numbers)),
        (34, 4, WORD_MASK, (int(IPv4Address(f"{number}.1.1.1")) for number in numbers)),
    ):
        values = TableArrival(
            entries=tuple(entries), count=sent.count, span=sent.span, seed=sent.seed, skip_bits=HOST_BITS
        )
        yield ArrivalField(anchor="signature", offset=at - CORE_SIGNATURE_AT, width=width, mask=mask, values=values)
    if config.bras.tags != "shuffled":  # whose order only the BRAS knows
        drawn = _draw_subscribers(config)
        key = MaskedArrival(count=drawn.count, span=drawn.span, seed=drawn.seed, mask=0xFFFF)
        yield ArrivalField(anchor="signature", offset=42 - CORE_SIGNATURE_AT, width=4, mask=WORD_MASK, values=key)


def _list_cpe_fields(config: Config, subscriber_mac: str, bras_mac: str) -> Iterator[ArrivalField]:
    """Yield what the BRAS writes in front of a downstream packet."""
    yield ArrivalField(anchor="start", offset=0, width=6, mask=MAC_MASK, values=_constant(subscriber_mac))
    yield ArrivalField(anchor="start", offset=6, width=6, mask=MAC_MASK, values=_constant(bras_mac))
    if config.bras.tags != "shuffled":
        drawn, first = _draw_subscribers(config), 1 if config.bras.tags == "shifted" else 0
        s_tag = MaskedArrival(
            count=drawn.count,
            span=drawn.span,
            seed=drawn.seed,
            skip_bits=SUBSCRIBER_BITS,
            mask=S_TAG_MASK,
            first=(S_TAG_TYPE << 16) + first,
        )
        yield ArrivalField(anchor="start", offset=12, width=4, mask=0xFFFF0FFF, values=s_tag)
        c_tag = MaskedArrival(count=drawn.count, span=drawn.span, seed=drawn.seed, mask=C_TAG_MASK, first=first)
        yield ArrivalField(anchor="signature", offset=18 - CPE_SIGNATURE_AT, width=2, mask=VLAN_ID_MASK, values=c_tag)


def _constant(mac: str) -> ConstantArrival:
    return ConstantArrival(value=int(mac.replace(":", ""), 16))
