"""nodrop's BRAS under the BRAS workload: exact counts, every header as tshark reads it, and causes of loss.

The expected values are computed from the tables of PROX, independently of the forwarder.
"""

from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from tests.lab.bench import bench
from tests.lab.test_ledger import causes_of, losses, measure_observed
from tests.lab.wiretap import read_fields, tapped

from nodrop.generator.engine import EngineMeasurer
from nodrop.generator.engine_process import EngineProcess, Reply
from nodrop.model.trial import ValidityStatus
from nodrop.plan import bras
from nodrop.plan import lab as lab_plan

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

CHECKED = ("-o", "ip.check_checksum:TRUE", "--disable-protocol", "dns")
BRAS_MACS = "02:6e:64:00:01:00", "02:6e:64:00:01:01"
TESTER_MACS = "02:6e:64:00:00:00", "02:6e:64:00:00:01"


def tags_of(subscriber: int) -> tuple[int, int]:
    """Return S-tag and C-tag: two bits of the subscriber's number for each of the last two digits of the C-tag, four
    for the first."""
    digits = subscriber >> 4 & 15, subscriber >> 2 & 3, subscriber & 3
    return subscriber >> 8, int("".join(f"{digit:x}" for digit in digits), 16)


def test_65536_subscribers_lose_nothing_at_a_low_rate() -> None:
    with bench(workload="bras") as lab:
        result = lab.measure(4_000, 2.0)
    up, down = result.streams
    assert (up.offered_count, up.received_count) == (4_000, 4_000)
    assert (down.offered_count, down.received_count) == (4_000, 4_000)
    assert [stream.compared_count for stream in result.streams] == [5, 5]
    assert result.validity.verdict is not ValidityStatus.INVALID
    assert [size.frame_bytes for stream in lab.plan.traffic.streams for size in stream.sizes] == [72, 96]


def test_the_smallest_frames_of_the_annex_are_counted(require_tool: RequireTool, tmp_path: Path) -> None:
    """Source: ETSI GS NFV-PER 001 annex D: packets of 28 bytes in frames of 64 and 78 bytes, here without their FCS."""
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    with (
        bench(**{"workload": "bras", "bras.small_frames": "exact"}) as lab,
        tapped(lab, tcpdump, tmp_path, ("sut0", "sut1")) as entering,
        tapped(lab, tcpdump, tmp_path, ("tester0", "tester1"), "tester") as leaving,
    ):
        result = lab.measure(4_000, 0.5)
    assert [(stream.offered_count, stream.received_count) for stream in result.streams] == [(1_000, 1_000)] * 2
    assert [stream.compared_count for stream in result.streams] == [2, 2]
    assert result.validity.verdict is not ValidityStatus.INVALID
    names = ("frame.len", "ip.len", "ip.checksum.status", "ip.id", "udp.srcport", "udp.length", "udp.checksum")
    for capture, frame_bytes in zip((*entering, *leaving), ("60", "74", "50", "74"), strict=True):
        frames = read_fields(tshark, capture, "udp", names, *CHECKED)
        numbers = [int(identification[-1], 0) + (int(port[-1]) << 16) for _, _, _, identification, port, *_ in frames]
        assert numbers == list(range(1_000))
        for length, ip_bytes, status, _, _, udp_bytes, udp_checksum in frames:
            assert (length[0], ip_bytes[-1], udp_bytes[-1]) == (frame_bytes, "28", "8")
            assert set(status) == {"1"} and int(udp_checksum[-1], 0) == 0


