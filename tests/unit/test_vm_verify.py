"""A running VM compared with its placement. The process is that of QEMU 7.2 under libvirt 9.0, copied by hand."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.placements import GIB, sample_placement

from nodrop.cli import nodrop
from nodrop.descriptors import format_descriptor
from nodrop.descriptors.placement import read_placement
from nodrop.errors import ConfigError
from nodrop.host.file_tree import FileTree
from nodrop.host.running_vms import read_running_vm
from nodrop.model.deployment import PlacementAgreement
from nodrop.model.placement import PlacementBatch, PlacementResult
from nodrop.vm.config.verify import compare_deployment

PID = 4711


def process(root: Path, moved: dict[int, str] | None = None, pages: int = 4, devices: bool = True) -> FileTree:
    """Return the sample's process, on the CPUs of its placement except for the moved ones."""
    cpus = {vcpu: str(cpu) for each in sample_placement().sets for vcpu, cpu in each.cpus.items()} | (moved or {})
    names = {
        PID: ("qemu-system-x86", "0,16"),
        PID + 1: ("IO mon_iothread", "0,16"),
        PID + 2: ("TC tc-ram-node0", "0-31"),
    }
    names |= {PID + 10 + vcpu: (f"CPU {vcpu}/KVM", where) for vcpu, where in cpus.items()}
    for thread, (name, where) in names.items():
        _write(root / f"proc/{PID}/task/{thread}/comm", f"{name}\n")
        _write(root / f"proc/{PID}/task/{thread}/status", f"Name:\t{name}\nCpus_allowed_list:\t{where}\n")
    _write(
        root / f"proc/{PID}/cmdline",
        "/usr/bin/qemu-system-x86_64\0-name\0guest=etsi-8-2-2-4,debug-threads=on\0-S\0",
    )
    _write(root / "proc/1/cmdline", "/sbin/init\0")
    _write(
        root / f"proc/{PID}/maps",
        "7f0000000000-7f0100000000 rw-s 0 0:0 1 /pages/qemu_back_mem.ram-node0 (deleted)\n"
        "7f1000000000-7f1180000000 rw-p 0 0:0 0\n7f2000000000-7f2000100000 rw-p 0 0:0 0\n",
    )
    _write(
        root / f"proc/{PID}/numa_maps",
        f"7f0000000000 bind:0 file=/pages/ram-node0 huge dirty={pages} N0={pages} kernelpagesize_kB=1048576\n"
        "7f0200000000 bind:1 file=/pages/ram-node1 huge dirty=2 N1=2 kernelpagesize_kB=1048576\n"
        f"7f1000000000 bind:0 anon=1572864 dirty=1572864 N0={6 * GIB // 4096} kernelpagesize_kB=4\n"
        "7f2000000000 bind:0 anon=9 dirty=9 N1=9 kernelpagesize_kB=4\n",
    )
    (root / f"proc/{PID}/fd").mkdir(parents=True)
    if devices:
        for number, group in enumerate((41, 42)):
            (root / f"proc/{PID}/fd/{number}").symlink_to(f"/dev/vfio/{group}")
        _write(root / "sys/kernel/iommu_groups/41/devices/0000:03:00.0", "")
        _write(root / "sys/kernel/iommu_groups/42/devices/0000:03:10.0", "")
    else:
        (root / f"proc/{PID}/fd/0").symlink_to("/dev/null")
    return FileTree(root)


def test_a_vm_as_it_was_placed_has_nothing_that_differs(tmp_path: Path) -> None:
    result = compare_deployment(sample_placement(), read_running_vm(process(tmp_path), "etsi-8-2-2-4"))
    assert {each.state for each in result} == {"as placed"}
    assert len(result) == 14 + 1 + 2 + 1 + 2


def test_a_vcpu_that_may_run_elsewhere_differs(tmp_path: Path) -> None:
    result = compare_deployment(
        sample_placement(), read_running_vm(process(tmp_path, moved={3: "18-19", 4: "5"}), str(PID))
    )
    assert [(each.what, each.asked, each.found) for each in result if each.state == "differs"] == [
        ("vCPU 3", "CPU 18", "CPU 18-19"),
        ("vCPU 4", "CPU 3", "CPU 5"),
    ]


