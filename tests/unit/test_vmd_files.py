"""VM descriptor files: the forms that people write, and refusals with a message."""

import errno
import os
import time
from pathlib import Path
from typing import Any

import pytest
from tests.vms import EXAMPLES, GIB, SMALL, forwarder, sample

from nodrop.cli import main
from nodrop.descriptors import format_descriptor, read_vmd
from nodrop.errors import ConfigError
from nodrop.model.vmd import Interface, VmDescriptor


def vmd(text: str, directory: Path) -> VmDescriptor:
    file = directory / "vm.yaml"
    file.write_text(text)
    return read_vmd(file)[0]


def refusal(content: str | bytes, directory: Path) -> str:
    file = directory / "vm.yaml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    started = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        read_vmd(file)
    assert time.monotonic() - started < 30
    message = str(caught.value)
    assert message.startswith(str(file))
    assert len(message) < 3000
    return message.replace(f"{file}: ", "")


@pytest.mark.parametrize("value", [sample(), forwarder(), forwarder(64)])
@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_vm_is_the_same_after_it_was_written_and_read(value: VmDescriptor, form: Any, tmp_path: Path) -> None:
    file = tmp_path / f"vm.{form}"
    file.write_text(format_descriptor(value, form))
    assert read_vmd(file) == (value, ())


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.stem)
def test_an_example_is_understood_without_a_remark_and_the_same_in_canonical_form(file: Path, tmp_path: Path) -> None:
    value, remarks = read_vmd(file)
    assert remarks == ()
    assert vmd(format_descriptor(value, "yaml"), tmp_path) == value


def test_units_are_what_people_mean(tmp_path: Path) -> None:
    text = f"""{SMALL}
processor: {{reference_mhz: 2.7GHz}}
memory: {{speed_min_mtps: 2400 MT/s}}
disks: [{{size_bytes: 20GiB}}]
impact: {{option: 1, degradation_max_ratio: {{cpu: 10%}}}}
kpis: {{throughput_pps: 8Mpps, flow_count: 64k, sessions_per_s: 1e3}}
"""
    (profile,) = vmd(text, tmp_path).profiles
    first = profile.vcpu_sets[0]
    assert (first.memory.total_bytes, first.memory.large_page_bytes) == (4 * GIB, GIB)
    assert first.vcpus == (0, 1, 2, 3)
    assert first.interfaces == (Interface(mode="sriov", speed_bps=10e9, bandwidth_bps=5e9),)
    assert (profile.processor.reference_mhz, profile.memory.speed_min_mtps) == (2700, 2400)
    assert profile.disks[0].size_bytes == 20 * GIB
    assert profile.impact
    assert profile.impact.degradation_max_ratio == {"cpu": pytest.approx(0.1)}
    assert profile.kpis == {"throughput_pps": 8e6, "flow_count": 64000, "sessions_per_s": 1000}


def test_a_cloud_vm_needs_no_sets(tmp_path: Path) -> None:
    (profile,) = vmd("name: x\nvcpu_count: 4\nmemory_bytes: 8GB\n", tmp_path).profiles
    assert profile.topology == "unrestricted"
    (only,) = profile.vcpu_sets
    assert (only.vcpus, only.memory.total_bytes) == ((0, 1, 2, 3), 8 * GIB)


def test_the_two_sets_of_capabilities_are_written_out(tmp_path: Path) -> None:
    text = f"{SMALL}hypervisor: {{capabilities: [hw_virtualization, hw_io_virtualization, slat]}}"
    (profile,) = vmd(text, tmp_path).profiles
    assert profile.hypervisor.capabilities == (
        *("slat", "slat_large_pages"),
        *("iommu_slat", "iommu_slat_large_pages", "interrupt_remapping"),
    )


