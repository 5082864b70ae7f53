"""The frames of a run, from configuration to streams."""

from pathlib import Path
from typing import Any

import pytest

from nodrop.config.load import build_config
from nodrop.config.traffic import GENOME_BYTES, RangeConfig, TrafficConfig
from nodrop.errors import ConfigError
from nodrop.formatting import describe_traffic, format_load_per_direction
from nodrop.model.layer import Ipv4, Udp
from nodrop.model.traffic import FieldRange, IncrementedValues, RandomValues, Stream, Traffic
from nodrop.plan import build_plan

PAGE = (Path(__file__).parents[2] / "docs/reference/traffic.md").read_text()


def traffic(**keys: Any) -> Traffic:
    return build_plan(
        build_config((), {key.replace("__", "."): value for key, value in keys.items()}), cpus=(0, 1)
    ).traffic


def first(**keys: Any) -> Stream:
    return traffic(**keys).streams[0]


def kinds(stream: Stream) -> str:
    return "/".join(layer.kind for layer in stream.layers)


def test_by_default_frames_are_of_64_bytes_with_udp_over_ipv4_and_256_source_ports() -> None:
    stream = first()
    assert (kinds(stream), stream.header_bytes, stream.flow_count) == ("ethernet/ipv4/udp", 42, 256)
    assert [size.frame_bytes for size in stream.sizes] == [64]
    assert describe_traffic(traffic()) == "64-byte frames both ways, 256 flows each way"


@pytest.mark.parametrize(
    ("keys", "stack"),
    [
        ({"ip": 6}, "ethernet/ipv6/udp"),
        ({"transport": "tcp", "vlan": 7}, "ethernet/vlan/ipv4/tcp"),
        ({"transport": "icmp", "qinq": 8, "vlan": 7}, "ethernet/qinq/vlan/ipv4/icmp_echo"),
        ({"mpls": "16,17"}, "ethernet/mpls/mpls/ipv4/udp"),
        ({"vxlan": 5, "ip": 6}, "ethernet/ipv4/udp/vxlan/ethernet/ipv6/udp"),
        ({"gre": 5, "tunnel_ip": 6, "vlan": 1}, "ethernet/vlan/ipv6/gre/ipv4/udp"),
    ],
)
def test_headers_are_those_asked_for(keys: dict[str, Any], stack: str) -> None:
    assert kinds(first(frame_bytes=256, **{f"traffic__{key}": value for key, value in keys.items()})) == stack


def test_frames_too_small_for_their_headers_are_refused_with_the_smallest_size() -> None:
    with pytest.raises(
        ConfigError, match=r"^frame_bytes: too small \(64\), ethernet, vlan, ipv4, udp and the signature need 68;"
    ):
        traffic(traffic__vlan=5)
    assert first(traffic__vlan=5, frame_bytes=68).sizes[0].frame_bytes == 68
    with pytest.raises(ConfigError, match=r"^traffic.imix or traffic.genome: too small \(64\), .* need 84;"):
        traffic(traffic__ip=6, traffic__imix="64:1,128:1")


def test_mixed_sizes_have_weights_and_a_genome_has_an_order() -> None:
    mixed = first(traffic__imix="64:7,594:4,1518:1")
    assert [(size.frame_bytes, size.weight) for size in mixed.sizes] == [(64, 7), (594, 4), (1518, 1)]
    assert (mixed.size_order, mixed.frame_bytes_mean) == ("mixed", (7 * 64 + 4 * 594 + 1518) / 12)
    genome = first(traffic__genome="IMIX-aaafga")
    assert [(size.frame_bytes, size.weight) for size in genome.sizes] == [(64, 3), (1280, 1), (1518, 1), (64, 1)]
    assert genome.size_order == "listed"
    assert "64/594/1518-byte (7:4:1) frames" in describe_traffic(traffic(traffic__imix="64:7,594:4,1518:1"))


