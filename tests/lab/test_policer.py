"""A SUT with a known bandwidth profile: the policer of a VNF lets pass what its token buckets allow, and counts the
rest."""

import os
import signal
import threading
import time

import pytest
from tests.lab.bench import bench
from tests.lab.test_ledger import causes_of, losses, measure_observed

from nodrop.model.trial import TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.truth, pytest.mark.usefixtures("require_privilege")]

CIR_BPS, EIR_BPS, BURST_BYTES, FRAME_BYTES = 1_000_000, 500_000, 12_500, 500
COMMITTED = {"vnf.policer.cir": CIR_BPS, "vnf.policer.cbs": BURST_BYTES, "frame_bytes": FRAME_BYTES}
SERVICE = COMMITTED | {"vnf.policer.eir": EIR_BPS, "vnf.policer.ebs": BURST_BYTES}
POLICED_PPS, SECONDS = 406.25, 10.0
"""CIR + 1.25 EIR."""
BURST_PPS = 20_000.0
TOLERANCE_COUNT = 2


def count_accepted() -> float:
    """Return the frames that a color-blind policer accepts of that load from full buckets."""
    drain_s = 8 * BURST_BYTES / (POLICED_PPS * 8 * FRAME_BYTES - CIR_BPS)  # excess tokens overflow meanwhile
    accepted_bytes = (CIR_BPS + EIR_BPS) * SECONDS / 8 + 2 * BURST_BYTES - EIR_BPS * drain_s / 8
    return accepted_bytes / FRAME_BYTES


def check_drops(result: TrialResult, places: int = 1) -> None:
    """Check that each lost frame was dropped by a policer."""
    hops = losses(result)
    assert len(hops) == places
    for hop in hops.values():
        assert causes_of(hop) == {"vnf_out_of_profile": hop.lost_count}
        assert hop.side == "sut"
    assert sum(hop.lost_count for hop in hops.values()) == result.lost_count


@pytest.mark.parametrize(("sut", "backend"), [("vnf-l2", "af_packet"), ("vnf-l3", "af_packet"), ("vnf-l2", "af_xdp")])
def test_above_both_rates_what_the_buckets_allow_passes_and_the_ledger_names_the_policer(
    sut: str, backend: str, request: pytest.FixtureRequest
) -> None:
    if backend == "af_xdp":
        request.getfixturevalue("require_root")
    with bench(sut=sut, bidirectional=False, **SERVICE, **{"vnf.backend": backend}) as lab:
        result = measure_observed(lab, POLICED_PPS, duration_s=SECONDS)
    assert result.offered_count in (4062, 4063)
    assert result.received_count == pytest.approx(count_accepted() - TOLERANCE_COUNT / 2, abs=TOLERANCE_COUNT)
    check_drops(result)


def test_a_vnf_without_its_cpu_for_a_second_drops_no_other_number_of_frames() -> None:
    with bench(bidirectional=False, **SERVICE) as lab:
        pid = lab.stage.facts.sut_processes[0].pid
        faults = [
            threading.Timer(2.0, os.kill, (pid, signal.SIGSTOP)),
            threading.Timer(3.0, os.kill, (pid, signal.SIGCONT)),
        ]
        for fault in faults:
            fault.start()
        result = measure_observed(lab, POLICED_PPS, duration_s=SECONDS)
        for fault in faults:
            fault.join()
    assert result.received_count == pytest.approx(count_accepted() - TOLERANCE_COUNT / 2, abs=TOLERANCE_COUNT)
    check_drops(result)


def test_each_direction_has_a_policer_of_its_own() -> None:
    with bench(**SERVICE) as lab:
        result = measure_observed(lab, 2 * POLICED_PPS, duration_s=SECONDS)
    for stream in result.streams:
        assert stream.received_count == pytest.approx(count_accepted() - TOLERANCE_COUNT / 2, abs=TOLERANCE_COUNT)
    check_drops(result, places=2)


def test_the_sum_of_both_rates_passes_marked() -> None:
    with bench(bidirectional=False, **SERVICE, **{"vnf.policer.mark": True}) as lab:
        result = measure_observed(lab, 375.0, duration_s=SECONDS)
    assert (result.received_count, result.lost_count, result.corrupted_count) == (3750, 0, 0)


def test_frames_that_arrive_yellow_pass_at_the_excess_rate_only() -> None:
    keys = {"vnf.policer.color_mode": "aware", "traffic.dscp": 12}
    with bench(bidirectional=False, **SERVICE, **keys) as lab:
        result = measure_observed(lab, POLICED_PPS, duration_s=SECONDS)
    accepted_bytes = EIR_BPS * SECONDS / 8 + BURST_BYTES
    assert result.received_count == pytest.approx(accepted_bytes / FRAME_BYTES - 1, abs=TOLERANCE_COUNT)
    check_drops(result)


def test_a_burst_of_the_committed_burst_size_passes_and_no_longer_one() -> None:
    with bench(bidirectional=False, **COMMITTED) as lab:
        short = lab.measure(BURST_PPS, 25 / BURST_PPS)
        time.sleep(2 * 8 * BURST_BYTES / CIR_BPS)  # twice the time that fills the bucket
        longer = lab.measure(BURST_PPS, 28 / BURST_PPS)
    assert (short.offered_count, short.received_count) == (25, 25)
    assert (longer.offered_count, longer.received_count) == (28, 25)
