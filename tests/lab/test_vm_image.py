"""The image of the loopback VM: built twice, booted, configured by a config drive, and measured through."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.conftest import skip_or_fail
from tests.lab.bench import FULL_RATE
from tests.loopback_vms import MACS, LoopbackVm, cloud_config, config_drive, make_recipe, run_loopback_vm
from tests.waiting import await_true, stretch

from nodrop.errors import ImageError, OfferedShortError
from nodrop.vmimage.build import VmImage, build_image, write_image

pytestmark = [pytest.mark.lab, pytest.mark.vm]

CREATE_TAPS = """
ip link set lo up
for name in left right; do
    ip tuntap add $name mode tap
    ip link set $name up
done
echo ready
exec sleep 600
"""
TESTER = ("02:00:00:00:0b:01", "02:00:00:00:0b:02")


@pytest.fixture(autouse=True)
def programs(require_privilege: None, require_root: None, require_tool: Callable[[str], Path]) -> None:
    del require_privilege, require_root
    for each in ("qemu-system-x86_64", "qemu-img", "genisoimage", "mformat", "unshare", "ip"):
        require_tool(each)


@pytest.fixture(scope="module")
def image() -> VmImage:
    try:
        return build_image(make_recipe())
    except ImageError as error:
        skip_or_fail(str(error))


@pytest.fixture(scope="module")
def file(image: VmImage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("image") / "loop.qcow2"
    write_image(image, path, "qcow2")
    return path


@pytest.fixture
def inside() -> Iterator[list[str]]:
    """Create a network namespace with the taps `left` and `right`; yield the command that enters it."""
    script = CREATE_TAPS
    for name, mac in zip(("left", "right"), TESTER, strict=True):
        script = script.replace("echo ready", f"ip link set {name} address {mac}\necho ready")
    with subprocess.Popen(["unshare", "--net", "sh", "-ec", script], stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"ready\n"
        yield ["nsenter", "--net", "--target", str(holder.pid)]
        holder.kill()


def start_vm(
    file: Path, scratch: Path, inside: list[str], keys: dict[str, str], kind: str = "iso9660"
) -> AbstractContextManager[LoopbackVm]:
    drive = config_drive(scratch, cloud_config(keys), kind) if keys else None
    return run_loopback_vm(file, scratch, inside, dict(zip(MACS, ("left", "right"), strict=True)), config_drive=drive)


def measure(scratch: Path, inside: list[str], *keys: str) -> dict[str, object]:
    """Send 100 frames through the VM, fewer than its smallest queue holds; return the result."""
    flags = [word for key in ("ports=[left, right]", *keys) for word in ("--set", key)]
    command = [*inside, sys.executable, "-m", "nodrop", "run", "--sut", "ext", *flags, "--rate", "200pps"]
    command += ["--duration", "0.5s", *FULL_RATE, "--results-dir", "results", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(120), check=False, cwd=scratch)
    # The guest may take the tester's CPU for longer than the trial lasts.
    assert done.returncode in (0, OfferedShortError.exit_code), done.stderr
    result: dict[str, object] = json.loads(done.stdout)
    return result


def measure_without_loss(scratch: Path, inside: list[str], *keys: str) -> dict[str, object]:
    """Measure until every frame arrives; return that result.

    Other work may stop an emulated guest for longer than a trial waits for its last frames.
    """

    def measure_again() -> dict[str, object] | None:
        result = measure(scratch, inside, *keys)
        (trial,) = result["trials"]  # type: ignore[misc]
        counts.append([(stream["offered_count"], stream["received_count"]) for stream in trial["streams"]])
        return result if all(offered == received > 0 for offered, received in counts[-1]) else None

    counts: list[list[tuple[int, int]]] = []
    return await_true(measure_again, lambda: f"a trial without loss; (sent, received) by stream: {counts}")


def test_the_same_packages_give_the_same_bytes(image: VmImage) -> None:
    again = build_image(make_recipe())
    assert again.manifest.sha256 == image.manifest.sha256 and again.disk == image.disk


def test_the_image_is_small_and_says_what_it_was_built_from(image: VmImage) -> None:
    assert len(image.disk) < 40 * 2**20
    names = {each.name for each in image.manifest.packages}
    assert names > {"busybox-static", "mtools", "syslinux", "systemd-boot-efi"}
    assert all(each.licences and len(each.sha256) == 64 for each in image.manifest.packages)


@pytest.mark.parametrize("kind", ["iso9660", "vfat"])
def test_it_forwards_at_layer_2_to_whom_its_config_drive_says(
    file: Path, tmp_path: Path, inside: list[str], kind: str
) -> None:
    keys = {
        "FORWARDER": "testpmd",
        **{"INTF_MAC1": MACS[0], "INTF_MAC2": MACS[1]},
        **{"TG_MAC1": TESTER[0], "TG_MAC2": TESTER[1]},
    }
    with start_vm(file, tmp_path, inside, keys, kind) as vm:
        vm.wait_for(r"nodrop-vnf forwarding, l2, between eth0 and eth1 after [\d.]+ s")
        measure_without_loss(tmp_path, inside)


def test_it_routes_and_answers_arp_as_its_config_drive_says(file: Path, tmp_path: Path, inside: list[str]) -> None:
    keys = {
        "FORWARDER": "vpp",
        **{"INTF_MAC1": MACS[0], "INTF_MAC2": MACS[1]},
        **{"VNF_GATEWAY1_CIDR": "192.168.1.1/24", "VNF_GATEWAY2_CIDR": "192.168.2.1/24"},
        **{"TG_NET1": "10.0.0.0/8", "TG_NET2": "20.0.0.0/8"},
        **{"TG_GATEWAY1_IP": "192.168.1.100", "TG_GATEWAY2_IP": "192.168.2.100"},
    }
    with start_vm(file, tmp_path, inside, keys) as vm:
        vm.wait_for("nodrop-vnf forwarding, l3")
        result = measure_without_loss(
            tmp_path, inside,
            "flows.ip=10.0.0.0/8,20.0.0.0/8",
            "gateways.tester=192.168.1.100,192.168.2.100",
            "gateways.sut=192.168.1.1,192.168.2.1",
        )  # fmt: skip
    facts = result["facts"]
    assert isinstance(facts, dict)
    assert [port["next_hop"]["mac"] for port in facts["ports"]] == list(MACS)


def test_it_is_a_bras_for_the_subscribers_of_its_config_drive(file: Path, tmp_path: Path, inside: list[str]) -> None:
    keys = {"FORWARDER": "vnf-bras", "INTF_MAC1": MACS[0], "INTF_MAC2": MACS[1]}
    with start_vm(file, tmp_path, inside, {**keys, "BRAS_SUBSCRIBERS": "64", "BRAS_TAGS": "shifted"}) as vm:
        vm.wait_for("nodrop-vnf forwarding, bras, between eth0 and eth1")
        tables = ("workload=bras", "bras.subscribers=64", "bras.tags=shifted", f"macs=[{', '.join(MACS)}]")
        result = measure_without_loss(tmp_path, inside, *tables)
    (trial,) = result["trials"]  # type: ignore[misc]
    assert trial["validity"]["verdict"] != "invalid"
    assert [stream["misdelivered_count"] for stream in trial["streams"]] == [0, 0]


def test_a_forwarder_that_dies_is_started_again_and_that_is_said(file: Path, tmp_path: Path, inside: list[str]) -> None:
    with start_vm(file, tmp_path, inside, {"INTF_MAC1": MACS[1], "INTF_MAC2": MACS[0]}) as vm:
        vm.wait_for("nodrop-vnf forwarding, l2, between eth1 and eth0")
        vm.type("", "killall -9 nodrop-vnf")
        vm.wait_for("fault: nodrop-vnf ended after [^~]*nodrop-vnf forwarding, l2, between eth1 and eth0")


def test_without_a_config_drive_frames_pass_as_they_are(file: Path, tmp_path: Path, inside: list[str]) -> None:
    with start_vm(file, tmp_path, inside, {}) as vm:
        vm.wait_for("no config drive: layer 2 between the first two interfaces")
        vm.wait_for("nodrop-vnf forwarding, l2, between eth0 and eth1")
        measure_without_loss(tmp_path, inside)


def test_a_fault_in_what_it_is_told_is_on_its_console(file: Path, tmp_path: Path, inside: list[str]) -> None:
    keys = {"FORWARDER": "bridge", "INTF_MAC1": MACS[0], "TG_NET1": "$(reboot)"}
    with start_vm(file, tmp_path, inside, keys) as vm:
        vm.wait_for(r"fault: TG_NET1=\$\(reboot\) requested; no value has such characters")
        vm.wait_for("fault: FORWARDER=bridge requested; known are vnf-l2, vnf-l3 and vnf-bras")
