"""The frames of TRex's field engine equal those that nodrop's own engine sends for the same stream.

TRex is emulated step by step (tests/trex/field_engine.py); the engine is the real one, and its frames are read from a
relayed port. Source: ARCHITECTURE.md, "One direction"; trex-core, trex_stl_stream_vm.
"""

import base64
import itertools
import random
from threading import Event, Thread

import pytest
from tests.traffic import plain_stream
from tests.trex import vm
from tests.trex.field_engine import Vm, internet_checksum

from nodrop.errors import GeneratorError
from nodrop.generator.engine_process import EngineProcess
from nodrop.generator.stations import stream_request
from nodrop.generator.trex.frames import build_templates
from nodrop.generator.trex.relay_sockets import RelaySockets
from nodrop.generator.trex.streams import build_stream_set
from nodrop.model.layer import Ethernet, Gre, IcmpEcho, Ipv4, Ipv6, Layer, Mpls, Tcp, Udp, Vlan, Vxlan
from nodrop.model.traffic import FieldRange, IncrementedValues, ListedValues, RandomValues, SizeShare, Stream, Traffic
from nodrop.model.trex import TrexPlan

ETHERNET = Ethernet(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = Ipv4(src="198.18.0.1", dst="198.19.0.1")
IPV6 = Ipv6(src="2001:2::1", dst="2001:2:1::1")
UDP = Udp(src_port=1024, dst_port=9)
TCP = Tcp(src_port=1024, dst_port=80)
PLAN = TrexPlan(latency_chains=())
LOAD_PPS = 2000
COUNT = 200
SEQUENCE_AT = 13


def make_stream(*layers: Layer, ranges: tuple[FieldRange, ...] = (), frame_bytes: int = 128) -> Stream:
    """Return a stream with these headers."""
    return plain_stream(1, 0, 1, layers=layers, ranges=ranges, sizes=(SizeShare(frame_bytes=frame_bytes),))


def vary(
    layer: int,
    field: str,
    values: IncrementedValues | ListedValues | RandomValues,
    every: int = 1,
    period: int | None = None,
) -> FieldRange:
    """Return a field that changes."""
    return FieldRange.model_validate(
        {"layer": layer, "field": field, "values": values.model_dump(), "every": every, "period": period}
    )


def trex_frames(stream: Stream, count: int) -> list[bytes]:
    """Return the first frames that TRex sends of the stream."""
    traffic = Traffic(streams=(stream,))
    requested = build_stream_set(traffic, PLAN, build_templates(traffic)).ports[0].streams[0]["stream"]
    return list(itertools.islice(Vm(requested).frames(), count))


def engine_frames(stream: Stream) -> dict[int, bytes]:
    """Return the frames that nodrop's own engine sends of the stream, by number."""
    frames: list[bytes] = []
    ended = Event()

    def take() -> None:
        while (received := sockets[0].receive(COUNT)) or not ended.is_set():  # A late thread reads the rest.
            frames.extend(received or [])

    with RelaySockets(2) as sockets:
        engine = EngineProcess(None, lambda: None)
        reader = Thread(target=take)
        reader.start()
        try:
            ports = [{"backend": "relay", "interface": line.path, "queue_slots": 64} for line in sockets]
            engine.request({"op": "open", "ports": ports, "streams": [stream_request(stream)]}, 10)
            trial = {"op": "trial", "trial_id": 1, "loads_pps": [LOAD_PPS], "duration_s": COUNT / LOAD_PPS}
            engine.request(trial | {"window_s": 0.05, "catch_up_max_s": 5.0}, 30)
        finally:
            ended.set()
            reader.join()
            engine.end()
    at = stream.header_bytes + SEQUENCE_AT
    return {int.from_bytes(frame[at : at + 5], "big"): frame for frame in frames}


def headers(stream: Stream, frame: bytes) -> bytes:
    """Return the frame without the parts that both compute differently: signature, UDP, TCP and ICMP checksums."""
    bare = bytearray(frame)
    bare[stream.header_bytes : stream.header_bytes + 18] = bytes(18)
    at = 0
    for layer in stream.layers:
        where = {"udp": 6, "tcp": 16, "icmp_echo": 2}.get(layer.kind)
        if where:
            bare[at + where : at + where + 2] = b"\0\0"
        at += layer.header_bytes
    return bytes(bare)


def check_sums(stream: Stream, frame: bytes) -> None:
    """Assert that all checksums of a frame are correct, or left out where UDP over IPv4 may."""
    at = 0
    for place, layer in enumerate(stream.layers):
        around, before = stream.layers[place - 1], at - stream.layers[place - 1].header_bytes
        if isinstance(layer, Ipv4):
            assert internet_checksum(frame[at : at + 20]) == b"\0\0"
        if isinstance(layer, Udp) and isinstance(around, Ipv4) and frame[at + 6 : at + 8] == b"\0\0":
            pass
        elif isinstance(layer, Udp | Tcp):
            addresses = (
                frame[before + 12 : before + 20] if isinstance(around, Ipv4) else frame[before + 8 : before + 40]
            )
            protocol = 17 if isinstance(layer, Udp) else 6
            pseudo = addresses + protocol.to_bytes(4, "big") + (len(frame) - at).to_bytes(4, "big")
            assert internet_checksum(pseudo + frame[at:]) == b"\0\0"
        at += layer.header_bytes


COUNT_UP = IncrementedValues(count=5)
CASES = {
    "nothing changes": make_stream(ETHERNET, IPV4, UDP, frame_bytes=64),
    "one field": make_stream(ETHERNET, IPV4, UDP, ranges=(vary(2, "src_port", COUNT_UP),), frame_bytes=64),
    "steps": make_stream(ETHERNET, IPV4, UDP, ranges=(vary(1, "dst", IncrementedValues(count=7, step=256)),)),
    "steps up to the last value": make_stream(
        ETHERNET,
        IPV4,
        Udp(src_port=65000, dst_port=9),
        ranges=(vary(2, "src_port", IncrementedValues(count=6, step=107)),),
    ),
    "fields abreast": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(2, "src_port", COUNT_UP), vary(1, "src", IncrementedValues(count=3)))
    ),
    "fields one after the other": make_stream(
        ETHERNET,
        IPV4,
        UDP,
        ranges=(
            vary(1, "src", IncrementedValues(count=3)),
            vary(1, "dst", IncrementedValues(count=4), every=3),
            vary(2, "dst_port", ListedValues(values=(7, 80, 443)), every=12),
        ),
    ),
    "a value for several frames": make_stream(ETHERNET, IPV4, TCP, ranges=(vary(2, "src_port", COUNT_UP, every=7),)),
    "two values for as many": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(1, "src", COUNT_UP, every=4), vary(1, "dst", COUNT_UP, every=4))
    ),
    "a period before the end": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(1, "src", COUNT_UP, period=3), vary(2, "src_port", COUNT_UP, 2, 7))
    ),
    "a period after the end": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(1, "src", COUNT_UP, period=13), vary(1, "dst", COUNT_UP, 2, 14))
    ),
    "random values": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(1, "src", RandomValues(count=40, span=2**24, seed=5)),)
    ),
    "listed addresses": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(1, "dst", ListedValues(values=("10.0.0.1", "192.0.2.7", "198.51.100.1"))),)
    ),
    "listed MAC addresses": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(0, "src", ListedValues(values=("02:00:00:00:00:09", "06:00:11:22:33:44"))),)
    ),
    "MAC addresses that count": make_stream(
        ETHERNET, IPV4, UDP, ranges=(vary(0, "src", IncrementedValues(count=300)),)
    ),
    "VLANs": make_stream(
        ETHERNET, Vlan(id=100, pcp=5), IPV4, UDP, ranges=(vary(1, "id", IncrementedValues(count=30)),), frame_bytes=68
    ),
    "labels": make_stream(
        ETHERNET, Mpls(label=16, tc=3), Mpls(label=2**20 - 9), IPV4, UDP,
        ranges=(vary(2, "label", IncrementedValues(count=8)),),
    ),
    "VXLAN, source port and addresses inside": make_stream(
        ETHERNET, IPV4, Udp(src_port=49152, dst_port=4789), Vxlan(vni=5), ETHERNET, IPV4, UDP,
        ranges=(
            vary(2, "src_port", IncrementedValues(count=8)),
            vary(3, "vni", IncrementedValues(count=2)),
            vary(5, "src", IncrementedValues(count=9)),
            vary(6, "dst_port", IncrementedValues(count=3)),
        ),
    ),
    "VXLAN over IPv6": make_stream(
        ETHERNET, IPV6, Udp(src_port=49152, dst_port=4789), Vxlan(vni=5), ETHERNET, IPV4, UDP,
        ranges=(vary(5, "src", IncrementedValues(count=9)),), frame_bytes=256,
    ),
    "IPv6": make_stream(
        ETHERNET, IPV6, UDP, ranges=(vary(1, "src", IncrementedValues(count=600)), vary(2, "dst_port", COUNT_UP))
    ),
    "listed IPv6 addresses": make_stream(
        ETHERNET, IPV6, TCP, ranges=(vary(1, "dst", ListedValues(values=("2001:2::5", "2001:db8::1", "fd00::7"))),)
    ),
    "GRE": make_stream(ETHERNET, IPV4, Gre(key=77), IPV4, UDP, ranges=(vary(2, "key", IncrementedValues(count=5)),)),
    "echo requests": make_stream(ETHERNET, IPV4, IcmpEcho(identifier=3), ranges=(vary(1, "dst", COUNT_UP),)),
}  # fmt: skip


