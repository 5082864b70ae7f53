"""Frames of every stack of headers, of the smallest size and of 1518 bytes, dissected by tshark.

NODROP_VERDICTS=FILE stores the table of verdicts.
"""

import os
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.lab.bench import Bench, bench
from tests.waiting import stretch

from nodrop.generator.engine import EngineMeasurer
from nodrop.model.layer import Arp, Ethernet, Gre, IcmpEcho, Ipv4, Ipv6, Layer, Mpls, Nd, Tcp, Udp, Vlan, Vxlan
from nodrop.model.traffic import FieldRange, IncrementedValues, SizeShare, Stream, Traffic
from nodrop.model.trial import Trial, TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

MAGIC = b"nDr1"
LARGE_BYTES = 1518
PPS_PER_STREAM = 100
ETHERNET = Ethernet(src="02:6e:64:00:00:00", dst="02:6e:64:00:00:01")
INNER_ETHERNET = Ethernet(src="02:6e:65:00:00:00", dst="02:6e:65:00:00:01")
IP4 = Ipv4(src="198.18.0.1", dst="198.19.0.1")
IP6 = Ipv6(src="2001:2::1", dst="2001:2:0:8000::1", flow_label=0xABCDE)
OUTER4, OUTER6 = Ipv4(src="198.18.9.1", dst="198.19.9.1"), Ipv6(src="2001:2::9:1", dst="2001:2:0:8000::9:1")
UDP, TCP, ECHO = Udp(src_port=49152, dst_port=9), Tcp(src_port=49152, dst_port=9), IcmpEcho()
TO_VXLAN = Udp(src_port=50000, dst_port=4789)
VLAN, QINQ = Vlan(id=100, pcp=3), Vlan(kind="qinq", id=200)
LABELS = (Mpls(label=16), Mpls(label=17, tc=2), Mpls(label=1048575))
ARP = Arp(sender_mac=ETHERNET.src, sender_ip=IP4.src, target_mac="00:00:00:00:00:00", target_ip=IP4.dst)
SOLICIT = Nd(target=IP6.dst, mac=ETHERNET.src)
ADVERTISE = Nd(advertises=True, target=IP6.src, mac=ETHERNET.src)
ND_IP = IP6.model_copy(update={"hop_limit": 255})

STACKS: dict[str, tuple[Layer, ...]] = {
    "UDP": (IP4, UDP),
    "TCP": (IP4, TCP),
    "ICMP echo": (IP4, ECHO),
    "IPv6 UDP": (IP6, UDP),
    "IPv6 TCP": (IP6, TCP),
    "IPv6 ICMPv6 echo": (IP6, ECHO),
    "VLAN": (VLAN, IP4, UDP),
    "VLAN IPv6": (VLAN, IP6, UDP),
    "QinQ": (QINQ, VLAN, IP4, UDP),
    "MPLS": (LABELS[0], IP4, UDP),
    "MPLS x 3": (*LABELS, IP4, UDP),
    "MPLS x 3 IPv6": (*LABELS, IP6, UDP),
    "QinQ + MPLS x 3": (QINQ, VLAN, *LABELS, IP4, UDP),
    "QinQ + MPLS x 3 IPv6 TCP": (QINQ, VLAN, *LABELS, IP6, TCP),
    "VXLAN": (OUTER4, TO_VXLAN, Vxlan(vni=7), INNER_ETHERNET, IP4, UDP),
    "VXLAN over IPv6": (OUTER6, TO_VXLAN, Vxlan(vni=7), INNER_ETHERNET, IP4, UDP),
    "VXLAN over IPv6, TCP over IPv6 in a VLAN": (OUTER6, TO_VXLAN, Vxlan(vni=7), INNER_ETHERNET, VLAN, IP6, TCP),
    "GRE key": (OUTER4, Gre(key=77), IP4, UDP),
    "GRE key over IPv6": (OUTER6, Gre(key=77), IP4, UDP),
    "GRE key, IPv6 in IPv4": (OUTER4, Gre(key=77), IP6, ECHO),
    "VLAN + GRE key + MPLS": (VLAN, OUTER4, Gre(key=77), LABELS[0], IP4, TCP),
    "ARP": (ARP,),
    "VLAN ARP": (VLAN, ARP),
    "ND solicitation": (ND_IP, SOLICIT),
    "ND advertisement": (ND_IP, ADVERTISE),
}
CHANGING: dict[str, str] = {"udp": "src_port", "tcp": "src_port", "icmp_echo": "identifier"}
TSHARK_OPTIONS = (
    *("-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"),
    *("-o", "tcp.analyze_sequence_numbers:FALSE", "-o", "eth.check_fcs:FALSE"),
)
CHECKSUMS = tuple(f"{protocol}.checksum.status" for protocol in ("ip", "udp", "tcp", "icmp", "icmpv6"))
LENGTHS = ("ip.len", "ipv6.plen", "udp.length")
FIELDS = ("frame.len", "frame.protocols", "_ws.malformed", "_ws.expert.severity", *LENGTHS, *CHECKSUMS)
BAD, LEFT_OUT = "0", "3"
ERROR = 0x800000
"""Severity of errors in tshark."""


