"""Hypervisors and the nine capabilities, from kernels and libvirt of real machines."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.machines import reopen_machine
from tests.pci_trees import NO_LIBVIRT, PciTree, source

from nodrop.host import hypervisor, libvirt
from nodrop.host.describe import describe_host
from nodrop.host.inputs import LibvirtReply, ProgramOutput
from nodrop.model.chd import Hypervisor, HypervisorCapabilities
from nodrop.model.observation import Feature

QEMU_COMMAND = "qemu-system-x86_64 --version"
QEMU = "QEMU emulator version 7.2.11 (Debian 1:7.2+dfsg-7+deb12u6)\nCopyright (c) 2003-2022 Fabrice Bellard\n"
CASCADE_LAKE = "vmx flags\t: vnmi preemption_timer posted_intr invvpid ept_x_only ept_ad ept_1gb flexpriority"
# Registers of the VT-d units of a Cascade Lake server, as its kernel prints them at boot.
CAPABILITIES, EXTENDED = "8d2078c106f0466", "f020df"

CELLS = """<capabilities><host><topology><cells num='2'>
  <cell id='0'><memory unit='KiB'>98765432</memory><pages unit='KiB' size='4'>1</pages>
    <pages unit='KiB' size='1048576'>32</pages><cpus num='2'><cpu id='0'/><cpu id='2'/></cpus></cell>
  <cell id='1'><memory unit='KiB'>98765432</memory><cpus num='2'><cpu id='1'/><cpu id='3'/></cpus></cell>