def test_mixed_sizes_of_a_file_stay_together(tmp_path: Path) -> None:
    files = [tmp_path / "one.yaml", tmp_path / "two.yaml"]
    files[0].write_text("traffic: {imix: {64: 7, 1518: 1}, vlan: 5}")
    files[1].write_text("traffic: {imix: {128: 1}}")
    config = build_config(files, {})
    assert (config.traffic.imix, config.traffic.vlan) == ({128: 1}, 5)


def test_sizes_said_twice_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^traffic.imix and frame_bytes: each sets the sizes of all frames"):
        traffic(traffic__imix="64:1", frame_bytes=64)


def test_the_highest_load_is_the_line_rate_at_the_mean_size_and_of_the_busiest_direction() -> None:
    """Source: 10 Gb/s over (size + 20) bytes a frame, RFC 2544 section 20."""
    keys = {"traffic.imix": "64:1,1518:1", "traffic.forward": "80%"}
    plan = build_plan(build_config((), keys), cpus=(0, 1))
    assert plan.search.max_load_pps == pytest.approx(10e9 / 8 / (791 + 20) / 0.8)
    assert format_load_per_direction(1e6, plan.traffic) == "800.0 kpps + 200.0 kpps"


def test_many_streams_share_a_direction_and_have_numbers_and_addresses_of_their_own() -> None:
    created = traffic(traffic__streams=3, traffic__forward="75%", flow_count=12)
    assert len({stream.stream_id for stream in created.streams}) == 6
    assert len({stream.ip.src for stream in created.streams if stream.ip}) == 6
    assert created.load_ratios == pytest.approx((0.25,) * 3 + (0.25 / 3,) * 3)
    assert created.direction_ratios == pytest.approx({(0, 1): 0.75, (1, 0): 0.25})
    assert "3 streams of 2 flows each way" in describe_traffic(created)


@pytest.mark.parametrize("flow_count", [1, 2, 16384, 16385, 2**20, 1_000_000, 1_000_003])
def test_flows_are_source_ports_times_source_addresses(flow_count: int) -> None:
    stream = first(flow_count=flow_count, bidirectional=False)
    assert stream.flow_count == flow_count
    assert all(part.values.count <= 16384 for part in stream.ranges)


def test_many_streams_have_a_flow_each_where_no_number_was_written() -> None:
    assert [stream.flow_count for stream in traffic(traffic__streams=300).streams] == [1] * 600