class Dissected(NamedTuple):
    """A frame as dissected by tshark: all values of each field."""

    stream_id: int
    fields: dict[str, list[str]]


def test_tshark_finds_nothing_wrong_with_any_stack_of_headers(require_tool: RequireTool, tmp_path: Path) -> None:
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    streams = tuple(all_streams())
    capture = tmp_path / "frames.pcap"
    with bench(sut="wire") as lab:
        result = measure_and_capture(lab, Traffic(streams=streams), tcpdump, capture)
    frames = list(dissect(tshark, capture))
    assert len(frames) == result.offered_count
    for stream, counts in zip(streams, result.streams, strict=True):
        assert counts.received_count == counts.offered_count > 5, stack_name(stream)
    rows = [
        (stream, *judge(stream, [one for one in frames if one.stream_id == stream.stream_id])) for stream in streams
    ]
    write_table(rows)
    assert [row for row in rows if row[1]] == []
    assert judge(streams[1], list(dissect(tshark, corrupt(capture))))[0] == [
        "expert error",
        "udp.checksum.status ['0']",
    ]


@pytest.mark.parametrize("sut", ["vnf-l2", "bridge"])
@pytest.mark.parametrize(
    "keys",
    [
        {"traffic.vlan": 100, "traffic.qinq": 200, "frame_bytes": 72},
        {"traffic.vxlan": 5, "traffic.tunnel_ip": 6, "frame_bytes": 134},
        {"traffic.imix": "64:7,594:4,1518:1", "traffic.streams": 3, "traffic.forward": "80%"},
        {"flow_count": 1_000_000, "traffic.transport": "tcp", "frame_bytes": 76},
    ],
)
def test_frames_of_all_kinds_pass_a_sut_and_are_all_known_again(sut: str, keys: dict[str, object]) -> None:
    with bench(sut=sut, **keys) as lab:
        result = lab.measure(10_000, 0.3)
    assert result.received_count == result.offered_count > 1000
    assert not result.tester_drop_count
    for counts, ratio in zip(result.streams, lab.plan.traffic.load_ratios, strict=True):
        assert counts.intended_count == pytest.approx(3000 * ratio, abs=1)
        assert counts.received_count == counts.offered_count


def all_streams() -> Iterator[Stream]:
    """Yield two streams of each stack; a field of the transport header, if any, varies."""
    for index, kinds in enumerate(STACKS.values()):
        layers = (ETHERNET, *kinds)
        smallest = max(64, sum(layer.header_bytes for layer in layers) + 18 + 4)
        last = len(layers) - 1
        field = CHANGING.get(layers[last].kind)
        ranges = (
            [FieldRange.model_validate({"layer": last, "field": field, "values": IncrementedValues(count=5)})]
            if field
            else []
        )
        for place, frame_bytes in enumerate((smallest, LARGE_BYTES)):
            yield Stream(
                stream_id=2 * index + place,
                tx_port=0,
                rx_port=1,
                sizes=(SizeShare(frame_bytes=frame_bytes),),
                layers=layers,
                ranges=ranges,
            )


def stack_name(stream: Stream) -> str:
    return list(STACKS)[stream.stream_id // 2]


def measure_and_capture(lab: Bench, traffic: Traffic, tcpdump: Path, capture: Path) -> TrialResult:
    """Run a short trial of these streams in the lab, with every frame captured on arrival."""
    near, far = lab.plan.lab.tester_interfaces[:2]
    lab.measurer.__exit__()
    options = ("-i", far, "-Q", "in", "--immediate-mode", "-B", "8192", "-s", "2048", "-Z", "root", "-w", capture)
    with EngineMeasurer(
        lab.plan.engine,
        traffic,
        netns_pid=lab.stage.facts.tester_pid,
        interfaces=(near, far),
        check_alive=lab.stage.check_alive,
    ) as measurer:
        measurer.check_path()
        with subprocess.Popen(lab.inside("tester", tcpdump, *options), stderr=subprocess.PIPE, text=True) as capturing:
            assert capturing.stderr
            assert "listening" in capturing.stderr.readline()
            trial = Trial(intended_load_pps=float(PPS_PER_STREAM * len(traffic.streams)), duration_s=0.2)
            result = measurer.measure(trial, 0, "search", lambda *_: None)
            time.sleep(0.5)
            capturing.terminate()
            capturing.wait(stretch(10))
    return result


def dissect(tshark: Path, capture: Path) -> Iterator[Dissected]:
    """Yield every frame with the stream of its signature."""
    columns = [word for field in FIELDS for word in ("-e", field)]
    command = [tshark, "-n", "-r", capture, *TSHARK_OPTIONS, "-T", "fields", *columns]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=stretch(60), check=True).stdout.splitlines()
    for frame, line in zip(read_pcap(capture), lines, strict=True):
        at = frame.index(MAGIC)
        values = [column.split(",") if column else [] for column in line.split("\t")]
        stream_id = int.from_bytes(frame[at + 4 : at + 6], "big")
        yield Dissected(stream_id, dict(zip(FIELDS, values, strict=True)))