</cells></topology></host>
<guest><arch name='x86_64'><domain type='qemu'/><domain type='kvm'/></arch></guest></capabilities>"""
OFFERED = """<domainCapabilities><path>/usr/bin/qemu-system-x86_64</path><domain>kvm</domain><arch>x86_64</arch>
<cpu><mode name='host-passthrough' supported='yes'/></cpu></domainCapabilities>"""


def intel_server(tmp_path: Path) -> PciTree:
    """A server with everything enabled."""
    tree = PciTree(tmp_path)
    tree.write("/sys/module/kvm_intel/parameters/ept", "Y")
    tree.write("/sys/module/kvm/parameters/nx_huge_pages", "N")
    tree.write("/sys/module/vfio_iommu_type1/parameters/disable_hugepages", "N")
    tree.write("/proc/sys/kernel/osrelease", "6.1.0-18-amd64")
    tree.write("/proc/cpuinfo", f"processor\t: 0\nflags\t\t: fpu vmx ept vpid\n{CASCADE_LAKE}\n\nprocessor\t: 1")
    tree.write("/proc/interrupts", "            CPU0\n 24:  0  IR-PCI-MSI 294912-edge  nvme0q0")
    tree.directory("/sys/kernel/iommu_groups/0")
    tree.write("/sys/class/iommu/dmar0/intel-iommu/cap", CAPABILITIES)
    tree.write("/sys/class/iommu/dmar0/intel-iommu/ecap", EXTENDED)
    for node in range(2):
        tree.write(f"/sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages", "0")
        tree.write(f"/sys/devices/system/node/node{node}/hugepages/hugepages-1048576kB/nr_hugepages", "32")
    return tree


def describe_hypervisor(
    tree: PciTree, programs: Mapping[str, str | ProgramOutput] | None = None, answer: LibvirtReply = NO_LIBVIRT
) -> Hypervisor:
    return hypervisor.describe_hypervisor(source(tree.root, programs=programs or {QEMU_COMMAND: QEMU}, libvirt=answer))


def feature_values(feature: Feature) -> tuple[bool | None, bool | None]:
    return feature.supported.value, feature.enabled.value


def test_a_server_with_everything_on_has_all_nine(tmp_path: Path) -> None:
    result = describe_hypervisor(intel_server(tmp_path))
    assert (result.kind.value, result.version.value, result.emulator_version.value) == (
        "kvm",
        "6.1.0-18-amd64",
        "7.2.11",
    )
    for name in HypervisorCapabilities.model_fields:
        feature = getattr(result.capabilities, name)
        assert feature_values(feature) == (True, True), name
        assert feature.supported.source and feature.enabled.source, name


@pytest.mark.parametrize(
    ("file", "content", "capability", "expected"),
    [
        ("/sys/module/kvm_intel/parameters/ept", "N", "slat", (True, False)),
        ("/sys/module/kvm_intel/parameters/ept", "N", "slat_large_pages", (True, False)),
        ("/sys/module/kvm_intel/parameters/ept", "maybe", "slat", (True, None)),
        ("/sys/module/vfio_iommu_type1/parameters/disable_hugepages", "Y", "iommu_slat_large_pages", (True, False)),
        ("/sys/class/iommu/dmar0/intel-iommu/cap", "c0000020660462", "iommu_slat_large_pages", (False, True)),
        ("/sys/class/iommu/dmar0/intel-iommu/cap", "not a register", "iommu_slat_large_pages", (None, True)),
        ("/proc/interrupts", " 24:  0  PCI-MSI 294912-edge  nvme0q0", "interrupt_remapping", (True, False)),
        ("/sys/class/iommu/dmar0/intel-iommu/ecap", "f020d7", "interrupt_remapping", (False, True)),
    ],
)
def test_a_capability_follows_the_file_it_is_read_from(
    tmp_path: Path, file: str, content: str, capability: str, expected: tuple[bool | None, bool | None]
) -> None:
    tree = intel_server(tmp_path)
    tree.write(file, content)
    assert feature_values(getattr(describe_hypervisor(tree).capabilities, capability)) == expected


def test_large_pages_that_are_split_are_said_to_be(tmp_path: Path) -> None:
    tree = intel_server(tmp_path)
    tree.write("/sys/module/kvm/parameters/nx_huge_pages", "Y")
    feature = describe_hypervisor(tree).capabilities.slat_large_pages
    assert feature_values(feature) == (True, True)
    assert "splits" in feature.enabled.why


def test_no_large_page_set_aside_is_supported_and_not_enabled(tmp_path: Path) -> None:
    tree = intel_server(tmp_path)
    for node in range(2):
        tree.write(f"/sys/devices/system/node/node{node}/hugepages/hugepages-1048576kB/nr_hugepages", "0")
    assert feature_values(describe_hypervisor(tree).capabilities.numa_large_page_pinning) == (True, False)


def test_amd_is_read_by_its_own_names(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.write("/sys/module/kvm_amd/parameters/npt", "1")
    tree.write("/sys/class/iommu/ivhd0/amd-iommu/cap", "40070f")
    tree.write("/sys/class/iommu/ivhd0/amd-iommu/features", "246577efa2254afa:0")
    tree.directory("/sys/kernel/iommu_groups/0")
    tree.write("/proc/interrupts", " 24:  0  IR-PCI-MSI-0000:41:00.0  0-edge  nvme0q0")
    result = describe_hypervisor(tree).capabilities
    assert feature_values(result.slat) == feature_values(result.slat_large_pages) == (True, True)
    assert feature_values(result.interrupt_remapping) == (True, True)
    assert result.iommu_slat_large_pages.supported.value is True
    assert not result.iommu_slat_large_pages.enabled.known


def test_kvm_without_virtualization_in_the_processor_has_no_second_level_tables(tmp_path: Path) -> None:
    tree = PciTree(tmp_path, nodes=1)
    tree.directory("/sys/module/kvm")
    tree.directory("/sys/module/kvm_pvm")
    result = describe_hypervisor(tree)
    assert result.kind.value == "kvm"
    assert "runs only kernels made for it" in result.kind.why
    assert (
        feature_values(result.capabilities.slat)
        == feature_values(result.capabilities.slat_large_pages)
        == (False, False)
    )
    assert not result.capabilities.no_instruction_emulation.supported.known


def test_without_an_iommu_nothing_is_said_of_what_it_could_do(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.directory("/sys/module/kvm_intel")
    tree.directory("/sys/kernel/iommu_groups")
    result = describe_hypervisor(tree).capabilities
    assert feature_values(result.iommu_slat) == feature_values(result.iommu_slat_large_pages) == (None, False)
    assert result.iommu_slat.supported.why == "no IOMMU visible: absent or disabled"


def test_qemu_alone_emulates(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.directory("/sys/module/printk")
    result = describe_hypervisor(tree)
    assert result.kind.value == "qemu"
    assert feature_values(result.capabilities.no_instruction_emulation) == (False, False)
    assert feature_values(result.capabilities.cpu_pinning) == (True, True)


def test_the_first_domain_of_xen_is_told_from_another(tmp_path: Path) -> None:
    tree = PciTree(tmp_path)
    tree.directory("/sys/module/printk")
    tree.write("/sys/hypervisor/type", "xen")
    tree.write("/sys/hypervisor/version/major", "4")
    tree.write("/sys/hypervisor/version/minor", "17")
    tree.write("/sys/hypervisor/version/extra", ".3")
    tree.write("/sys/hypervisor/properties/features", "00002705")
    assert describe_hypervisor(tree).kind.value == "qemu"
    tree.write("/sys/hypervisor/properties/features", "00002f05")
    result = describe_hypervisor(tree)
    assert (result.kind.value, result.version.value) == ("xen", "4.17.3")
    assert result.capabilities.slat.supported.why == "nodrop knows this of KVM only, not of xen"


def test_a_capture_without_the_kernels_modules_has_an_unknown_hypervisor(tmp_path: Path) -> None:
    result = hypervisor.describe_hypervisor(source(tmp_path))
    assert (result.kind.known, result.kind.why) == (False, "not in the capture")
    assert not result.capabilities.cpu_pinning.supported.known


def test_libvirt_is_the_witness_of_what_it_offers(tmp_path: Path) -> None:
    result = describe_hypervisor(intel_server(tmp_path), answer=LibvirtReply("9.0.0", CELLS, OFFERED))
    assert result.manager_version.value == "libvirt 9.0.0"
    capabilities = result.capabilities
    assert capabilities.no_instruction_emulation.supported.source == "libvirt domcapabilities"
    assert capabilities.cpu_pinning.supported.why == "vcpupin; 4 CPUs"
    assert capabilities.numa_memory_pinning.supported.why == "numatune; 2 nodes with memory"


@pytest.mark.parametrize(
    "answer",
    [
        LibvirtReply("9.0.0", CELLS.replace("<domain type='kvm'/>", ""), OFFERED),
        LibvirtReply("9.0.0", CELLS, OFFERED.replace("<domain>kvm", "<domain>qemu")),
        LibvirtReply("9.0.0", CELLS, OFFERED.replace("host-passthrough", "custom")),
    ],
)
def test_vms_that_libvirt_cannot_give_the_hosts_processor_are_emulated(tmp_path: Path, answer: LibvirtReply) -> None:
    assert feature_values(
        describe_hypervisor(intel_server(tmp_path), answer=answer).capabilities.no_instruction_emulation
    ) == (False, False)


def test_a_running_vm_without_the_hosts_processor_shows(tmp_path: Path) -> None:
    domains = (
        "<domain><name>a</name><cpu mode='host-passthrough'/></domain>",
        "<domain><name>b</name><cpu mode='custom'/></domain>",
    )
    answer = LibvirtReply("9.0.0", CELLS, OFFERED, domains)
    feature = describe_hypervisor(intel_server(tmp_path), answer=answer).capabilities.no_instruction_emulation
    assert feature_values(feature) == (True, False)
    assert feature.enabled.why == "1 of 2 running VMs have the host's CPU model"


@pytest.mark.parametrize("said", ["<capabilities>", "", "\0\1", "<a>" * 10_000])
def test_xml_that_is_none_is_as_if_it_were_not_said(tmp_path: Path, said: str) -> None:
    answer = LibvirtReply("9.0.0", said, said, (said,))
    result = describe_hypervisor(intel_server(tmp_path), answer=answer).capabilities
    assert feature_values(result.cpu_pinning) == (True, True)
    assert libvirt.parse_domain(said) is None


def test_an_emulator_that_hangs_is_unknown_with_the_reason(tmp_path: Path) -> None:
    hangs = ProgramOutput(None, "qemu-system-x86_64 did not answer within 1 s")
    assert describe_hypervisor(intel_server(tmp_path), {QEMU_COMMAND: hangs}).emulator_version.why == hangs.why


PINNED = """<domain type='kvm' id='3'><name>vbng</name><vcpu placement='static' cpuset='8-15,^9'>3</vcpu>
<cputune><vcpupin vcpu='0' cpuset='2'/><vcpupin vcpu='1' cpuset='34'/><emulatorpin cpuset='0,32'/></cputune>
<cpu mode='host-passthrough'/><devices>
<hostdev mode='subsystem' type='pci'><source><address domain='0x0000' bus='0x82' slot='0x02' function='0x1'/></source>
<address type='pci' domain='0x0000' bus='0x00' slot='0x06' function='0x0'/></hostdev>
<interface type='hostdev'><source><address type='pci' domain='0x0000' bus='0x03' slot='0x10' function='0x3'/></source>
</interface><interface type='bridge'><source bridge='br0'/><target dev='vnet4'/></interface></devices></domain>"""


def test_a_running_vm_says_what_it_holds() -> None:
    domain = libvirt.parse_domain(PINNED)
    assert domain == libvirt.LibvirtDomain(
        name="vbng",
        vcpu_cpus={0: (2,), 1: (34,), 2: (8, 10, 11, 12, 13, 14, 15)},
        emulator_cpus=(0, 32),
        vcpu_count=3,
        devices=("0000:82:02.1", "0000:03:10.3"),
        interfaces=("vnet4",),
        host_cpu=True,
    )


def test_cpus_that_libvirt_has_bound_belong_to_the_vm() -> None:
    requested = reopen_machine("xeon-2n-smt")._replace(libvirt=lambda: LibvirtReply("9.0.0", domains=(PINNED,)))
    cpus = {
        cpu: state for node in describe_host(requested).resources.numa_nodes for cpu, state in node.cpus.cpu.items()
    }
    assert (cpus[2].use.value, cpus[2].owners) == ("dedicated", ("VM vbng",))
    assert (cpus[8].use.value, cpus[8].owners) == ("shared", ("VM vbng",))


def test_a_vm_bound_to_nothing_holds_no_cpu() -> None:
    domain = libvirt.parse_domain("<domain><name>free</name><vcpu>4</vcpu></domain>")
    assert domain is not None
    assert (domain.vcpu_count, domain.vcpu_cpus, domain.emulator_cpus) == (4, {}, ())


@pytest.mark.parametrize("vcpu", ["99999999", "-1", "many", ""])
def test_a_vm_with_an_absurd_number_of_cpus_holds_none(vcpu: str) -> None:
    domain = libvirt.parse_domain(f"<domain><name>odd</name><vcpu cpuset='0-99999999'>{vcpu}</vcpu></domain>")
    assert domain is not None
    assert (domain.vcpu_count, domain.vcpu_cpus) == (0, {})


def test_libvirt_of_another_machine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIBVIRT_DEFAULT_URI", "qemu+ssh://root@elsewhere/system")
    assert libvirt.query_libvirt().why == "LIBVIRT_DEFAULT_URI names another machine: qemu+ssh://root@elsewhere/system"


def test_a_socket_that_is_not_for_this_user_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(Path):
        _flavour = getattr(type(Path()), "_flavour", None)

        def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
            raise PermissionError(13, "Permission denied", str(self), None, str(follow_symlinks))

    monkeypatch.delenv("LIBVIRT_DEFAULT_URI", raising=False)
    monkeypatch.setattr(libvirt, "Path", Closed)
    assert libvirt.query_libvirt().why == "needs root: /run/libvirt is closed to this user"


def test_libvirt_is_asked_once_by_however_many(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: list[int] = []
    monkeypatch.setattr(libvirt, "query_libvirt", lambda: requested.append(1) or LibvirtReply("9.0.0"))
    answer = libvirt.query_once()
    assert [answer().version, answer().version, len(requested)] == ["9.0.0", "9.0.0", 1]