def test_the_names_of_the_standard_are_modes_too(tmp_path: Path) -> None:
    text = SMALL.replace("mode: sriov", "mode: shared-sriov")
    assert vmd(text, tmp_path).profiles[0].vcpu_sets[0].interfaces[0].mode == "sriov"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "total_bytes: 2GB",
            "total_bytes: two",
            "line 9: vcpu_sets.1.memory.total_bytes: 'two' is not a size of memory",
        ),
        ("total_bytes: 2GB", "total_bytes: -1", "memory.total_bytes: should be greater than 0 (-1)"),
        ("total_bytes: 2GB", "total_bytes: .nan", "memory.total_bytes: should be a finite number (nan)"),
        ("total_bytes: 2GB", f"total_bytes: 1{'0' * 30}", "1e+30 is not from 0 to 1e+18"),
        ("total_bytes: 2GB", "total_bytes: 1e999", "total_bytes: should be a finite number (inf)"),
        ("total_bytes: 2GB", "total_bytes: yes", "'yes' is not a size of memory"),
        ("speed_bps: 10Gbps", "speed_bps: .inf", "speed_bps: inf is not from 0 to 1e+18"),
        (
            "total_bytes: 4GB",
            "total_bytes: 1GB",
            "line 5: profiles.0.vcpu_sets.0.memory.total_bytes: 1 GiB is less than its large pages: 2",
        ),
        ("large_page_bytes: 1GB", "large_page_bytes: 3MB", "3 MiB is not a page size; write e.g. 2MB or 1GB"),
        ("large_page_bytes: 1GB, ", "", "2 requires large_page_bytes; add e.g. 1GB"),
        ("vcpus: 4,5", "vcpus: 3,5", "vCPU 3 occurs 2 times; list it once, in one set"),
        ("vcpus: 4,5", "vcpus: 4,6", "vCPU 5 is in no set, but vCPU 6 is; number them from 0"),
        ("vcpus: 4,5", f"vcpus: 4-1{'0' * 30}", "a range of vCPU numbers below 4096; write e.g. 0-3,6"),
        ("vcpus: 4,5", f"vcpus: [4, 1{'0' * 30}]", "vcpus.1: 1e+30 is not from 0"),
        ("vcpus: 4,5", "vcpus: []", "vcpus: too few values ([]); write at least 1"),
        ("[2, 3]]", "[2, 7]]", "line 4: profiles.0.vcpu_sets.0.pairs.1: vCPU 7 is not in the set (0-3); pair vCPUs"),
        ("[2, 3]]", "[1, 2]]", "vCPU 1 is in several pairs; pair it once"),
        ("[2, 3]]", "[2]]", "[2] has fewer than two vCPUs"),
        (
            "sets: [0, 1]",
            "sets: [1, 2]",
            "line 11: profiles.0.links.0.sets: set 2 does not exist: there are 2, numbered from 0",
        ),
        ("sets: [0, 1]", "sets: [1, 1]", "set 1 is given twice"),
        ("bandwidth_bps: 5 Gbps", "bandwidth_bps: 50 Gbps", "50.00 Gb/s exceeds the port speed of 10.00 Gb/s"),
        (
            "mode: sriov",
            "mode: sr-iov",
            "line 7: profiles.0.vcpu_sets.0.interfaces.0.mode: should be",
        ),
        ("name: x", "name: ''", "line 1: name: missing; write 1 to 63 printable characters"),
        ("name: x", "name: a/b", "'a/b' is invalid"),
        ("name: x", "", "name: missing and has no default; add it"),
        ("name: x", "name: x\nvcpu_set: 1", "unknown key (1); did you mean vcpu_sets?"),
        ("name: x", "name: x\nname: y", "line 2, column 1: invalid YAML (duplicate key 'name')"),
        ("name: x", "name: x\nvcpu_count: 4", "not allowed next to vcpu_sets"),
        (
            "name: x",
            "name: x\nimpact: {option: 2, usage: {llc_bytes: 1MB}}",
            "option 2 requires identical_max_count",
        ),
        ("name: x", "name: x\nimpact: {option: 4}", "impact.option: should be 1, 2 or 3 (4)"),
        ("name: x", "name: x\nprofiles: []", "not allowed next to profiles; write it in each profile"),
        ("name: x", "name: x\nkpis: [1]", "kpis: not a mapping ([1]); write keys with values below it"),
        ("vcpus: 4,5", "vcpus: &a [*a]", "more than 24 levels"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line_key_and_value(
    old: str, new: str, message: str, tmp_path: Path
) -> None:
    assert old in SMALL
    assert message in refusal(SMALL.replace(old, new), tmp_path)


def test_a_cloud_vm_of_a_nonillion_vcpus_is_refused(tmp_path: Path) -> None:
    text = f"name: x\nvcpu_count: 1{'0' * 30}\nmemory_bytes: 1GB\n"
    assert "line 2: profiles.0.vcpu_count: 10000000" in refusal(text, tmp_path)
    assert "is not from 1 to 4096" in refusal(text, tmp_path)


@pytest.mark.parametrize("cut", range(20, len(SMALL), 29))
def test_a_truncated_descriptor_is_refused_or_a_smaller_one(cut: int, tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(SMALL[:cut])
    try:
        value, _ = read_vmd(file)
    except ConfigError as error:
        assert str(error).startswith(str(file))
    else:
        assert value.profiles[0].vcpu_sets[0].vcpus == (0, 1, 2, 3)


def test_aliases_that_multiply_are_refused(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    assert "more than 100000 values, aliases included" in refusal("\n".join(lines), tmp_path)


def test_a_hundred_megabytes_are_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    with file.open("wb") as opened:
        opened.truncate(100 * 2**20)
    with pytest.raises(ConfigError, match=r"larger than 0\.25 MiB \(100 MiB\)"):
        read_vmd(file)


@pytest.mark.parametrize("content", [b"\xff\xfea\0:\0", b"\x7fELF\x02\x01\x01\0\0\0", bytes(range(256))])
def test_what_is_no_text_is_refused(content: bytes, tmp_path: Path) -> None:
    assert refusal(content, tmp_path).startswith("line ")


@pytest.mark.parametrize("content", ["", "x", "[]", "- a", "name: x", "{}", "profiles: 3", "name: x\nprofiles: [3]"])
def test_what_is_no_descriptor_is_refused(content: str, tmp_path: Path) -> None:
    assert refusal(content, tmp_path)


def test_a_directory_and_a_file_that_is_not_there_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"cannot read a VM Descriptor: {os.strerror(errno.EISDIR)}"):
        read_vmd(tmp_path)
    with pytest.raises(ConfigError, match=os.strerror(errno.ENOENT)):
        read_vmd(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="invalid file name"):
        read_vmd("a\0b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "hypervisor: {accelerated_vswitch: true}",
            "line 12: profiles.0.hypervisor.accelerated_vswitch: has no effect",
        ),
        ("topology: unrestricted", "line 12: profiles.0.topology: unrestricted: sets and pairs"),
    ],
)
def test_what_is_probably_not_meant_is_remarked_on(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(SMALL + text)
    (remark,) = read_vmd(file)[1]
    assert str(remark).startswith(message)


def run_check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["vm", "check", *arguments])
    return code, *capsys.readouterr()