def read_pcap(capture: Path) -> Iterator[bytes]:
    """Yield the frames of a capture file in the format of tcpdump."""
    content, at = capture.read_bytes(), 24
    while at < len(content):
        (length,) = struct.unpack_from("=I", content, at + 8)
        yield content[at + 16 : at + 16 + length]
        at += 16 + length


def corrupt(capture: Path) -> Path:
    """Flip the last bit of every frame in a copy of the capture, to verify that tshark reports such errors."""
    content, at = bytearray(capture.read_bytes()), 24
    while at < len(content):
        at += 16 + int(struct.unpack_from("=I", content, at + 8)[0])
        content[at - 1] ^= 1
    corrupted = capture.with_suffix(".corrupted")
    corrupted.write_bytes(content)
    return corrupted


def judge(stream: Stream, captured: list[Dissected]) -> tuple[list[str], int, str]:
    """Return the faults in a stream's frames, the number of correct checksums, and the headers that tshark reports."""
    frames = [frame for frame in captured if frame.stream_id == stream.stream_id]
    faults = {fault for frame in frames for fault in list_faults(stream, frame)}
    correct_count = sum(frame.fields[name].count("1") for frame in frames for name in CHECKSUMS)
    return sorted(faults), correct_count, frames[0].fields["frame.protocols"][0].removeprefix("eth:ethertype:")


def list_faults(stream: Stream, frame: Dissected) -> Iterator[str]:
    fields = frame.fields
    if fields["_ws.malformed"]:
        yield "malformed"
    if any(int(severity) >= ERROR for severity in fields["_ws.expert.severity"]):
        yield "expert error"
    if fields["frame.len"] != [str(stream.sizes[0].frame_bytes - 4)]:
        yield f"length {fields['frame.len']}"
    for name in LENGTHS:
        if fields[name] != expected_lengths(stream, name):
            yield f"{name} {fields[name]} where {expected_lengths(stream, name)} is correct"
    for name in CHECKSUMS:
        if BAD in fields[name] or len(fields[name]) != expected_checksum_count(stream, name):
            yield f"{name} {fields[name]}"
        if LEFT_OUT in fields[name] and not (
            name == "udp.checksum.status" and stream.layers[1:3] == (OUTER4, TO_VXLAN)
        ):
            yield f"{name} left out"


def expected_lengths(stream: Stream, name: str) -> list[str]:
    """Return the lengths by the offsets of headers and frame end; a neighbor message ends with its option."""
    kind, behind = {"ip.len": ("ipv4", 0), "ipv6.plen": ("ipv6", 40), "udp.length": ("udp", 0)}[name]
    ends = isinstance(stream.layers[-1], Nd)
    end = stream.header_bytes if ends else stream.sizes[0].frame_bytes - 4
    starts = [sum(layer.header_bytes for layer in stream.layers[:index]) for index in range(len(stream.layers))]
    pairs = zip(stream.layers, starts, strict=True)
    return [str(end - start - behind) for layer, start in pairs if layer.kind == kind]


def expected_checksum_count(stream: Stream, name: str) -> int:
    kinds = [layer.kind for layer in stream.layers]
    protocol = name.partition(".")[0]
    over_v6 = "ipv6" in kinds and kinds[-2] == "ipv6"
    echo = kinds[-1] == "icmp_echo"
    return {
        "ip": kinds.count("ipv4"),
        "udp": kinds.count("udp"),
        "tcp": kinds.count("tcp"),
        "icmp": int(echo and not over_v6),
        "icmpv6": int(echo and over_v6) + kinds.count("nd"),
    }[protocol]


def write_table(rows: list[tuple[Stream, list[str], int, str]]) -> None:
    lines = ["| stack | frame bytes | headers by tshark | correct checksums | faults |", "|---|---|---|---|---|"]
    for stream, faults, correct_count, headers in rows:
        size = stream.sizes[0].frame_bytes
        lines.append(
            f"| {stack_name(stream)} | {size} | `{headers}` | {correct_count} | {'; '.join(faults) or 'nothing'} |"
        )
    print("\n".join(lines))
    if path := os.environ.get("NODROP_VERDICTS"):
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
