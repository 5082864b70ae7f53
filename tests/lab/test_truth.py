"""Counts compared with the kernel's counters, tshark's dissector, losses planted with nft and tc, and trafgen."""

import math
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.lab.bench import Bench, bench
from tests.waiting import stretch

from nodrop.model.layer import Ipv4
from nodrop.model.search_plan import SearchPlan
from nodrop.search import create
from nodrop.search.base import Outcome

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]

RequireTool = Callable[[str], Path]

DROP_ONE_IN_A_THOUSAND = """
table bridge planted {
  chain loss {
    type filter hook forward priority 0
    numgen random mod 1000 == 0 counter drop
  }
}
"""
RUN_PRECISELY = """
import ctypes, os, sys
from nodrop.stage.sut_process import raise_priority
PR_SET_TIMERSLACK = 29
ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
raise_priority()
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Run a program with the priority and the precise sleeps of nodrop's engine."""
BRAS_PPS = 20_000
SHAPED_PPS = 10_000
"""Limit of the rate-limited SUT, in frames per second and direction."""
SHAPED_BUFFER_FRAMES = 300
"""Enough for a burst after a stall of 30 ms on a busy machine."""


@pytest.mark.parametrize("sut", ["vnf-l2", "bridge"])
def test_offered_and_received_agree_with_the_kernels_counters_to_the_frame(sut: str) -> None:
    with bench(sut=sut) as lab:
        ports = lab.plan.lab.tester_interfaces
        before = [lab.counters("tester", port) for port in ports]
        result = lab.measure(100_000, 1.0)
        after = [lab.counters("tester", port) for port in ports]
    for stream in result.streams:
        sent = after[stream.tx_port].sent_count - before[stream.tx_port].sent_count
        received = after[stream.rx_port].received_count - before[stream.rx_port].received_count
        assert stream.offered_count == sent > 40_000
        assert stream.received_count == received > 40_000


@pytest.mark.parametrize("sut", ["vnf-l2", "bridge"])
def test_the_largest_frames_pass_whole(sut: str) -> None:
    with bench(sut=sut, frame_bytes=9216) as lab:
        result = lab.measure(2_000, 0.5)
    assert result.offered_count == result.received_count > 500


