"""Runs through DPDK: on the lab's interfaces without huge pages, and on devices outside the lab."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_or_fail
from tests.lab.bench import bench
from tests.waiting import stretch

from nodrop.generator.engine_process import PROTOCOL_VERSION
from nodrop.stage.dpdk import has_dpdk

pytestmark = [pytest.mark.dpdk, pytest.mark.lab]

SEARCHED = (0, 5)
"""With a result, or without one in the short time."""
ENGINE_WITHOUT = f"""#!/bin/sh
echo '{{"reply": "hello", "protocol": {PROTOCOL_VERSION}, "version": "0", "commit": "none", "dpdk": false}}'
read request
echo '{{"reply": "error", "kind": "port", "message": "this program was built without DPDK; install"}}'
cat >/dev/null
"""


@pytest.fixture
def _dpdk(require_root: None) -> None:  # noqa: ARG001
    if not has_dpdk():
        skip_or_fail("nodrop-engine was built without DPDK (apt-get install pkg-config libdpdk-dev; scripts/install)")


def run_nodrop(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nodrop", *map(str, arguments)]
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=stretch(90), check=False
    )


def received(result: dict[str, Any]) -> int:
    """Return the frames received in all trials; on a busy machine every trial may lose some."""
    return sum(stream["received_count"] for trial in result["trials"] for stream in trial["streams"])


@pytest.mark.usefixtures("_dpdk")
@pytest.mark.parametrize("sut", ["wire", "bridge", "router"])
def test_every_frame_passes_through_dpdk_on_the_labs_interfaces(sut: str) -> None:
    with bench(**{"sut": sut, "engine.backend": "dpdk", "engine.dpdk.huge_pages": "none"}) as lab:
        result = lab.measure(10_000, 0.5)
        (why,) = {port.why for port in lab.measurer.ports if port.interface.startswith("net_af_packet0")}
        counted = lab.counters("tester", "tester0").sent_count
    assert "DPDK" in why and "ordinary memory" in why
    for stream in result.streams:
        assert stream.offered_count > 200
        assert (stream.lost_count, stream.duplicate_count, stream.out_of_order_count) == (0, 0, 0)
    assert counted >= result.streams[0].offered_count
    assert (result.tester_drop_count, result.corrupted_count) == (0, 0)


@pytest.mark.usefixtures("_dpdk")
def test_frames_of_9216_bytes_fit_the_rings() -> None:
    keys = {"sut": "wire", "engine.backend": "dpdk", "frame_bytes": 9216, "engine.queue_slots": 1024}
    with bench(**keys) as lab:
        result = lab.measure(1_000, 0.3)
    assert [stream.lost_count for stream in result.streams] == [0, 0]


@pytest.mark.usefixtures("_dpdk")
def test_a_run_through_dpdk_measures_and_says_how_packets_went(tmp_path: Path) -> None:
    keys = ("--sut", "bridge", "--backend", "dpdk", "--max-load", "10kpps", "--budget", "3s", "--no-latency", "-q")
    done = run_nodrop("run", *keys, "--results-dir", tmp_path, "--json", tmp_path / "result.json")
    assert done.returncode in SEARCHED, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert received(result)
    assert {port["backend"] for port in result["facts"]["ports"]} == {"dpdk"}


@pytest.mark.usefixtures("_dpdk")
def test_devices_beside_the_lab_are_a_wire_of_their_own_and_no_hop_is_blamed(tmp_path: Path) -> None:
    if not list(Path("/usr/lib").glob("*/dpdk/pmds-*/librte_net_memif.so*")):
        pytest.skip("librte-net-memif23 is not installed")
    socket = f"nodrop-test-{tmp_path.name}"
    devices = json.dumps([f"net_memif0,role=server,socket={socket}", f"net_memif1,role=client,socket={socket}"])
    keys = ("--sut", "wire", "--backend", "dpdk", "--set", f"engine.dpdk.devices={devices}", "--no-latency", "-q")
    short = ("--max-load", "20kpps", "--budget", "3s", "--results-dir", tmp_path, "--json", tmp_path / "result.json")
    done = run_nodrop("run", *keys, *short)
    assert done.returncode in SEARCHED, done.stderr
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["trials"][0]["ledger"] is None
    assert received(result)


def test_an_engine_without_dpdk_ends_the_run_with_status_4_and_what_to_do(tmp_path: Path) -> None:
    engine = tmp_path / "nodrop-engine"
    engine.write_text(ENGINE_WITHOUT)
    engine.chmod(0o755)
    done = run_nodrop(
        "run", "--backend", "dpdk", "--sut", "wire", "--results-dir", tmp_path, NODROP_BIN_DIR=str(tmp_path)
    )
    assert done.returncode == 4
    assert "built without DPDK; install" in done.stderr
