"""libvirt's domain XML of placed VMs, checked by libvirt's schema and, if installed, by libvirt's parser."""

import random
import re
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
from tests.hosts import Shape, host
from tests.placements import GIB, random_placement, sample_placement, small_vm
from tests.placing import random_host, random_vm
from tests.vms import sample

from nodrop.errors import ConfigError
from nodrop.vm.config import libvirt
from nodrop.vm.config.instance import Instance, build_instance
from nodrop.vm.place import place_vm

GOLDEN = Path(__file__).parent.parent / "vm_config"
WITH_DISK = libvirt.DomainOptions(images=("/var/lib/libvirt/images/vnf.qcow2",))
ONE_SOCKET = Shape(nodes=1)


def test_the_sample_of_the_standard_is_written_as_it_was() -> None:
    text = libvirt.write_domain(build_instance(sample(), sample_placement(), host()), WITH_DISK)
    assert text == (GOLDEN / "libvirt.xml").read_text()


def test_libvirts_schema_accepts_every_domain(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Run the validator once for all files: it takes most of a second to load the schema."""
    validator = require_tool("xmllint")
    schema = Path("/usr/share/libvirt/schemas/domain.rng")
    require_tool("virt-xml-validate")
    files = []
    for seed in range(200):
        type_ = "qemu" if seed % 5 == 0 else "kvm"
        text = libvirt.write_domain(
            build_instance(*random_placement(seed)), libvirt.DomainOptions(images=("/x",) * (seed % 3), type=type_)
        )
        files.append(tmp_path / f"{seed}.xml")
        files[-1].write_text(text)
    subprocess.run([validator, "--noout", "--relaxng", schema, *files], check=True)
    subprocess.run(["virt-xml-validate", GOLDEN / "libvirt.xml"], check=True, capture_output=True)


def test_whatever_placement_gives_can_be_written(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    """With sets split over several nodes, vCPUs without memory nearby, memory without vCPUs."""
    validator, schema = require_tool("xmllint"), Path("/usr/share/libvirt/schemas/domain.rng")
    require_tool("virt-xml-validate")
    files = []
    for seed in range(300):
        draw = random.Random(seed)
        machine, vmd = random_host(draw), random_vm(draw)
        placement = place_vm(vmd, [machine]).placement
        if placement:
            files.append(tmp_path / f"{seed}.xml")
            files[-1].write_text(libvirt.write_domain(build_instance(vmd, placement, machine)))
    assert len(files) > 40
    subprocess.run([validator, "--noout", "--relaxng", schema, *files], check=True)


def test_libvirt_itself_takes_the_sample(require_tool: Callable[[str], Path]) -> None:
    """libvirt's parser checks rules that its schema lacks: shared addresses, valid devices on a bus."""
    with tempfile.TemporaryDirectory(prefix="nodrop-") as short:  # Socket names have at most 107 bytes.
        tried = _define(require_tool("virsh"), GOLDEN / "libvirt.xml", Path(short))
    assert "defined" in tried.stdout, tried.stderr


def test_a_name_that_looks_like_markup_stays_a_name(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    hostile = "a</name><devices><disk file='/etc/shadow'/>\n--><!DOCTYPE x>\x00\x1b[31m"
    vmd, placement = small_vm()
    text = libvirt.write_domain(
        build_instance(vmd, placement.model_copy(update={"vm": hostile}), host(shape=ONE_SOCKET))
    )
    root = xml.fromstring(text)
    assert [each.tag for each in root.iter("disk")] == []
    assert re.fullmatch(r"[a-z0-9-]+", root.findtext("name") or "")
    assert "</name><devices>" in (root.findtext("title") or "")
    (tmp_path / "hostile.xml").write_text(text)
    subprocess.run([require_tool("virt-xml-validate"), tmp_path / "hostile.xml"], check=True, capture_output=True)


def test_an_image_that_looks_like_markup_stays_a_file() -> None:
    image = "/x/'\"><serial type='tcp'/>&amp;.img"
    root = xml.fromstring(libvirt.write_domain(_small_instance(), libvirt.DomainOptions(images=(image,))))
    assert [each.get("file") for each in root.iter("source")] == [image]
    assert root.find(".//serial") is None


@pytest.mark.parametrize("image", ["/x\x01", "/x\udcff", "/x\ufffe"])
def test_what_xml_cannot_have_is_refused(image: str) -> None:
    with pytest.raises(ConfigError, match="characters not allowed in XML"):
        libvirt.write_domain(_small_instance(), libvirt.DomainOptions(images=(image,)))


def test_comments_cannot_be_ended_by_what_a_host_calls_its_ports() -> None:
    machine = host()
    hostile = re.sub(r"ens03f1", "--><disk/>", machine.model_dump_json())
    text = libvirt.write_domain(
        build_instance(sample(), sample_placement(), type(machine).model_validate_json(hostile))
    )
    assert xml.fromstring(text).find("disk") is None


def test_normal_memory_beside_large_pages_is_a_node_of_its_own() -> None:
    root = xml.fromstring(libvirt.write_domain(build_instance(sample(), sample_placement(), host())))
    cells = [(each.get("cpus", ""), int(each.get("memory", ""))) for each in root.iter("cell")]
    assert cells == [("0,1,2,3,4,5,6,7", 4096), ("8,9,10,11,12,13", 2048), ("", 6144), ("", 2048)]
    assert [each.get("nodeset") for each in root.iter("page")] == ["0,1"]
    assert [each.get("nodeset") for each in root.iter("memnode")] == ["0", "1", "0", "1"]


def test_threads_are_shown_only_where_vcpus_are_on_threads() -> None:
    text = libvirt.write_domain(_small_instance(cpus=(1, 9), shape=ONE_SOCKET))  # of core 1
    assert _topology(text) == {"sockets": "1", "dies": "1", "cores": "1", "threads": "2"}
    text = libvirt.write_domain(_small_instance(cpus=(1, 2), shape=ONE_SOCKET))  # of two cores
    assert _topology(text) == {"sockets": "1", "dies": "1", "cores": "2", "threads": "1"}


def test_a_host_of_arm_gets_a_machine_of_arm(require_tool: Callable[[str], Path], tmp_path: Path) -> None:
    machine = host().model_dump_json().replace("x86_64", "aarch64")
    text = libvirt.write_domain(build_instance(sample(), sample_placement(), type(host()).model_validate_json(machine)))
    root = xml.fromstring(text)
    kind, iommu = root.find("os/type"), root.find("devices/iommu")
    assert kind is not None and iommu is not None
    assert (kind.get("arch"), kind.get("machine"), iommu.get("model")) == ("aarch64", "virt", "smmuv3")
    (tmp_path / "arm.xml").write_text(text)
    subprocess.run([require_tool("virt-xml-validate"), tmp_path / "arm.xml"], check=True, capture_output=True)


def test_an_architecture_without_a_machine_is_refused() -> None:
    machine = host().model_dump_json().replace("x86_64", "riscv64")
    with pytest.raises(ConfigError, match="unsupported architecture 'riscv64'; supported: x86_64, aarch64"):
        libvirt.write_domain(build_instance(sample(), sample_placement(), type(host()).model_validate_json(machine)))


def test_an_emulated_domain_asks_for_nothing_that_only_kvm_has() -> None:
    root = xml.fromstring(libvirt.write_domain(_small_instance(), libvirt.DomainOptions(type="qemu")))
    assert root.get("type") == "qemu"
    assert root.find("memoryBacking/locked") is None
    assert root.find("features/kvm") is None


def test_a_vm_without_cpus_for_its_hypervisor_says_so() -> None:
    vmd, placement = small_vm()
    whole = build_instance(vmd, placement.model_copy(update={"emulator_cpus": ()}), host(shape=ONE_SOCKET))
    assert "emulatorpin" in " ".join(libvirt.collect_notes(whole))
    assert xml.fromstring(libvirt.write_domain(whole)).find("cputune/emulatorpin") is None


def test_the_same_vm_on_the_same_host_has_the_same_ids() -> None:
    first, again = (libvirt.write_domain(build_instance(sample(), sample_placement(), host())) for _ in range(2))
    assert first == again
    elsewhere = sample_placement().model_copy(update={"host_id": "host-b"})
    other = libvirt.write_domain(build_instance(sample(), elsewhere, host("host-b")))
    for pattern in (r"<uuid>.*</uuid>", r"<mac .*/>"):
        assert set(re.findall(pattern, first)).isdisjoint(re.findall(pattern, other))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"host_id": "host-b"}, "it is for host 'host-b', not 'host-a'"),
        ({"profile": -1}, "it is for profile -1, the VM has 1"),
        ({"vm": "\ud800"}, "contains a name with invalid Unicode"),
        ({"profile": 3}, "it is for profile 3, the VM has 1"),
        ({"sets": sample_placement().sets[:1]}, "it has vCPU sets 0, the VM has 0 to 1"),
    ],
)
def test_a_placement_of_something_else_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        build_instance(sample(), sample_placement().model_copy(update=change), host())