def test_missing_pages_and_devices_differ(tmp_path: Path) -> None:
    result = compare_deployment(
        sample_placement(), read_running_vm(process(tmp_path, pages=3, devices=False), str(PID))
    )
    assert {each.what: each.found for each in result if each.state == "differs"} == {
        "pages of 1024 MiB on node 0": "3",
        "device 0000:03:00.0": "not assigned",
        "device 0000:03:10.0": "not assigned",
    }


def test_memory_on_a_node_that_was_not_placed_differs(tmp_path: Path) -> None:
    tree = process(tmp_path)
    file = tmp_path / f"proc/{PID}/numa_maps"
    file.write_text(
        file.read_text().replace("7f1000000000 bind:0 anon=1572864", "7f1000000000 default anon=9 N3=99999")
    )
    result = _normal(compare_deployment(sample_placement(), read_running_vm(tree, str(PID))))
    assert (result.state, result.found) == ("differs", "6144 MiB on node 0, 390 MiB on node 3")


def test_what_the_kernel_does_not_show_is_unknown(tmp_path: Path) -> None:
    tree = process(tmp_path)
    (tmp_path / f"proc/{PID}/numa_maps").unlink()
    result = _normal(compare_deployment(sample_placement(), read_running_vm(tree, str(PID))))
    assert (result.state, result.found) == ("unknown", "unknown: not in the capture")


def test_threads_without_names_are_refused_with_the_remedy(tmp_path: Path) -> None:
    tree = process(tmp_path)
    for file in (tmp_path / f"proc/{PID}/task").glob("*/comm"):
        file.write_text("qemu-system-x86\n")
    with pytest.raises(ConfigError, match="debug-threads=on"):
        read_running_vm(tree, str(PID))


def test_a_vm_that_does_not_run_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not running here; running VMs: etsi-8-2-2-4"):
        read_running_vm(process(tmp_path), "other")
    with pytest.raises(ConfigError, match="is the VM running"):
        read_running_vm(FileTree(tmp_path), "99")


def test_malformed_files_of_a_process_are_unknown_not_a_crash(tmp_path: Path) -> None:
    tree = process(tmp_path)
    (tmp_path / f"proc/{PID}/task/{PID + 10}/status").write_bytes(b"\xff\x00Cpus_allowed_list:\tx-y\n")
    (tmp_path / f"proc/{PID}/maps").write_bytes(b"\x00zz-qq\n7f0")
    result = compare_deployment(sample_placement(), read_running_vm(tree, str(PID)))
    assert next(each for each in result if each.what == "vCPU 0").state == "unknown"


def test_a_placement_is_read_alone_and_out_of_several(tmp_path: Path) -> None:
    placement = sample_placement()
    other = placement.model_copy(update={"vm": "other"})
    results = [PlacementResult(vm=each.vm, policy="best-fit", placement=each) for each in (placement, other)]
    for name, value in (("one", placement), ("result", results[0]), ("batch", PlacementBatch(results=tuple(results)))):
        (tmp_path / name).write_text(format_descriptor(value, "yaml"))
    assert read_placement(tmp_path / "one") == placement == read_placement(tmp_path / "result")
    assert read_placement(tmp_path / "batch", "other") == other
    with pytest.raises(ConfigError, match=r"does not contain exactly one placement, but: etsi-8\.2\.2\.4, other"):
        read_placement(tmp_path / "batch")


def test_a_file_without_a_placement_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("host: 1\n")
    done = CliRunner().invoke(nodrop, ["vm", "verify", "x", "--placement", str(tmp_path / "x.yaml")])
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception).endswith("not a placement; pass a file written by `nodrop vm place`")


def _normal(result: tuple[PlacementAgreement, ...]) -> PlacementAgreement:
    return next(each for each in result if each.what == "normal memory")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
