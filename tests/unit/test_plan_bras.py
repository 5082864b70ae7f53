"""The plan of the BRAS workload: frames of both directions, announcement, and keys that do not go with it."""

import pytest

from nodrop.config.load import build_config
from nodrop.errors import ConfigError
from nodrop.formatting import describe_traffic, format_wire_rate
from nodrop.model.bras import BrasTables
from nodrop.model.plan import Plan
from nodrop.model.traffic import Stream
from nodrop.plan import bras, build_plan
from nodrop.plan.resolvers import Resolvers

MACS = [["02:00:00:00:01:00"], ["02:00:00:00:01:01"]]


def plan_bras(**keys: object) -> Plan:
    resolvers = Resolvers(inspect_ports=lambda _: ("02:00:00:00:00:01", "02:00:00:00:00:02"))
    return build_plan(build_config((), {"workload": "bras"} | keys), resolvers, [0, 1])


def kinds_of(stream: Stream) -> list[str]:
    return [layer.kind for layer in stream.layers]


def test_each_direction_has_the_headers_of_its_side() -> None:
    """Source: ETSI GS NFV-PER 001 annex D, figures D.3 and D.5."""
    plan = plan_bras(frame_bytes=128)
    assert plan.lab.sut == "vnf-bras" and plan.lab.bras and plan.lab.bras.subscriber_count == 65536
    up, down = plan.traffic.streams
    assert kinds_of(up) == ["ethernet", "qinq", "vlan", "ipv4", "udp"]
    assert kinds_of(down) == ["ethernet", "mpls", "ipv4", "gre", "ipv4", "udp"]
    assert (up.sizes[0].frame_bytes, down.sizes[0].frame_bytes) == (128, 152)
    # Where the signature is once the BRAS has replaced the headers.
    assert up.rx_offsets == (down.header_bytes,) and down.rx_offsets[0] == up.header_bytes
    assert {part.values.count for stream in (up, down) for part in stream.ranges} == {65536}


def test_small_frames_are_enlarged_or_sent_without_latency() -> None:
    """Source: ETSI GS NFV-PER 001 annex D; the smallest packet has 28 bytes, hence 64 and 78 bytes."""
    enlarged, exact = plan_bras(), plan_bras(**{"bras.small_frames": "exact"})
    assert [stream.sizes[0].frame_bytes for stream in enlarged.traffic.streams] == [72, 96]
    assert [stream.sizes[0].frame_bytes for stream in exact.traffic.streams] == [64, 78]
    assert {stream.signature for stream in enlarged.traffic.streams} == {"payload"}
    assert {stream.signature for stream in exact.traffic.streams} == {"headers"}
    assert enlarged.latency.points and not exact.latency.points
    assert (enlarged.engine.latency_every, exact.engine.latency_every) == (None, 0)
    assert any("sent with 72" in text for text in enlarged.warnings)
    assert any("no latency is measured: frames of 64 bytes (78 on the core side)" in text for text in exact.warnings)
    larger = plan_bras(frame_bytes=72, **{"bras.small_frames": "exact"})
    assert larger.latency.points and {stream.signature for stream in larger.traffic.streams} == {"payload"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"traffic.imix": {64: 7, 594: 4}}, "frame_bytes: a mix has one form of signature"),
        ({"rate": "50%NDR"}, "rate: 50%NDR measures the latency"),
        ({"expect": ["p99@50%<50us"]}, "expect: p99@50%<50us needs the latency"),
        ({"rate": "2kpps", "trial_events": ["3s command true"]}, "trial_events: '3s command true' needs the times"),
    ],
)
def test_small_frames_without_latency_go_with_nothing_that_needs_it(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=f"{message}.*bras.small_frames"):
        plan_bras(**{"bras.small_frames": "exact"} | keys)


def test_the_headers_that_the_bras_writes_are_compared() -> None:
    up, down = plan_bras().traffic.streams
    assert [(part.anchor, part.offset, part.width) for part in up.arrival_fields] == [
        ("start", 6, 6),
        ("signature", -74, 6),
        ("signature", -60, 4),
        ("signature", -40, 4),
        ("signature", -32, 4),
    ]
    assert [(part.anchor, part.offset, part.width) for part in down.arrival_fields] == [
        ("start", 0, 6),
        ("start", 6, 6),
        ("start", 12, 4),
        ("signature", -32, 2),
    ]
    # Only the BRAS knows the key of shuffled tags.
    assert [len(each.arrival_fields) for each in plan_bras(**{"bras.tags": "shuffled"}).traffic.streams] == [4, 2]


