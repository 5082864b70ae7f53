"""Every back end: frames pass SUTs of the kernel, each is counted once, and XDP programs build them intact."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from tests.lab.bench import TRIAL_MAX_S, bench
from tests.waiting import await_true

from nodrop.errors import GeneratorError
from nodrop.model.choices import Backend
from nodrop.model.trial import StopRule, TrialResult

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("require_root")]


BACK_ENDS = [name for name in get_args(Backend) if name != "dpdk"]
"""Without DPDK, which is optional and has separate tests."""


@pytest.mark.parametrize("backend", BACK_ENDS)
@pytest.mark.parametrize("sut", ["wire", "bridge", "router", "xdp"])
def test_every_frame_passes_and_the_sut_counts_alike(backend: str, sut: str) -> None:
    with bench(**{"sut": sut, "engine.backend": backend}) as lab:

        def measure() -> TrialResult | None:
            result = lab.measure(20_000, 0.5)
            return result if all(stream.offered_count for stream in result.streams) else None

        # A busy machine may keep an XDP program from sending for the whole trial.
        result = await_true(measure, "every stream sends")
        assert [port.backend for port in lab.measurer.ports] == [backend, backend]
    for stream in result.streams:
        assert (stream.lost_count, stream.duplicate_count, stream.out_of_order_count) == (0, 0, 0)
    assert (result.tester_drop_count, result.corrupted_count) == (0, 0)
    assert all(way.latency and way.latency.min_ns > 0 for way in result.directions)


@pytest.mark.parametrize("backend", BACK_ENDS)
def test_a_trial_that_loses_is_stopped_early(backend: str) -> None:
    with bench(**{"sut": "bridge", "engine.backend": backend}) as lab:
        lab.run("sut", "ip", "link", "set", "sut1", "down")
        result = lab.measure(20_000, TRIAL_MAX_S, StopRule(lost_count=100))
    assert result.stopped_early


def test_what_a_program_cannot_send_is_refused_with_the_back_ends_that_can() -> None:
    keys = {"sut": "xdp", "engine.backend": "xdp_live", "pattern.kind": "burst"}
    with bench(**keys) as lab, pytest.raises(GeneratorError, match=r"patterns other than flat .* af_packet"):
        lab.measure(20_000, 0.1)


def test_a_port_says_what_it_can_stamp_frames_with_as_ethtool_does(require_tool: Callable[[str], Path]) -> None:
    ethtool = require_tool("ethtool")
    with bench(sut="bridge") as lab:
        output = lab.run("tester", ethtool, "-T", "tester0")
        stamps = lab.measurer.ports[0].timestamping
    assert stamps
    assert stamps.software == ("software-receive" in output)
    assert stamps.hardware == ("hardware-receive" in output and "hardware-transmit" in output)
    assert (stamps.phc_index is None) == bool(re.search(r"PTP Hardware Clock: none|provider index: none", output))