def test_a_placement_with_too_little_is_refused() -> None:
    first, second = sample_placement().sets
    less = first.model_copy(update={"normal_bytes": GIB, "interfaces": (), "cpus": {0: 1, 1: 99}})
    with pytest.raises(ConfigError) as caught:
        build_instance(sample(), sample_placement().model_copy(update={"sets": (less, second)}), host())
    sizes = first.model_copy(update={"normal_bytes": -1, "large_page_bytes": 3, "cpus": dict.fromkeys(first.cpus, 1)})
    with pytest.raises(ConfigError, match=r"several vCPUs are on CPU 1; .* invalid memory sizes"):
        build_instance(sample(), sample_placement().model_copy(update={"sets": (sizes, second)}), host())
    for message in ("the host has no CPU 99", "has vCPUs 0, 1", "has 0 interfaces, required are 2", "bytes of memory"):
        assert message in str(caught.value)


def test_a_switched_interface_without_a_switch_is_refused() -> None:
    first, second = sample_placement().sets
    line = first.interfaces[0].model_copy(update={"mode": "vswitch"})
    sets = (first.model_copy(update={"interfaces": (line, first.interfaces[1])}), second)
    with pytest.raises(ConfigError, match="has no virtual switch"):
        libvirt.write_domain(build_instance(sample(), sample_placement().model_copy(update={"sets": sets}), host()))


def test_a_device_without_an_address_is_refused() -> None:
    first, second = sample_placement().sets
    line = first.interfaces[0].model_copy(update={"pci_id": "0000:03:00.0' bus='x"})
    sets = (first.model_copy(update={"interfaces": (line, first.interfaces[1])}), second)
    with pytest.raises(ConfigError, match="PCI address"):
        libvirt.write_domain(build_instance(sample(), sample_placement().model_copy(update={"sets": sets}), host()))


def _small_instance(cpus: tuple[int, ...] = (0, 1), shape: Shape = ONE_SOCKET) -> Instance:
    return build_instance(*small_vm(cpus), host(shape=shape))


def _topology(text: str) -> dict[str, str]:
    result = xml.fromstring(text).find("cpu/topology")
    assert result is not None
    return result.attrib


def _define(virsh: Path, domain: Path, root: Path) -> subprocess.CompletedProcess[str]:
    driver = f"qemu:///embed?root={root / 'libvirt'}"
    configuration = root / "libvirt" / "etc" / "qemu.conf"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(
        'user = "root"\ngroup = "root"\n'
    )  # The default user exists only with a system-wide daemon.
    return subprocess.run([virsh, "-c", driver, "define", domain], capture_output=True, text=True, check=False)
