"""Captures read by tshark compared with the engine's counts, and replayed files as tshark sees them on the wire."""

import collections
import errno
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.lab.bench import Bench, bench
from tests.waiting import stretch

from nodrop import store
from nodrop.errors import ConfigError
from nodrop.generator.inspection import check_filter, inspect_replay
from nodrop.model.traffic import ReplaySource
from nodrop.model.trial import TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]
CAPTURED = ("frame.interface_id", "frame.packet_flags_direction", "frame.time_epoch", "frame.len")
CHECKING = [part for name in ("ip", "udp", "tcp") for part in ("-o", f"{name}.check_checksum:TRUE")]
RECEIVED, SENT = "0x00000001", "0x00000002"


@pytest.fixture
def tshark(require_tool: RequireTool) -> Path:
    return require_tool("tshark")


def read_fields(tshark: Path, file: str | Path, names: Sequence[str], matching: str = "") -> list[list[str]]:
    """Return fields of every matching frame, as tshark prints them."""
    columns = [part for name in names for part in ("-e", name)]
    display_filter = ["-Y", matching] if matching else []
    done = subprocess.run(
        [tshark, "-r", file, "-T", "fields", *CHECKING, *columns, *display_filter],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def measure_and_capture(lab: Bench, load_pps: float = 2000) -> tuple[TrialResult, str]:
    """Run a trial with a capture; return its result and the file."""
    result = lab.measure(load_pps, 0.3)
    assert result.capture
    assert result.capture.dropped_count == 0
    return result, result.capture.file


def test_tshark_finds_every_frame_that_was_counted_in_the_order_of_time(tmp_path: Path, tshark: Path) -> None:
    keys = {"capture.file": str(tmp_path / "seen.pcapng"), "capture.trials": "search", "frame_bytes": 200}
    with bench(sut="wire", **keys) as lab:
        result, file = measure_and_capture(lab)
    rows = read_fields(tshark, file, CAPTURED)
    counted = collections.Counter((interface, direction) for interface, direction, *_ in rows)
    forward, reverse = result.streams
    assert counted == {
        ("0", SENT): forward.offered_count,
        ("1", RECEIVED): forward.received_count,
        ("1", SENT): reverse.offered_count,
        ("0", RECEIVED): reverse.received_count,
    }
    times = [float(row[2]) for row in rows]
    assert times == sorted(times)
    assert {row[3] for row in rows} == {"196"}
    assert not read_fields(tshark, file, ["frame.number"], "_ws.malformed or udp.checksum.status == 0")


@pytest.mark.parametrize(
    ("keys", "text", "display"),
    [
        ({"traffic.vlan": 100, "frame_bytes": 68}, "vlan 100 and udp", "vlan.id == 100 and udp"),
        ({"traffic.ip": 6, "frame_bytes": 84}, "ip6 and udp dst port 9", "ipv6 and udp.dstport == 9"),
        ({"traffic.qinq": 200, "traffic.vlan": 100, "frame_bytes": 72}, "vlan 200 and vlan 100", "vlan.id == 100"),
    ],
)
def test_a_filter_sees_frames_as_they_were_on_the_wire(
    keys: dict[str, object], text: str, display: str, tmp_path: Path, tshark: Path
) -> None:
    capture = {"capture.file": str(tmp_path / "seen.pcapng"), "capture.trials": "search", "capture.filter": text}
    with bench(sut="wire", **capture, **keys) as lab:
        result, file = measure_and_capture(lab)
    assert len(read_fields(tshark, file, ["frame.number"], display)) == result.offered_count + result.received_count


def test_a_filter_that_matches_nothing_leaves_an_empty_file_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    capture = {"capture.file": str(tmp_path / "seen.pcapng"), "capture.trials": "search", "capture.filter": "tcp"}
    with bench(sut="wire", **capture) as lab:
        result, _ = measure_and_capture(lab)
    assert result.capture
    assert result.capture.frame_count == 0
    check_filter("udp port 53", "capture")
    with pytest.raises(ConfigError, match=r"capture.filter: .*udp prt"):
        check_filter("udp prt", "capture")


def ethernet(kind: int, packet: bytes) -> bytes:
    return bytes.fromhex("0200000000b2" + "0200000000a1") + struct.pack(">H", kind) + packet


def ipv4(protocol: int, content: bytes) -> bytes:
    """Return a packet from 198.18.0.1 to 198.19.0.1, without a checksum."""
    header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0, 64, protocol, 0)
    return header + bytes((198, 18, 0, 1)) + bytes((198, 19, 0, 1)) + content