@pytest.mark.parametrize("keys", [{}, {"bras.tags": "shifted", "bras.ttl": "router"}], ids=["prox", "router"])
def test_every_header_is_that_of_the_annex(keys: dict[str, str], require_tool: RequireTool, tmp_path: Path) -> None:
    """Source: ETSI GS NFV-PER 001 annex D, figures D.3 to D.6."""
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    shift = 1 if keys else 0
    subscribers = {
        (str(s_tag + shift), str(c_tag + shift)): subscriber
        for subscriber in range(65_536)
        for s_tag, c_tag in [tags_of(subscriber)]
    }
    with (
        bench(workload="bras", frame_bytes=128, **keys) as lab,
        tapped(lab, tcpdump, tmp_path, ("sut0", "sut1")) as entering,
        tapped(lab, tcpdump, tmp_path, ("tester0", "tester1"), "tester") as leaving,
    ):
        result = lab.measure(4_000, 0.5)
    assert [stream.received_count for stream in result.streams] == [1_000, 1_000]

    cpe_fields = ("eth.dst", "eth.src", "ieee8021ad.id", "vlan.id", "ip.src", "ip.dst", "ip.ttl", "ip.checksum.status")
    core_fields = ("eth.dst", "eth.src", "mpls.label", "mpls.bottom", "mpls.ttl", "gre.key", *cpe_fields[4:])
    sent_up, sent_down, received_down, received_up = (
        {
            fields[-1]: fields[:-1]
            for fields in read_fields(tshark, capture, "udp", (*names, "frame.len", "udp.payload"), *CHECKED)
        }
        for capture, names in zip(
            (*entering, *leaving), (cpe_fields, core_fields, cpe_fields, core_fields), strict=True
        )
    )
    assert len(sent_up) == len(received_up) == len(sent_down) == len(received_down) == 1_000

    for payload, (_, _, s_tag, c_tag, src, dst, ttl, _, length) in sent_up.items():
        route = (int(IPv4Address(dst[0])) - int(IPv4Address("10.0.0.0"))) >> 12
        number = route % 64 + 1
        assert received_up[payload] == (
            (f"00:00:00:00:00:{number:02}",),
            (BRAS_MACS[1],),
            (str(int(f"{number}12", 16)),),
            ("1",),
            ("64",),
            (f"0x{subscribers[s_tag[0], c_tag[0]]:08x}",),
            ("21.22.23.24", *src),
            (f"{number}.1.1.1", *dst),
            ("64", str(int(ttl[0]) - shift)),
            ("1", "1"),
            (str(int(length[0]) + 24),),
        )
    for payload, (_, _, _, _, _, key, src, dst, ttl, _, length) in sent_down.items():
        s_tag, c_tag = tags_of(int(key[0], 16))
        assert received_down[payload] == (
            (TESTER_MACS[0],),
            (BRAS_MACS[0],),
            (str(s_tag + shift),),
            (str(c_tag + shift),),
            src[1:],
            dst[1:],
            (str(int(ttl[1]) - 1),),
            ("1",),
            (str(int(length[0]) - 24),),
        )
    assert len({(s_tag, c_tag) for _, _, s_tag, c_tag, *_ in sent_up.values()}) == 1_000
    assert len({key for _, _, _, _, _, key, *_ in sent_down.values()}) == 1_000


def test_frames_to_a_wrong_next_hop_make_the_trial_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The BRAS has half of the next hops, so every second route leads to a wrong one."""
    build = lab_plan.plan_tables
    monkeypatch.setattr(lab_plan, "plan_tables", lambda config: build(config).replace(next_hop_count=32))
    with bench(**{"workload": "bras", "bras.subscribers": 64}) as lab:
        result = lab.measure(8_000, 3.0)
    up, down = result.streams
    assert up.compared_count == down.compared_count == 13  # of 12,000 each, one in 997
    assert 0 < up.misdelivered_count < 13 and down.misdelivered_count == 0
    assert result.lost_count == 0 and result.validity.verdict is ValidityStatus.INVALID
    (doubt,) = [each for each in result.validity.doubts if each.code == "misdelivered"]
    assert doubt.params == {"misdelivered_count": up.misdelivered_count, "compared_count": 26}


def test_the_outer_tag_is_compared_though_the_kernel_removes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another type of the S-tag is required than the BRAS writes."""
    monkeypatch.setattr(bras, "S_TAG_TYPE", 0x8100)
    with bench(**{"workload": "bras", "bras.subscribers": 64}) as lab:
        result = lab.measure(4_000, 1.0)
    up, down = result.streams
    assert up.misdelivered_count == 0 and down.misdelivered_count == down.compared_count == 3


def leave_one_out(monkeypatch: pytest.MonkeyPatch, *calls: int) -> list[int]:
    """Send one frame less in these calls, from 0: announcements and their verifications in turn; return the growing
    list of frame counts."""
    send, counts = EngineMeasurer._send_once, list[int]()

    def send_less(measurer: EngineMeasurer, engine: EngineProcess, loads_pps: list[float], frame_count: int) -> Reply:
        counts.append(frame_count - (len(counts) in calls))
        return send(measurer, engine, loads_pps, counts[-1])

    monkeypatch.setattr(EngineMeasurer, "_send_once", send_less)
    return counts


@pytest.mark.parametrize(("short_call", "expected"), [(0, [7, 8, 8, 8]), (1, [8, 7, 8, 8])])
def test_an_announcement_is_repeated_if_a_subscriber_was_not_reached_or_not_sent_to(
    short_call: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = leave_one_out(monkeypatch, short_call)
    with bench(**{"workload": "bras", "bras.subscribers": 8}) as lab:
        result = lab.measure(4_000, 0.5)
        assert lab.measurer.notes == ()
    assert counts == expected
    assert result.lost_count == 0


@pytest.mark.parametrize("small_frames", ["enlarge", "exact"])
def test_a_subscriber_without_arp_loses_its_downstream_frames_and_no_other(
    small_frames: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = leave_one_out(monkeypatch, 0, 2, 4)
    with bench(**{"workload": "bras", "bras.subscribers": 8, "bras.small_frames": small_frames}) as lab:
        result = measure_observed(lab, 4_000)
        (note,) = lab.measurer.notes
    assert counts == [7, 8] * 3
    assert note.startswith("after 3 announcements, 1 of 8 stations were not reached")
    up, down = result.streams
    assert up.received_count == up.offered_count == 2_000
    assert down.offered_count - down.received_count == 2_000 // 8
    assert {place: causes_of(hop) for place, hop in losses(result).items()} == {
        "the VNF, sut1 to sut0": {"vnf_arp_missing": 250}
    }
