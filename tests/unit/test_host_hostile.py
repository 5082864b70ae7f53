"""Hostile files of a machine: truncated, absurd, not text."""

import random
from pathlib import Path

import pytest
from tests.chips import CPUID, MOMENT, machine, smbios

from nodrop.host import identity, memory, os_settings, processor
from nodrop.host.cpuid import parse_dump
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.host.smbios import TABLE

DESCRIBERS = (
    identity.describe_identity,
    processor.describe_processor,
    memory.describe_memory,
    os_settings.describe_os_settings,
)
ROUNDS = 150
ABSURD = (b"", b"\0", b"-1\n", b"1" + b"0" * 30 + b"\n", b"\xff\xfe\x80" * 9, b"0-99999999\n", b"NaN\n", b"{}\n" * 999)
FILES: dict[str, str | bytes] = {
    "/proc/cpuinfo": """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) CPU @ 2.30GHz
stepping\t: 4
microcode\t: 0x2006e05
cpu MHz\t\t: 2300.000
flags\t\t: pse vmx pdpe1gb ida cat_l3
vmx flags\t: ept vpid ept_1gb
""",
    "/proc/cmdline": "intel_iommu=on isolcpus=1 password=x\n",
    "/proc/interrupts": "24: IR-PCI-MSI\n",
    "/proc/swaps": "Filename Type Size\n/dev/sda partition 1\n",
    "/proc/irq/default_smp_affinity": "3\n",
    "/proc/sys/kernel/sched_rt_runtime_us": "950000\n",
    "/proc/sys/kernel/sched_rt_period_us": "1000000\n",
    "/etc/machine-id": "0123456789abcdef\n",
    "/etc/os-release": 'PRETTY_NAME="Debian"\n',
    "/sys/devices/system/cpu/online": "0-1\n",
    "/sys/devices/system/cpu/smt/control": "on\n",
    "/sys/devices/system/cpu/smt/active": "1\n",
    "/sys/devices/system/cpu/isolated": "1\n",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0-1\n",
    "/sys/devices/system/cpu/cpu0/regs/identification/midr_el1": "0x413fd0c1\n",
    "/sys/devices/system/cpu/cpu0/cache/index0/level": "1\n",
    "/sys/devices/system/cpu/cpu0/cache/index0/type": "Data\n",
    "/sys/devices/system/cpu/cpu0/cache/index0/size": "32K\n",
    "/sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list": "0-1\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency": "2300000\n",
    "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "/sys/devices/system/cpu/cpu0/cpuidle/state0/name": "POLL\n",
    "/sys/class/iommu/dmar0/intel-iommu/cap": "8d2078c106f0466\n",
    "/sys/class/iommu/dmar0/intel-iommu/ecap": "f020df\n",
    "/sys/kernel/iommu_groups/0/type": "DMA\n",
    "/sys/devices/system/edac/mc/mc0/max_location": "channel 5 slot 1\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/size": "16384\n",
    "/sys/devices/system/edac/mc/mc0/dimm0/dimm_location": "channel 0 slot 0\n",
    TABLE: smbios("SuperMicro-X9DBL"),
}


def corrupt(content: bytes, chance: random.Random) -> bytes:
    """Return the content truncated, with changed bytes, or replaced."""
    kind = chance.randrange(4)
    if kind == 0:
        return content[: chance.randrange(len(content) + 1)]
    if kind == 1:
        return chance.choice(ABSURD)
    changed = bytearray(content)
    for _ in range(chance.randrange(1, 9)):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def describe_all(source: Source) -> None:
    for describe in DESCRIBERS:
        describe(source)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_spoilt_files_never_end_in_a_traceback(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    files = {
        path: corrupt(content if isinstance(content, bytes) else content.encode(), chance)
        if chance.random() < 0.5
        else content
        for path, content in FILES.items()
    }
    dump = chance.choice(sorted(CPUID.glob("*.txt"))).read_bytes()
    cpuid = parse_dump(corrupt(dump, chance).decode(errors="replace"))
    describe_all(machine(tmp_path, files, cpuid))


def test_numbers_beyond_all_measure_are_unknown_with_what_was_found(tmp_path: Path) -> None:
    result = processor.describe_processor(
        machine(
            tmp_path,
            {
                "/proc/cpuinfo": f"cpu family\t: {10**30}\ncpu MHz\t: {10**30}\nflags\t: pse\n",
                "/sys/devices/system/cpu/cpu0/cpufreq/base_frequency": f"{10**30}\n",
                "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq": "99999999999\n",
            },
        )
    )
    assert not result.family.known
    assert "a number expected" in result.family.why
    assert "a number expected" in result.base_mhz.why
    assert result.max_mhz.why == "holds 99999999999, which is no clock"
    assert not result.current_mhz.known


def test_a_directory_where_a_file_should_be_is_said(tmp_path: Path) -> None:
    (tmp_path / "proc/cpuinfo").mkdir(parents=True)
    (tmp_path / "sys/firmware/dmi/tables/DMI").mkdir(parents=True)
    source = Source(FileTree(tmp_path), MOMENT)
    describe_all(source)
    assert processor.describe_processor(source).vendor.why
