"""A run's traffic as streams of TRex: their loads, counters and marks.

Source: TRex RPC server specification, add_stream and start_traffic; faults of NFVbench to avoid:
pg_ids that collide at 128 chains, latency frames that are silently larger than requested.
"""

import base64
import json

import pytest
from tests.traffic import plain_stream

from nodrop.errors import GeneratorError
from nodrop.generator.trex.frames import build_templates
from nodrop.generator.trex.relay import announcements_by_port
from nodrop.generator.trex.stream_set import StreamSet
from nodrop.generator.trex.streams import build_stream_set
from nodrop.model.layer import Ethernet, Ipv4, Mpls, Udp, Vlan, Vxlan
from nodrop.model.neighbor import NeighborLink, NeighborPlan, Station
from nodrop.model.pattern import BurstLoad
from nodrop.model.traffic import FieldRange, IncrementedValues, SizeShare, Stream, Traffic
from nodrop.model.trex import TrexPlan

ETHERNET = Ethernet(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = Ipv4(src="198.18.0.1", dst="198.19.0.1")
UDP = Udp(src_port=1024, dst_port=9)
IMIX = (
    SizeShare(frame_bytes=64, weight=7),
    SizeShare(frame_bytes=594, weight=4),
    SizeShare(frame_bytes=1518, weight=1),
)


def make_stream_set(*streams: Stream, plan: TrexPlan | None = None, counter_count: int = 1023) -> StreamSet:
    """Return the streams in the form that a server receives."""
    traffic = Traffic(streams=streams)
    return build_stream_set(traffic, plan or TrexPlan(), build_templates(traffic), counter_count=counter_count)


def chains(count: int) -> tuple[Stream, ...]:
    """Return both directions of so many chains."""
    return tuple(plain_stream(2 * chain + way, way, 1 - way, chain=chain) for chain in range(count) for way in (0, 1))


def test_a_stream_as_add_stream_takes_it() -> None:
    stream = plain_stream(
        4, 0, 1, ranges=(FieldRange(layer=2, field="src_port", values=IncrementedValues(count=3)),), chain=0
    )
    requested = make_stream_set(stream).ports[0].streams
    packet = requested[0]["stream"].pop("packet")
    assert json.loads(json.dumps(requested)) == [
        {
            "stream_id": 1,
            "stream": {
                "enabled": True,
                "self_start": True,
                "flags": 3,
                "isg": 0.0,
                "action_count": 0,
                "random_seed": 0,
                "next_stream_id": -1,
                "mode": {"type": "continuous", "rate": {"type": "pps", "value": 1.0}},
                "vm": {
                    "instructions": [
                        {
                            "type": "flow_var",
                            "name": "src_port_34",
                            "size": 1,
                            "op": "inc",
                            "split_to_cores": False,
                            "init_value": 0,
                            "min_value": 0,
                            "max_value": 2,
                            "step": 1,
                        },
                        {
                            "type": "write_flow_var",
                            "name": "src_port_34",
                            "pkt_offset": 35,
                            "add_value": 0,
                            "is_big_endian": True,
                        },
                    ]
                },
                "flow_stats": {
                    "enabled": True,
                    "stream_id": 1,
                    "rule_type": "stats",
                    "vxlan": False,
                    "ieee_1588": False,
                },
            },
        }
    ]
    assert packet["meta"] == ""
    assert len(base64.b64decode(packet["binary"])) == 60


def test_loads_of_a_port_add_up_to_its_part_and_sizes_to_their_weights() -> None:
    result = make_stream_set(plain_stream(0, 0, 1, sizes=IMIX, share=3.0), plain_stream(1, 1, 0, sizes=IMIX, share=1.0))
    rates = [stream["stream"]["mode"]["rate"]["value"] for stream in result.ports[0].streams]
    assert rates == pytest.approx([0.75 * 7 / 12, 0.75 * 4 / 12, 0.75 / 12])
    assert [port.load_ratio for port in result.ports] == [0.75, 0.25]
    assert {stream["stream"]["flow_stats"]["stream_id"] for stream in result.ports[0].streams} == {1}
    assert result.ports[0].multiplier(1e6) == 1e6


def test_latency_streams_are_part_of_the_load_and_have_counters_of_their_own() -> None:
    result = make_stream_set(*chains(2), plan=TrexPlan(latency_chains=(1,), latency_load_pps=500))
    assert [(one.pg_id, one.latency_pg_id) for one in result.counted] == [(1, None), (2, None), (3, 5), (4, 6)]
    port = result.ports[0]
    assert (port.load_ratio, port.latency_load_pps) == (0.5, 500)
    assert port.multiplier(10_000) * port.load_ratio + port.latency_load_pps == pytest.approx(5000)
    latency = port.streams[-1]["stream"]
    assert latency["flow_stats"]["rule_type"] == "latency"
    assert latency["mode"]["rate"]["value"] == 500
    assert base64.b64decode(latency["packet"]["binary"])[40:42] == b"\0\0", "TRex's mark would spoil the checksum"


def test_numbers_are_unique_on_all_ports_at_128_chains_and_beyond() -> None:
    result = make_stream_set(*chains(200), plan=TrexPlan(latency_chains=tuple(range(64))))
    numbers = [one.pg_id for one in result.counted] + [one.latency_pg_id for one in result.counted if one.latency_pg_id]
    assert len(set(numbers)) == len(numbers) == 400 + 128


def test_counters_that_do_not_suffice_are_named_with_what_to_write() -> None:
    with pytest.raises(GeneratorError, match=r"128 streams exceed the 127 counters .* trex.flow_stats: false"):
        make_stream_set(*chains(64), counter_count=127)
    with pytest.raises(GeneratorError, match="latency of 130 streams exceeds TRex's limit of 128"):
        make_stream_set(*chains(65), plan=TrexPlan(latency_chains=tuple(range(65))))
    without = make_stream_set(*chains(64), plan=TrexPlan(flow_stats=False), counter_count=127)
    assert {one.pg_id for one in without.counted} == {None}
    assert without.ports[0].streams[0]["stream"]["flow_stats"] == {"enabled": False}


def test_a_latency_frame_that_has_to_be_larger_is_said() -> None:
    tagged = plain_stream(0, 0, 1, layers=(ETHERNET, Vlan(id=100), IPV4, UDP))
    result = make_stream_set(tagged, plan=TrexPlan(latency_chains=(0,)))
    sizes = [len(base64.b64decode(stream["stream"]["packet"]["binary"])) + 4 for stream in result.ports[0].streams]
    assert sizes == [64, 68]
    assert result.notes == (
        "latency is measured with frames of 68 bytes in addition to those of 64: TRex's mark needs space",
    )


def test_vxlan_is_counted_inside() -> None:
    tunnel = (ETHERNET, IPV4, Udp(src_port=49152, dst_port=4789), Vxlan(vni=7), ETHERNET, IPV4, UDP)
    result = make_stream_set(plain_stream(0, 0, 1, layers=tunnel, sizes=(SizeShare(frame_bytes=128),)))
    assert result.ports[0].streams[0]["stream"]["flow_stats"]["vxlan"] is True


def test_labels_are_counted_at_the_ports_only_and_it_is_said() -> None:
    result = make_stream_set(
        plain_stream(0, 0, 1, layers=(ETHERNET, Mpls(label=16), IPV4, UDP)), plan=TrexPlan(latency_chains=(0,))
    )
    assert result.counted[0].pg_id is None
    assert result.counted[0].latency_pg_id is None
    assert any("cannot tell streams with these headers apart" in note for note in result.notes)


def test_frames_made_beforehand_are_as_many_as_asked_and_it_is_said_what_that_means() -> None:
    ranges = (FieldRange(layer=1, field="src", values=IncrementedValues(count=1000)),)
    result = make_stream_set(plain_stream(0, 0, 1, ranges=ranges), plan=TrexPlan(cache_size=100, latency_chains=(0,)))
    assert [stream["stream"]["vm"].get("cache") for stream in result.ports[0].streams] == [100, None]
    assert result.notes == (
        "trex.cache_size: TRex repeats 100 prebuilt frames of each stream, so at most 100 of 1000 flows occur",
    )


def test_one_direction_leaves_the_other_port_without_streams() -> None:
    result = make_stream_set(plain_stream(0, 0, 1), plan=TrexPlan(ports=(3, 2)))
    assert [(port.number, len(port.streams), port.load_ratio) for port in result.ports] == [(3, 1, 1.0), (2, 0, 0)]
    assert result.ports[1].multiplier(1e6) == 0.0


def test_loads_that_vary_are_refused() -> None:
    traffic = Traffic(streams=(plain_stream(0, 0, 1),), pattern=BurstLoad(period_s=0.1, duty_ratio=0.5))
    with pytest.raises(GeneratorError, match=r"pattern\.kind: TRex cannot send burst, only a steady load"):
        build_stream_set(traffic, TrexPlan(), build_templates(traffic))


def test_stations_announce_their_addresses_whatever_the_load() -> None:
    station = Station(mac="02:00:00:00:00:01", addresses=("198.18.0.1", "2001:2::1"), tags=(Vlan(id=7),))
    neighbors = NeighborPlan(links=(NeighborLink(port=1, chain=0, station=station),), announce_every_s=0.5)
    frames = announcements_by_port(neighbors)
    assert [frame[16:18].hex() for frame in frames[1]] == ["0806", "86dd"]
    traffic = Traffic(streams=(plain_stream(0, 0, 1),))
    stream_set = build_stream_set(traffic, TrexPlan(), build_templates(traffic), announced=frames, announce_every_s=0.5)
    assert [stream["stream"]["mode"]["type"] for stream in stream_set.ports[1].streams] == ["multi_burst"] * 2
    assert stream_set.ports[1].streams[0]["stream"]["mode"]["ibg"] == 500_000
    assert (stream_set.ports[1].load_ratio, stream_set.ports[1].announcements) == (0, ())


def test_where_only_ports_count_stations_announce_themselves_before_trials() -> None:
    traffic, frames = Traffic(streams=(plain_stream(0, 0, 1),)), {0: (b"announcement",)}
    plan = TrexPlan(flow_stats=False)
    stream_set = build_stream_set(traffic, plan, build_templates(traffic), announced=frames, announce_every_s=0.5)
    assert [len(port.streams) for port in stream_set.ports] == [1, 0]
    assert [port.announcements for port in stream_set.ports] == [(b"announcement",), ()]
