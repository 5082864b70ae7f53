"""`nodrop test migration` of a VM between two hosts of libvirt, emulated, because KVM is not available everywhere."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import skip_or_fail
from tests.lab.bench import FULL_RATE
from tests.libvirt_hosts import TESTER_MACS, LibvirtHosts, run_libvirt_hosts
from tests.loopback_vms import MACS, cloud_config, config_drive, make_recipe
from tests.waiting import await_true, stretch

from nodrop.errors import ImageError
from nodrop.vmimage.build import build_image, write_image

pytestmark = [pytest.mark.lab, pytest.mark.vm]

FORWARDER = {
    "FORWARDER": "testpmd",
    **dict(zip(("INTF_MAC1", "INTF_MAC2"), MACS, strict=True)),
    **dict(zip(("TG_MAC1", "TG_MAC2"), TESTER_MACS, strict=True)),
}


@pytest.fixture
def hosts(
    require_privilege: None, require_root: None, require_tool: Callable[[str], Path], tmp_path: Path
) -> Iterator[LibvirtHosts]:
    """Run the hosts, and on `a` a VM that forwards frames."""
    del require_privilege, require_root
    for each in ("libvirtd", "virsh", "qemu-system-x86_64", "qemu-img", "genisoimage", "mformat", "unshare", "ip"):
        require_tool(each)
    try:
        image = build_image(make_recipe())
    except ImageError as error:
        skip_or_fail(str(error))
    write_image(image, tmp_path / "vm.qcow2", "qcow2")
    drive = config_drive(tmp_path, cloud_config(FORWARDER), "iso9660")
    with run_libvirt_hosts(tmp_path / "vm.qcow2", drive) as hosts:
        await_true(lambda: "nodrop-vnf forwarding, l2" in hosts.read_console(), hosts.read_console)
        yield hosts


def test_a_vm_migrates_there_and_back_under_traffic(hosts: LibvirtHosts, tmp_path: Path) -> None:
    """At a rate that an emulated guest forwards."""
    flags = ["--sut", "ext", "--ports", "left,right", "--set", f"macs=[{', '.join(MACS)}]", "--rate", "200pps"]
    flags += ["--migrate", hosts.migrate("a", "b"), "--back", hosts.migrate("b", "a"), "--repeat", "1"]
    flags += ["--set", "migration.compare=false", "--settle", f"{stretch(10):g}s"]
    command = [*hosts.inside, sys.executable, "-m", "nodrop", "test", "migration", *flags, *FULL_RATE, "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=stretch(180), check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    content: dict[str, Any] = json.loads(done.stdout)
    there, back = content["report"]["legs"]
    (trial,) = content["results"][0]["trials"]
    assert (there["is_back"], back["is_back"]) == (False, True)
    assert [event["name"].split(" to ")[0] for event in trial["events"]] == ["migrate vnf"] * 2
    assert there["lost_count"] + back["lost_count"] <= sum(stream["lost_count"] for stream in trial["streams"])
    for leg in (there, back):
        assert 0 < leg["guest_pause_s"] < leg["duration_s"]
    assert "running" in hosts.run_virsh("a", "list") and "vnf" not in hosts.run_virsh("b", "list")