@pytest.mark.parametrize("stream", CASES.values(), ids=CASES)
def test_trex_sends_the_frames_that_the_engine_sends(stream: Stream) -> None:
    check_same(stream)


@pytest.mark.parametrize("seed", range(12))
def test_trex_sends_the_frames_that_the_engine_sends_whatever_changes(seed: int) -> None:
    check_same(random_stream(random.Random(seed)))


@pytest.mark.parametrize("stream", CASES.values(), ids=CASES)
def test_the_server_of_our_tests_reads_programs_as_trex_runs_them(stream: Stream) -> None:
    traffic = Traffic(streams=(stream,))
    requested = build_stream_set(traffic, PLAN, build_templates(traffic)).ports[0].streams[0]["stream"]
    frame = base64.b64decode(requested["packet"]["binary"])
    read = vm.read(requested["vm"]["instructions"], len(frame))
    result = [*vm.frames(frame, read, 0, COUNT)]
    assert result == [*itertools.islice(Vm(requested).frames(), len(result))]
    assert len(result) == min(COUNT, stream.flow_count)


def check_same(stream: Stream) -> None:
    sent = engine_frames(stream)
    assert len(sent) >= 10
    expected = trex_frames(stream, max(sent) + 1)
    for number, frame in sent.items():
        assert headers(stream, expected[number]).hex() == headers(stream, frame).hex(), number
        check_sums(stream, expected[number])