def test_flows_are_those_of_all_chains_and_both_directions() -> None:
    created = traffic(flow_count=1001, chains=4, networks="ports")
    counts = [stream.flow_count for stream in created.streams]
    assert sum(counts) == 1001 and max(counts) - min(counts) == 1
    assert describe_traffic(created) == "64-byte frames both ways, 125 or 126 flows each way in each chain"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        (
            {"flow_count": 7, "chains": 4},
            r"^flow_count: fewer flows than streams \(7, 8 streams: 4 chains, both ways\); write 8 or more",
        ),
        (
            {"flow_count": 2**23, "bidirectional": False},
            r"^flow_count: too many flows \(8388608, .* allow 4194304 per stream",
        ),
    ],
)
def test_flows_that_cannot_be_made_are_refused_with_a_number_that_can(keys: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        traffic(**keys)


def test_ranges_change_each_time_those_before_have_gone_through(tmp_path: Path) -> None:
    file = tmp_path / "ranges.yaml"
    file.write_text("""
flow_count: 20
frame_bytes: 128
traffic:
  vlan: 5
  ranges:
    - {field: vlan, count: 4}
    - {field: dst_mac, count: 4, step: 2, together: true}
    - {field: dst_ip, count: 3, seed: 1, span: 100}
""")
    stream = build_plan(build_config([file], {}), cpus=(0, 1)).traffic.streams[0]
    assert stream.ranges == (
        FieldRange(layer=3, field="src_port", values=IncrementedValues(count=10)),
        FieldRange(layer=1, field="id", values=IncrementedValues(count=4), every=10),
        FieldRange(layer=0, field="dst", values=IncrementedValues(count=4, step=2), every=10),
        FieldRange(layer=2, field="dst", values=RandomValues(count=3, span=100, seed=1), every=40),
    )
    assert stream.flow_count == 120


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        ("[{field: vni, count: 3}]", "frames have no such field (vni)"),
        ("[{field: outer_src_ip, count: 3}]", "frames have no such field (outer_src_ip)"),
        ("[{field: src_port, count: 3}]", "the flows vary this field already (src_port)"),
        ("[{field: dst_ip}]", "neither count nor values (dst_ip)"),
        ("[{field: dst_ip, count: 100000}]", "the period exceeds 8388608 frames"),
        ("[{field: dst_ip, counts: 3}]", "did you mean traffic.ranges.0.count?"),
        ("[{field: color, count: 3}]", "traffic.ranges.0.field: should be 'src_mac', "),
    ],
)
def test_ranges_that_cannot_be_are_refused(ranges: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "ranges.yaml"
    file.write_text(f"traffic: {{ranges: {ranges}}}")
    with pytest.raises(ConfigError) as refused:
        build_plan(build_config([file], {}), cpus=(0, 1))
    assert says in str(refused.value)


def test_in_a_tunnel_plain_names_are_of_the_inner_headers(tmp_path: Path) -> None:
    file = tmp_path / "ranges.yaml"
    file.write_text("""
frame_bytes: 128
traffic: {vxlan: 5, ranges: [{field: outer_src_port, count: 8}, {field: dst_ip, values: [10.0.0.1, 10.0.0.2]}]}
""")
    stream = build_plan(build_config([file], {}), cpus=(0, 1)).traffic.streams[0]
    assert [(part.layer, part.field) for part in stream.ranges] == [(6, "src_port"), (2, "src_port"), (5, "dst")]
    assert isinstance(stream.layers[2], Udp) and isinstance(stream.layers[5], Ipv4)


def test_two_tunnels_at_once_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^traffic.vxlan and traffic.gre: frames can have one tunnel"):
        traffic(traffic__vxlan=1, traffic__gre=1, frame_bytes=256)


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("imix", "64", "write size:weight"),
        ("imix", "64:x", "should be an integer"),
        ("genome", "aaz", "write letters"),
        ("mpls", "16,x", "should be an integer"),
        ("vlan", "4096", "less than or equal to 4095"),
        ("forward", "100%", "less than 1"),
    ],
)
def test_what_is_written_wrongly_is_named_with_how_to_write_it(key: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_config((), {f"traffic.{key}": text})
    assert f"traffic.{key}" in str(refused.value) and says in str(refused.value)


def test_a_shift_by_the_sut_tells_where_else_signatures_may_be() -> None:
    assert first(traffic__rx_shift=[4, -8]).rx_offsets == (46, 34)


def test_the_reference_page_has_a_row_for_every_key_and_the_letters_of_the_genome() -> None:
    assert [key for key in TrafficConfig.model_fields if f"| `{key}` |" not in PAGE] == []
    assert [key for key in RangeConfig.model_fields if f"| `{key}` |" not in PAGE] == []
    assert ", ".join(f"{letter} {size}" for letter, size in GENOME_BYTES.items()) in PAGE


def test_chains_in_vlans_have_their_tags_and_the_room_for_them() -> None:
    """The switch removes the tag before a chain sees the frame, which then has the requested size."""
    plan = build_plan(build_config((), {"chains": 2, "vlans": [[100, 101], [200, 201]]}), cpus=(0, 1))
    tags = [[layer.id for layer in stream.layers if layer.kind == "vlan"] for stream in plan.traffic.streams]
    assert tags == [[100], [200], [101], [201]]
    assert [stream.rx_vlan for stream in plan.traffic.streams] == [200, 100, 201, 101]
    assert plan.traffic.frame_bytes == 68
    assert any("frames of 64 bytes are sent with 68" in warning for warning in plan.warnings)
    with pytest.raises(ConfigError, match=r"^traffic.vlan: chains are distinguished by VLAN already"):
        traffic(chains=2, traffic__vlan=5, frame_bytes=128)