@pytest.mark.parametrize(
    ("keys", "rate_pps"),
    [
        ({}, 50_000),
        ({"bras.arp_rate": "2kpps"}, 2_000),
        ({"vnf.capacity": "20kpps"}, 10_000),
        ({"sut": "ext", "ports": ["left", "right"], "macs": MACS}, 5_000),
    ],
)
def test_the_announcement_names_every_subscriber_once(keys: dict[str, object], rate_pps: int) -> None:
    plan = plan_bras(**keys)
    announcement = plan.neighbors.announcement
    assert announcement and (announcement.frame_count, announcement.load_pps) == (65536, rate_pps)
    (stream,) = announcement.traffic.streams
    assert kinds_of(stream) == ["ethernet", "qinq", "vlan", "arp"]
    assert stream.ranges == plan.traffic.streams[0].ranges[:2]


def test_no_subscriber_is_forgotten_during_a_long_trial() -> None:
    """An announcement may be 10 minutes old when a trial begins."""
    for duration, timeout_s in (("10s", 1500), ("15min", 1500), ("60min", 4200)):
        tables = plan_bras(rate="2kpps", duration=duration).lab.bras
        assert tables and tables.arp_timeout_s == timeout_s
    assert not find_age_warnings("15min")
    (warning,) = find_age_warnings("16min")
    assert warning.startswith("in a trial of 16 min 00 s, the ARP entries of the subscribers may expire")


def find_age_warnings(duration: str) -> list[str]:
    plan = plan_bras(sut="ext", ports=["left", "right"], macs=MACS, rate="2kpps", duration=duration)
    return [warning for warning in plan.warnings if "ARP entries" in warning]


def test_a_standing_lab_that_forgets_subscribers_is_refused() -> None:
    config = build_config((), {"workload": "bras", "rate": "2kpps", "duration": "60min", "lab": "b"})
    bras.check_lab_tables(config, bras.plan_tables(config))
    with pytest.raises(ConfigError, match=r"^duration: the BRAS of lab b forgets subscribers .* write up to 900s"):
        bras.check_lab_tables(config, bras.plan_tables(config.replace(duration=10.0)))
    with pytest.raises(ConfigError, match=r"^bras: lab b was brought up with other tables"):
        bras.check_lab_tables(config, BrasTables(route_count=1))


def test_small_frames_grow_and_the_plan_says_so() -> None:
    plan = plan_bras()
    assert [stream.sizes[0].frame_bytes for stream in plan.traffic.streams] == [72, 96]
    (warning,) = [each for each in plan.warnings if "signature" in each]
    assert "frames of 64 bytes are sent with 72 on the subscribers' side and 96 on the core side" in warning
    assert not [each for each in plan_bras(frame_bytes=72).warnings if "signature" in each]


def test_rates_follow_the_size_of_each_direction() -> None:
    plan = plan_bras(link_speed="10Gbps", rate="100%")
    assert plan.fixed
    # The core side is full first: 10 Gb/s / (96 + 20 bytes), as table of annex D for its sizes.
    assert plan.fixed.load_pps == pytest.approx(2 * 10_775_862, rel=1e-6)
    assert format_wire_rate(1e6, plan.traffic) == "832.0 Mb/s"
    assert format_wire_rate(1e6, plan.traffic, {0}) == "736.0 Mb/s"
    assert format_wire_rate(1e6, plan.traffic, {1}) == "928.0 Mb/s"


def test_the_longest_packet_of_the_annex_fits_the_lab() -> None:
    assert plan_bras(frame_bytes=1494).lab.mtu_bytes == 1500


def test_the_sut_alone_selects_the_workload() -> None:
    plan = build_plan(build_config((), {"sut": "vnf-bras"}), cpus=[0, 1])
    assert kinds_of(plan.traffic.streams[0])[1] == "qinq"
    assert "both ways, 65536 flows each way" in describe_traffic(plan.traffic)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"sut": "vnf-l3"}, "sut: vnf-l3 is no BRAS"),
        ({"sut": "ext", "ports": ["a", "b"]}, "macs: missing"),
        ({"generator": "trex"}, "generator: the BRAS workload needs nodrop's engine"),
        ({"chains": 2}, "chains: the BRAS workload has one path"),
        ({"flow_count": 7}, "flow_count: the BRAS workload has frames and a path of its own"),
        ({"traffic.transport": "tcp"}, "traffic: the BRAS workload has frames"),
        ({"tunnel.kind": "vxlan"}, "tunnel: the BRAS workload has frames"),
    ],
)
def test_keys_that_contradict_the_workload_are_refused(keys: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        plan_bras(**keys)