@pytest.mark.parametrize("frame_bytes", [64, 128, 1518])
def test_tshark_finds_every_length_and_checksum_right(
    frame_bytes: int, require_tool: RequireTool, tmp_path: Path
) -> None:
    tcpdump, tshark = require_tool("tcpdump"), require_tool("tshark")
    capture = tmp_path / "frames.pcap"
    with bench(sut="bridge", frame_bytes=frame_bytes) as lab:
        command = lab.inside("sut", tcpdump, "-i", "sut0", "-c", "500", "-s", "0", "-Z", "root", "-w", capture)
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as capturing:
            assert capturing.stderr
            assert "listening" in capturing.stderr.readline()
            lab.measure(2_000, 0.5)
            capturing.wait(stretch(10))
    fields = ("frame.len", "ip.len", "udp.length", "ip.checksum.status", "udp.checksum.status", "_ws.malformed")
    columns = [word for field in fields for word in ("-e", field)]
    options = ["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]
    dissected = subprocess.run(
        [tshark, "-r", capture, *options, "-T", "fields", *columns],
        capture_output=True,
        text=True,
        timeout=stretch(60),
        check=True,
    ).stdout.splitlines()
    good = "1"
    buffer_bytes = frame_bytes - 4
    expected = [str(buffer_bytes), str(buffer_bytes - 14), str(buffer_bytes - 34), good, good, ""]
    assert len(dissected) == 500
    assert set(dissected) == {"\t".join(expected)}


def test_a_planted_loss_of_one_in_a_thousand_is_counted_to_the_frame(require_tool: RequireTool) -> None:
    nft = require_tool("nft")
    with bench(sut="bridge") as lab:
        lab.run("sut", nft, "-f", "-", text=DROP_ONE_IN_A_THOUSAND)
        result = lab.measure(60_000, 5.0)
        table = lab.run("sut", nft, "list", "table", "bridge", "planted")
    planted_count = int(table.partition("packets ")[2].split()[0])
    assert result.lost_count == planted_count
    sampling_error = math.sqrt(0.001 * 0.999 / result.offered_count)
    assert result.lost_count / result.offered_count == pytest.approx(0.001, abs=4 * sampling_error)


def test_a_rate_limited_sut_has_its_ndr_at_the_limit_and_trafgen_agrees(
    require_tool: RequireTool, tmp_path: Path
) -> None:
    tc, trafgen = require_tool("tc"), require_tool("trafgen")
    with bench(sut="bridge") as lab:
        limit_rate_both_ways(lab, tc)
        # Retry: other work that keeps the tester off its CPU lowers the result or prevents one.
        attempts = (search_ndr(lab) / 2 for _ in range(3))
        per_direction_pps = next((pps for pps in attempts if pps > 0.97 * SHAPED_PPS), 0.0)
        assert per_direction_pps == pytest.approx(SHAPED_PPS, rel=0.03)
        frame = tmp_path / "frame.cfg"
        frame.write_text(trafgen_frame(lab))
        at_ndr = trafgen_loss_ratio(lab, trafgen, frame, 0.96 * per_direction_pps, per_direction_pps)
        above = trafgen_loss_ratio(lab, trafgen, frame, 1.25 * per_direction_pps, 2.5 * per_direction_pps)
    assert at_ndr == 0
    assert above > 0.1


@pytest.mark.parametrize("small_frames", ["enlarge", "exact"])
def test_a_bras_held_to_a_rate_has_its_ndr_at_the_limit(small_frames: str) -> None:
    """Its queue is ideal and holds 6 ms, 2 per mille of a trial of 3 s."""
    keys = {"vnf.capacity": f"{BRAS_PPS}pps", "vnf.buffer": 128, "bras.small_frames": small_frames}
    with bench(workload="bras", **keys) as lab:
        # Retry: a tester that other work kept off its CPU catches up with a burst, which the queue does not hold.
        attempts = (search_ndr(lab) for _ in range(3))
        ndr_pps = next((pps for pps in attempts if pps > 0.97 * BRAS_PPS), 0.0)
    assert ndr_pps == pytest.approx(BRAS_PPS, rel=0.03)


def limit_rate_both_ways(lab: Bench, tc: Path) -> None:
    """Put a token bucket on each of the SUT's ports; tc counts frames without their FCS."""
    bits = int(lab.plan.traffic.frame_bytes - 4) * 8
    rate, burst, queue = f"{SHAPED_PPS * bits}bit", "1540", str(SHAPED_BUFFER_FRAMES * bits // 8)
    for port in lab.plan.lab.sut_interfaces:
        lab.run("sut", tc, *f"qdisc add dev {port} root tbf rate {rate} burst {burst} limit {queue}".split())


def search_ndr(lab: Bench) -> float:
    """Return the lower bound of the loss ratio 0 goal, by short trials; 0 if the search has none."""
    goals = tuple(goal for goal in lab.plan.search.goals if goal.loss_ratio == 0)
    quick = {"goals": goals, "initial_trial_duration_s": 0.2, "final_trial_duration_s": 3.0, "max_load_pps": 200_000.0}
    search = create(SearchPlan(**{**lab.plan.search.model_dump(), **quick}))
    started_s, index = time.monotonic(), 0
    while trial := search.ask():
        result = lab.measurer.measure(trial, index, "search", lambda *_: None)
        search.tell(Outcome.of(result, time.monotonic() - started_s))
        index += 1
    (interval,) = search.intervals()
    return interval.lower_load_pps or 0.0 if interval.lower_valid else 0.0


def trafgen_frame(lab: Bench) -> str:
    """Return the run's first frame in trafgen's syntax."""
    stream = lab.plan.traffic.streams[0]
    ethernet, ipv4 = stream.ethernet, stream.layers[1]
    assert isinstance(ipv4, Ipv4)
    mac = [f"0x{byte}" for part in (ethernet.dst, ethernet.src) for byte in part.split(":")]
    ip = [byte for part in (ipv4.src, ipv4.dst) for byte in part.split(".")]
    return (
        "{"
        + ", ".join(mac)
        + ", c16(0x0800), 0x45, 0, c16(46), c16(0), c16(0), 64, 17, csumip(14, 33), "
        + ", ".join(ip)
        + ", c16(49152), c16(9), c16(26), c16(0), fill(0x55, 18)}"
    )


def trafgen_loss_ratio(lab: Bench, trafgen: Path, frame: Path, lowest_pps: float, highest_pps: float) -> float:
    """Return the loss ratio by the kernel's counters while trafgen sends one way for 1.5 s, at a rate in this range.

    trafgen keeps a gap between frames, not a rate; the gap is adjusted until the rate is in the range.
    """
    target_pps = (lowest_pps + highest_pps) / 2
    gap_s = 1 / target_pps
    rates = []
    for _ in range(20):
        sent_pps, loss_ratio = trafgen_run(lab, trafgen, frame, gap_s, count=int(1.5 * target_pps))
        if lowest_pps <= sent_pps <= highest_pps:
            return loss_ratio
        rates.append(round(sent_pps))
        # Half of the deviation: on a busy machine the time that a frame takes differs from run to run.
        gap_s = max(1e-6, gap_s + (1 / target_pps - 1 / sent_pps) / 2)
    pytest.fail(f"trafgen must send {lowest_pps:.0f} to {highest_pps:.0f} frames per second, but sent {rates}")


def trafgen_run(lab: Bench, trafgen: Path, frame: Path, gap_s: float, count: int) -> tuple[float, float]:
    """Send `count` frames with a gap between them; return their rate and loss ratio."""
    near, far = lab.plan.lab.tester_interfaces
    before = lab.counters("tester", near).sent_count, lab.counters("tester", far).received_count
    options = ("--num", str(count), "--gap", f"{gap_s * 1e9:.0f}ns", "--cpus", "1", "--no-sock-mem")
    output = lab.run("tester", sys.executable, "-c", RUN_PRECISELY, trafgen, "--conf", frame, "--dev", near, *options)
    time.sleep(0.2)
    sent = lab.counters("tester", near).sent_count - before[0]
    received = lab.counters("tester", far).received_count - before[1]
    assert sent == count
    cpu_time = re.search(r"(\d+) sec, (\d+) usec on CPU", output)
    assert cpu_time, output
    return count / (int(cpu_time[1]) + int(cpu_time[2]) / 1e6), (sent - received) / sent