def test_the_command_says_in_words_what_a_vm_needs(capsys: pytest.CaptureFixture[str]) -> None:
    code, message, _ = run_check(capsys, str(EXAMPLES / "etsi-8.2.2.4.txt"))
    assert code == 0
    assert message.startswith("etsi-8.2.2.4: 14 vCPUs, 14 GiB of memory, 2 interfaces\n")
    for part in (
        "line 31: cpu-set-bw names set 2, which does not exist",
        "8 vCPUs (0-7), all on one NUMA node",
        "pairs on the threads of one core: 8+9, 10+11, 12+13",
        "4 large pages of 1 GiB, 6 GiB in normal",
        "interface 0: a dedicated port of 10 Gb/s or faster",
        "0 and 1: 100 Mb/s",
    ):
        assert part in message


def test_the_command_writes_the_canonical_form_and_remarks_beside_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    code, message, error = run_check(capsys, str(EXAMPLES / "etsi-8.2.2.4.txt"), "--format", "yaml")
    assert (code, vmd(message, tmp_path)) == (0, sample())
    assert len(error.splitlines()) == 6


def test_the_command_refuses_with_exit_code_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "vm.yaml"
    file.write_text(SMALL.replace("vcpus: 4,5", "vcpus: 3,5"))
    code, message, error = run_check(capsys, str(file))
    assert (code, message) == (2, "")
    assert f"nodrop: error: {file}: line 3: profiles.0.vcpu_sets.0.vcpus: vCPU 3 " in error