def udp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", 5000, port, 8 + len(payload), 0xFFFF) + payload


def tcp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHIIBBHHH", 5000, port, 1, 2, 0x50, 0x10, 1000, 0, 0) + payload


DNS = ethernet(0x0800, ipv4(17, udp(53, b"d" * 40)))
LARGE = ethernet(0x0800, ipv4(17, udp(443, b"q" * 1400)))
ACK = ethernet(0x0800, ipv4(6, tcp(80, b""))).ljust(60, b"\0")
TAGGED = ethernet(0x8100, b"\0\x64\x08\0" + ipv4(6, tcp(8080, b"t" * 100)))
MIX = (DNS, LARGE, DNS, ACK, TAGGED, DNS)


@pytest.fixture
def pcap(tmp_path: Path) -> Path:
    """Write a pcap file of MIX, little-endian and in microseconds, like tcpdump."""
    file = tmp_path / "mix.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    frames = (struct.pack("<IIII", 1, number, len(frame), len(frame)) + frame for number, frame in enumerate(MIX))
    file.write_bytes(head + b"".join(frames))
    return file


def test_the_whole_ethernet_frames_of_a_damaged_file_are_inspected(pcap: Path, tmp_path: Path) -> None:
    whole = pcap.read_bytes()
    cut_off = tmp_path / "cut-off.pcap"
    cut_off.write_bytes(whole[:-1])
    contents = inspect_replay(ReplaySource(file=str(cut_off)))
    assert (contents.frame_count, contents.cut_off_after, contents.other_link_count) == (5, 5, 0)

    with_fcs = tmp_path / "fcs.pcap"
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 0x24000001)
    frames = (struct.pack("<IIII", 1, 0, len(frame) + 4, len(frame) + 4) + frame + bytes(4) for frame in MIX)
    with_fcs.write_bytes(head + b"".join(frames))
    assert inspect_replay(ReplaySource(file=str(with_fcs))) == inspect_replay(ReplaySource(file=str(pcap)))

    def build_block(kind: int, body: bytes) -> bytes:
        return struct.pack("<II", kind, 12 + len(body)) + body + struct.pack("<I", 12 + len(body))

    def build_packet(interface: int, frame: bytes) -> bytes:
        head = struct.pack("<IIIII", interface, 0, 0, len(frame), len(frame))
        return build_block(6, head + frame + bytes(-len(frame) % 4))

    links = [build_block(1, struct.pack("<HHI", link, 0, 0)) for link in (1, 101)]
    packets = [build_packet(1, MIX[0][14:]), *(build_packet(0, frame) for frame in MIX)]
    section = build_block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    mixed = tmp_path / "mixed.pcapng"
    mixed.write_bytes(b"".join([section, *links, *packets]))
    contents = inspect_replay(ReplaySource(file=str(mixed)))
    assert (contents.frame_count, contents.cut_off_after, contents.other_link_count) == (6, None, 1)


def test_a_file_is_inspected_as_it_is(pcap: Path) -> None:
    inspected = inspect_replay(ReplaySource(file=str(pcap)))
    assert (inspected.frame_count, inspected.template_count, inspected.grown_count) == (6, 4, 1)
    assert {size.frame_bytes: size.weight for size in inspected.sizes} == {86: 3, 1446: 1, 76: 1, 162: 1}
    assert inspected.signature_offsets == (42, 54, 58)
    assert inspect_replay(ReplaySource(file=str(pcap), filter="udp port 53")).frame_count == 3
    assert inspect_replay(ReplaySource(file=str(pcap), frame_count_max=2)).frame_count == 2


