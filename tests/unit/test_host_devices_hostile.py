"""Hostile files of devices: each description ends, and states what is unknown."""

from pathlib import Path

import pytest
from tests.pci_trees import RecordedNetwork, add_open_file, build_two_sockets, source

from nodrop.host import hypervisor, nics, vswitches
from nodrop.host.inputs import LibvirtReply
from nodrop.host.network import KernelInterface

HOSTILE = {
    "nothing": b"",
    "binary": bytes(range(256)),
    "minus one": b"-1\n",
    "the largest": b"4294967295\n",
    "beyond": b"9" * 400,
    "words": b"Unknown!\n",
    "many lines": b"a b c d e f g h i j\n" * 1000,
    "ends in the middle": b"8.0 GT/",
    "a list": b"0-4294967295\n",
}
FOREVER = "../loop"


def describe_devices(root: Path) -> tuple[nics.HostDevices, object, object]:
    """Return every description of the devices, with VMs and limits that do not fit."""
    domain = (
        "<domain><name/><devices><hostdev><source><address bus='x' slot='-1'/></source></hostdev></devices></domain>"
    )
    network = RecordedNetwork(
        {"ens3f1": KernelInterface(vf_limits_mbps={999: 4294967295})}, {"ens3f0": ("9base", "base")}
    )
    machine = source(root, network, {}, LibvirtReply("9", "<a/>", "<b/>", (domain, "<c/>")))
    return (
        nics.describe_devices(machine, vswitches.describe_vswitches(machine)),
        vswitches.describe_vswitches(machine),
        hypervisor.describe_hypervisor(machine),
    )


def files(root: Path) -> list[Path]:
    return [each for each in root.rglob("*") if each.is_file() and not each.is_symlink()]


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_files_that_all_hold_nonsense_leave_every_figure_unknown(tmp_path: Path, content: bytes) -> None:
    add_open_file(build_two_sockets(tmp_path), 812, "testpmd", "/dev/vfio/60")
    for file in files(tmp_path):
        file.write_bytes(content)
    result, _, _ = describe_devices(tmp_path)
    for nic in result.nics:
        assert not nic.pci_limit_bps.known and not nic.pci_generation.known
        assert not any(port.link_speed_bps.known or port.link.known for port in nic.ports)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"-1"], ids=["binary", "minus one"])
def test_any_one_file_of_nonsense_leaves_the_rest_as_it_is(tmp_path: Path, content: bytes) -> None:
    build_two_sockets(tmp_path)
    for file in files(tmp_path):
        before = file.read_bytes()
        file.write_bytes(content)
        result, _, _ = describe_devices(tmp_path)
        assert len(result.nics) + len(result.accelerators) >= 2, file
        file.write_bytes(before)


def test_links_without_an_end_are_no_devices(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    (tmp_path / "sys/bus/pci/devices/0000:82:00.0").unlink()
    tree.link("/sys/bus/pci/devices/0000:82:00.0", "../loop/there")
    tree.link("/sys/bus/pci/loop", FOREVER)
    tree.link("/sys/class/net/ens3f0/master", FOREVER)
    tree.link("/sys/class/net/loop", "loop")
    result, _, _ = describe_devices(tmp_path)
    assert [port.pci_id for nic in result.nics for port in nic.ports] == [
        "0000:03:00.0",
        "0000:03:00.1",
        "0000:82:00.1",
    ]


def test_interfaces_that_stand_on_each_other_in_a_ring_are_followed_once(tmp_path: Path) -> None:
    tree = build_two_sockets(tmp_path)
    tree.link("/sys/class/net/ens3f0/master", "../bond0")
    tree.link("/sys/class/net/bond0/master", "../bond1")
    tree.link("/sys/class/net/bond1/master", "../bond0")
    tree.link("/sys/class/net/bond1/upper_ens3f0", "../ens3f0")
    result, _, _ = describe_devices(tmp_path)
    assert result.nics[0].ports[0].use.value == "shared"


def test_directories_where_files_should_be_and_files_for_directories(tmp_path: Path) -> None:
    build_two_sockets(tmp_path)
    for name in ("numa_node", "current_link_speed", "sriov_totalvfs"):
        file = tmp_path / "sys/bus/pci/devices/0000:03:00.1" / name
        file.unlink()
        file.mkdir()
    (tmp_path / "sys/class/iommu").write_text("a file")
    (tmp_path / "sys/kernel").mkdir()
    (tmp_path / "sys/kernel/iommu_groups").write_text("a file")
    result, _, _ = describe_devices(tmp_path)
    assert result.nics[0].ports[1].sriov is not None
    assert not result.nics[0].ports[1].sriov.total_count.known
