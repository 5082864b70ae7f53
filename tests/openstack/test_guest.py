"""A chain through a real guest: `nodrop run` stages it, checks the path, measures, and removes it."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.lab.bench import FULL_RATE
from tests.openstack.services import guests
from tests.openstack.services.layout import Layout
from tests.openstack.staging import command_environment

pytestmark = [pytest.mark.lab, pytest.mark.openstack, pytest.mark.timeout(900)]

Figure = Callable[[str], None]
CONFIG = """
sut: openstack
ports: [{ports[0]}, {ports[1]}]
openstack:
  cloud: admin
  image: {{name: nodrop-vm, file: {image}}}
  flavor: {{name: nodrop.small, vcpus: 1, ram: 256}}
  networks:
    left: {{physical_network: physnet1}}
    right: {{physical_network: physnet2}}
"""


@pytest.fixture(scope="module")
def guest_image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the image of the loopback VM from Debian's packages."""
    file = tmp_path_factory.mktemp("image") / "nodrop-vm.raw"
    built = subprocess.run(
        [str(Path(sys.executable).with_name("nodrop")), "vm-image", "build", "-o", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return file


@pytest.fixture
def run(services_with_guests: Layout, guest_image: Path, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Return a function that runs nodrop in the network namespace of the services and returns the result."""
    ports = [name for name, _ in guests.TESTER_PORTS]
    config = tmp_path / "cloud.yaml"
    config.write_text(CONFIG.format(ports=ports, image=guest_image))
    keeper = services_with_guests.pid_file.read_text().strip()

    def measure(*words: str) -> dict[str, Any]:
        results = tmp_path / "results"
        done = subprocess.run(
            [
                *("nsenter", f"--net=/proc/{keeper}/ns/net", str(Path(sys.executable).with_name("nodrop"))),
                *("run", "--config", str(config), "--results-dir", str(results), *words),
            ],
            capture_output=True,
            text=True,
            env=command_environment(services_with_guests),
            stdin=subprocess.DEVNULL,
            timeout=420,
            check=False,
        )
        logs = [log.read_text(errors="replace")[-2000:] for log in _console_logs(services_with_guests)]
        assert done.returncode == 0, "\n".join([done.stdout, done.stderr, *logs])
        (file,) = results.glob("*/result.json")
        result: dict[str, Any] = json.loads(file.read_text())
        return result

    return measure


def _console_logs(layout: Layout) -> list[Path]:
    return sorted(layout.directory.glob("instances/*/console.log"))


def _staged(result: dict[str, Any]) -> str:
    cloud = result["facts"]["stage"]["cloud"]
    calls = cloud["api_call_counts"]
    restaged = " (re-created once, as no frame passed at first)" if any(s["restaged"] for s in cloud["servers"]) else ""
    return f"staged in {cloud['stage_s']:.1f} s{restaged} with {sum(calls.values())} requests"


@pytest.mark.lab
def test_a_chain_through_a_guest_forwards_at_a_fixed_rate(run: Callable[..., dict[str, Any]], figure: Figure) -> None:
    result = run("--rate", "200pps", "--duration", "3", *FULL_RATE)
    (trial,) = result["trials"]
    chain = result["facts"]["stage"]["chains"][0]
    assert 100 <= chain["vlans"][0] <= 199
    assert 200 <= chain["vlans"][1] <= 299
    sent = sum(stream["offered_count"] for stream in trial["streams"])
    received = sum(stream["received_count"] for stream in trial["streams"])
    figure(f"through a real guest at 200 pps: {_staged(result)}; {sent} sent, {received} received")
    assert sent == 600
    # Other work may stop an emulated guest for longer than a trial waits for its last frames.
    assert all(0 < stream["received_count"] <= stream["offered_count"] for stream in trial["streams"])


@pytest.mark.truth
def test_the_ndr_of_a_chain_through_a_guest(run: Callable[..., dict[str, Any]], figure: Figure) -> None:
    result = run("--profile", "quick", "--budget", "60s")
    (ndr,) = [goal for goal in result["goals"] if goal["goal"]["label"] == "NDR"]
    assert ndr["lower"], ndr["flags"]
    flags = ", ".join(flag["code"] for flag in ndr["flags"]) or "none"
    figure(
        f"through a real guest, profile quick, 60 s: {_staged(result)}; NDR {ndr['lower']['load_pps'] / 1000:.2f} kpps "
        f"in {len(result['trials'])} trials (flags: {flags})"
    )