def random_stream(draw: random.Random) -> Stream:
    """Draw headers and ranges of any kind that TRex supports."""
    tags = [Vlan(id=draw.randrange(4000), pcp=draw.randrange(8)) for _ in range(draw.randrange(3))]
    if len(tags) == 2:
        tags[0] = tags[0].model_copy(update={"kind": "qinq"})
    transport = draw.choice((UDP, TCP))
    layers = (ETHERNET, *tags, draw.choice((IPV4, IPV6)), transport)
    ip = len(tags) + 1
    fields = [(0, "dst"), (ip, "src"), (ip, "dst"), (ip + 1, "src_port"), (ip + 1, "dst_port")]
    fields += [(place + 1, "id") for place in range(len(tags))]
    ranges = []
    for layer, field in draw.sample(fields, draw.randrange(1, 5)):
        count = draw.randrange(1, 30)
        values = draw.choice(
            (IncrementedValues(count=count, step=draw.randrange(1, 3)), RandomValues(count=count, span=90, seed=1))
        )
        every = draw.choice((1, 1, 2, 3, 6))
        ranges.append(vary(layer, field, values, every, draw.choice((None, None, draw.randrange(2, 60)))))
    return make_stream(*layers, ranges=tuple(ranges))


def test_more_random_values_than_trex_can_be_given_are_drawn_by_it_and_it_is_said() -> None:
    stream = make_stream(ETHERNET, IPV4, UDP, ranges=(vary(1, "src", RandomValues(count=100_000, span=2**24, seed=5)),))
    traffic = Traffic(streams=(stream,))
    stream_set = build_stream_set(traffic, PLAN, build_templates(traffic))
    frames = list(itertools.islice(Vm(stream_set.ports[0].streams[0]["stream"]).frames(), 200))
    assert len(set(frames)) > 150
    assert any("TRex draws 100000 random values itself" in note for note in stream_set.notes)


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (
            make_stream(ETHERNET, IPV4, UDP, ranges=(vary(1, "src", IncrementedValues(count=60_001), period=100_000),)),
            "list of 100000 values of src is too long",
        ),
        (
            make_stream(ETHERNET, IPV4, IcmpEcho(), ranges=(vary(2, "identifier", COUNT_UP),)),
            "cannot compute a changing checksum of icmp_echo",
        ),
        (
            make_stream(
                ETHERNET,
                IPV6,
                Udp(src_port=5, dst_port=4789),
                Vxlan(vni=5),
                ETHERNET,
                IPV4,
                TCP,
                ranges=(vary(5, "src", COUNT_UP), vary(2, "src_port", COUNT_UP)),
                frame_bytes=256,
            ),
            "two nested checksums of a frame",
        ),
    ],
)
def test_what_trex_cannot_change_is_refused_with_the_reason(stream: Stream, words: str) -> None:
    traffic = Traffic(streams=(stream,))
    with pytest.raises(GeneratorError, match=words):
        build_stream_set(traffic, PLAN, build_templates(traffic))