def test_what_cannot_be_replayed_is_refused_with_file_and_key(pcap: Path, tmp_path: Path) -> None:
    raw = tmp_path / "raw.pcap"
    raw.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
    for source, message in (
        (ReplaySource(file=str(tmp_path / "none")), rf"traffic.replay.file: .*none: {os.strerror(errno.ENOENT)}"),
        (ReplaySource(file=__file__), r"traffic.replay.file: .*\.py: not a capture file"),
        (ReplaySource(file=str(raw)), r"traffic.replay.file: .*raw.pcap: link type is RAW, not Ethernet"),
        (ReplaySource(file=str(pcap), filter="icmp"), r"traffic.replay.filter: .*icmp.* 6 frames"),
    ):
        with pytest.raises(ConfigError, match=message):
            inspect_replay(source)


def test_a_file_replayed_arrives_as_it_is_with_checksums_made_right(pcap: Path, tmp_path: Path, tshark: Path) -> None:
    keys = {"traffic.replay.file": str(pcap), "capture.file": str(tmp_path / "seen.pcapng"), "capture.trials": "search"}
    with bench(sut="bridge", **keys, bidirectional=False) as lab:
        result, file = measure_and_capture(lab)
    assert result.lost_count == 0
    ports = [
        row[0] or row[1]
        for row in read_fields(tshark, file, ["udp.dstport", "tcp.dstport"], "frame.packet_flags_direction == 2")
    ]
    whole = len(ports) // len(MIX)
    assert ports[: whole * len(MIX)] == ["53", "443", "53", "80", "8080", "53"] * whole
    arrived = collections.Counter(
        row[0] for row in read_fields(tshark, file, ["frame.len"], "frame.packet_flags_direction == 1")
    )
    sent = collections.Counter(
        row[0] for row in read_fields(tshark, file, ["frame.len"], "frame.packet_flags_direction == 2")
    )
    assert arrived == sent
    assert set(sent) == {str(length) for length in (82, 1442, 72, 158)}
    bad = "ip.checksum.status == 0 or udp.checksum.status == 0 or tcp.checksum.status == 0"
    assert not read_fields(tshark, file, ["frame.number"], f"({bad}) and frame.packet_flags_direction == 2")


def test_replayed_frames_go_both_ways_and_latency_is_measured(pcap: Path) -> None:
    with bench(sut="bridge", **{"traffic.replay.file": str(pcap)}) as lab:
        result = lab.measure(3000, 0.3)
    assert result.lost_count == 0
    assert all(stream.received_count > 300 for stream in result.streams)
    for direction, stream in zip(result.directions, result.streams, strict=True):
        assert direction.latency
        assert direction.latency.count == stream.received_count


def test_a_run_over_a_file_says_what_it_sent_and_where_the_frames_are(pcap: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "nodrop",
        "run",
        "--sut",
        "bridge",
        "--replay",
        pcap,
        "--capture",
        tmp_path / "seen",
    ]
    short = ["search.budget=2s", "search.max_load=2kpps", "search.min_load=500", "latency.trial_duration=0.2s"]
    settings = [part for setting in short for part in ("--set", setting)]
    done = subprocess.run(
        [*command, *settings, "--results-dir", tmp_path / "results"],
        capture_output=True,
        text=True,
        timeout=stretch(60),
        check=False,
    )
    # On a busy machine the tester may fail to send, and the search to find a load.
    assert done.returncode in (0, 5), done.stderr
    assert "6 frames of mix.pcap (76 to 1446 bytes, 1 grown for the signature) both ways" in done.stdout
    result = store.load("latest", tmp_path / "results")
    assert all(trial.received_count <= trial.offered_count for trial in result.trials)
    captures = [trial.capture for trial in result.trials if trial.capture]
    assert len(captures) == len([trial for trial in result.trials if trial.phase != "search"])
    for capture in captures:
        assert f"capture: {capture.file} ({capture.frame_count} frames" in done.stdout.replace("\n", "")
        assert Path(capture.file).exists()
