"""A VM booted from nodrop's configuration matches its placement, seen from the host's kernel and from the guest.

The sample of clause 8.2.2.4, reduced for a small machine: two vCPU sets, large pages and normal memory, an interface;
emulated, because KVM is not available everywhere.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.conftest import skip_or_fail
from tests.guests import Guest, boot_guest, kernel
from tests.placements import DECLARED

from nodrop.cli import nodrop
from nodrop.descriptors import format_descriptor
from nodrop.host.describe import describe_host, open_local_source
from nodrop.model.placement import PlacedInterface, PlacedSet, Placement
from nodrop.model.vmd import Interface, Profile, SetMemory, VcpuSet, VmDescriptor
from nodrop.vm.config import libvirt
from nodrop.vm.config.instance import build_instance
from nodrop.vm.place.inventory import identify_host

pytestmark = [pytest.mark.lab, pytest.mark.vm]

MIB = 2**20
PAGES = 32
POOL = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


def reduced(cpus: tuple[int, int], host_id: str) -> tuple[VmDescriptor, Placement]:
    """Return the reduced VM. Set 0: a vCPU, large pages, normal memory, an interface; set 1: a vCPU, normal memory."""
    line = Interface(speed_bps=1e9, mode="vswitch")
    sets = (
        VcpuSet(
            vcpus=(0,),
            memory=SetMemory(total_bytes=128 * MIB, large_page_bytes=2 * MIB, large_page_count=PAGES),
            interfaces=(line,),
        ),
        VcpuSet(vcpus=(1,), memory=SetMemory(total_bytes=96 * MIB)),
    )
    end = PlacedInterface(
        index=0, mode="vswitch", pci_id="", port_pci_id="", vswitch="br0", vswitch_kind="linux-bridge", speed_bps=1e9,
    )  # fmt: skip
    placed = (
        PlacedSet(
            index=0, node=0, cpus={0: cpus[0]}, large_page_bytes=2 * MIB, large_page_count=PAGES,
            normal_bytes=64 * MIB, interfaces=(end,),
        ),
        PlacedSet(index=1, node=0, cpus={1: cpus[1]}, normal_bytes=96 * MIB),
    )  # fmt: skip
    return (
        VmDescriptor(name="reduced", profiles=(Profile(vcpu_sets=sets),)),
        Placement(
            vm="reduced", host_id=host_id, hostname=host_id, profile=0, sets=placed, emulator_cpus=(cpus[0],),
            guarantee=DECLARED,
        ),
    )  # fmt: skip


@pytest.fixture(scope="module")
def large_pages() -> Iterator[None]:
    """Reserve large pages for the guest; restore the previous number afterwards."""
    before = POOL.read_text() if POOL.exists() else ""
    if os.geteuid() or not before:
        skip_or_fail("reserving large pages requires root")
    POOL.write_text(str(int(before) + PAGES))
    try:
        if int(POOL.read_text()) < int(before) + PAGES:
            skip_or_fail(f"{PAGES} large pages of 2 MiB are not available")
        yield
    finally:
        POOL.write_text(before)


@pytest.fixture(scope="module")
def guest(large_pages: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Guest, Path]]:
    """Boot the guest; yield it with the file of its placement."""
    del large_pages
    image, busybox = kernel(), Path("/bin/busybox")
    if image is None:
        skip_or_fail("no kernel for a guest; set NODROP_GUEST_KERNEL=/path/to/vmlinuz")
    if not busybox.exists():
        skip_or_fail("busybox-static is not installed")
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        skip_or_fail("two CPUs are not available")
    machine = describe_host(open_local_source())
    vmd, placement = reduced((cpus[0], cpus[1]), identify_host(machine))
    scratch = tmp_path_factory.mktemp("guest")
    (scratch / "placement.yaml").write_text(format_descriptor(placement, "yaml"))
    domain = libvirt.write_domain(build_instance(vmd, placement, machine), libvirt.DomainOptions(type="qemu"))
    with boot_guest(domain, image, busybox, scratch) as running:
        yield running, scratch / "placement.yaml"


@pytest.fixture(autouse=True)
def programs(require_tool: Callable[[str], Path]) -> None:
    for each in ("virt-qemu-run", "qemu-system-x86_64", "unshare", "ip"):
        require_tool(each)


def test_the_guest_sees_the_nodes_that_its_configuration_has(guest: tuple[Guest, Path]) -> None:
    """One node per vCPU set, and one without CPUs for the normal memory of the set with large pages."""
    seen = guest[0].seen
    assert [each for each in seen if each.startswith("node")] == [
        "node0 cpus=0 distance=10,11,11",
        "node1 cpus=1 distance=11,10,11",
        "node2 cpus= distance=11,11,10",
    ]
    assert [each for each in seen if each.startswith("cpu")] == ["cpu0 package=0", "cpu1 package=1"]


def test_the_guest_sees_which_node_its_interface_is_near(guest: tuple[Guest, Path]) -> None:
    ethernet = [each for each in guest[0].seen if each.startswith("pci class=0x020000")]
    assert ethernet == ["pci class=0x020000 node=0"]


def test_the_kernel_has_each_vcpu_on_its_cpu(guest: tuple[Guest, Path]) -> None:
    """Read the kernel's files directly, not with nodrop's code."""
    running, cpus = guest[0], sorted(os.sched_getaffinity(0))
    cpus_by_thread = {}
    for task in Path(f"/proc/{running.pid}/task").iterdir():
        allowed = next(line for line in (task / "status").read_text().splitlines() if "Cpus_allowed_list" in line)
        cpus_by_thread[(task / "comm").read_text().strip()] = allowed.split()[1]
    assert {name: cpus_by_thread[name] for name in ("CPU 0/TCG", "CPU 1/TCG")} == {
        "CPU 0/TCG": str(cpus[0]),
        "CPU 1/TCG": str(cpus[1]),
    }
    own = {name: each for name, each in cpus_by_thread.items() if name.startswith(("qemu-system", "IO "))}
    assert len(own) > 1 and set(own.values()) == {str(cpus[0])}


def test_verify_finds_everything_as_placed(guest: tuple[Guest, Path]) -> None:
    for name in ("reduced", str(guest[0].pid)):
        done = CliRunner().invoke(nodrop, ["vm", "verify", name, "--placement", str(guest[1])])
        assert done.exit_code == 0, done.output
        assert "0 differ, 0 unknown" in done.output


def test_verify_notices_a_vcpu_that_was_moved(guest: tuple[Guest, Path]) -> None:
    running, cpus = guest[0], sorted(os.sched_getaffinity(0))
    thread = next(
        int(task.name)
        for task in Path(f"/proc/{running.pid}/task").iterdir()
        if (task / "comm").read_text() == "CPU 1/TCG\n"
    )
    os.sched_setaffinity(thread, {cpus[0], cpus[1]})
    try:
        done = CliRunner().invoke(nodrop, ["vm", "verify", "reduced", "--placement", str(guest[1])])
    finally:
        os.sched_setaffinity(thread, {cpus[1]})
    assert done.exit_code == 9, done.output
    assert "no  vCPU 1" in done.output
