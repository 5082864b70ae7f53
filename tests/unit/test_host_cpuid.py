"""CPUID: the decoded dumps against the program `cpuid` and against vendors' publications."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.chips import CPUID, MOMENT, dump
from tests.waiting import stretch

from nodrop.host.cpuid import Cpuid, Registers, parse_dump, read_cpuid
from nodrop.host.file_tree import FileTree
from nodrop.host.inputs import Source
from nodrop.host.processor import caches, inputs, paging
from nodrop.system.cpu_sets import pinned_to

DUMPS = sorted(path.stem for path in CPUID.glob("*.txt"))
AMD_LEAVES = tuple(f"0x800000{each}" for each in ("05/ebx", "05/eax", "06/ebx", "06/eax", "19/eax", "19/ebx"))
VARYING = {(0x1, "ebx"), (0xB, "edx"), (0x1F, "edx"), (0x80000026, "edx"), (0x8000001E, "eax"), (0xD, "ebx")}
"""Leaves that depend on the CPU that answers, or on a thread's state."""


def read_dump(name: str, tmp_path: Path) -> inputs.ProcessorInputs:
    return inputs.read_inputs(Source(FileTree(tmp_path), MOMENT, cpuid=dump(name)))


def list_tlbs(name: str, tmp_path: Path) -> set[tuple[int, str, str, int | None, int | None]]:
    return {
        (each.level, each.kind, "/".join(each.page_sizes), each.entries_count.value, each.ways_count.value)
        for each in paging.list_tlbs(read_dump(name, tmp_path))
    }


@pytest.mark.parametrize("name", DUMPS)
def test_a_dump_says_what_the_program_cpuid_reads_in_it(name: str, require_tool: Callable[[str], Path]) -> None:
    message = run_cpuid(require_tool("cpuid"), name)
    result = dump(name)

    def field(pattern: str) -> str:
        match = re.search(pattern, message)
        return match[1].strip() if match else ""

    family, model, stepping = result.signature or (0, 0, 0)
    assert result.vendor == field(r'vendor_id = "\s*(\w+)')
    assert family == int(field(r"\(family synth\)\s*= 0x\w+ \((\d+)\)"))
    assert model == int(field(r"\(model synth\)\s*= 0x\w+ \((\d+)\)"))
    assert stepping == int(field(r"stepping id\s*= 0x\w+ \((\d+)\)"))
    assert result.brand == " ".join(field(r'brand = "(.*)"').split())
    assert result.virtual == (field(r"hypervisor guest status\s*= (\w+)") == "true")


@pytest.mark.parametrize("name", [each for each in DUMPS if dump(each).vendor in ("AuthenticAMD", "HygonGenuine")])
def test_amds_tlbs_have_the_entries_that_the_program_cpuid_counts(
    name: str, tmp_path: Path, require_tool: Callable[[str], Path]
) -> None:
    message = run_cpuid(require_tool("cpuid"), name)
    expected = [count for leaf in AMD_LEAVES for count in entries(message, leaf) if count]
    assert [each.entries_count.value for each in paging.list_tlbs(read_dump(name, tmp_path))] == expected


def run_cpuid(program: Path, name: str) -> str:
    command = [program, "-1", "-f", CPUID / f"{name}.txt"]
    return subprocess.run(command, capture_output=True, text=True, timeout=stretch(20), check=True).stdout


def entries(message: str, leaf: str) -> tuple[int, int]:
    """Return data and instruction entries in the descriptor's order; for a missing leaf none."""
    count = r"# entries\s*= 0x\w+ \((\d+)\)\n"
    block = re.search(rf"\({leaf}\):\n\s*instruction {count}.*\n\s*data {count}", message)
    return (int(block[2]), int(block[1])) if block else (0, 0)


def test_descriptors_of_leaf_2_are_tlbs_of_skylake(tmp_path: Path) -> None:
    """Intel's Optimization Reference Manual, TLBs of Skylake; ways of the second level as the descriptor states."""
    assert list_tlbs("skylake-6140", tmp_path) == {
        (1, "data", "4K", 64, 4),
        (1, "data", "2M/4M", 32, 4),
        (1, "data", "1G", 4, 4),
        (1, "instruction", "4K", 64, 8),
        (1, "instruction", "2M/4M", 8, 8),
        (2, "unified", "4K/2M", 1536, 6),
        (2, "unified", "1G", 16, 4),
    }


def test_leaf_18_lists_tlbs_of_ice_lake(tmp_path: Path) -> None:
    """As the program cpuid reads it: loads and stores have separate TLBs, the second level has two halves."""
    assert list_tlbs("ice-lake-server", tmp_path) == {
        (1, "instruction", "4K/2M/4M", 8, 8),
        (1, "data", "4K/2M/4M/1G", 16, 16),
        (1, "data", "4K", 64, 4),
        (1, "data", "2M/4M", 32, 4),
        (1, "data", "1G", 8, 8),
        (2, "unified", "4K/2M/4M", 1024, 8),
        (2, "unified", "4K/1G", 1024, 8),
    }


@pytest.mark.parametrize(
    ("name", "second"),
    [("zen-epyc-7451", (1536, 1024)), ("zen2-epyc-7502", (2048, 1024)), ("zen3-epyc-7763", (2048, 512))],
)
def test_amds_tlbs_are_those_of_its_optimization_guides(name: str, second: tuple[int, int], tmp_path: Path) -> None:
    """AMD Software Optimization Guides for families 17h and 19h: 64 of every size, then 4K data and instructions."""
    result = list_tlbs(name, tmp_path)
    assert {(1, "data", size, 64, 64) for size in ("4K", "2M", "1G")} <= result
    sizes = {kind: entries for level, kind, size, entries, _ in result if (level, size) == (2, "4K")}
    assert (sizes["data"], sizes["instruction"]) == second


@pytest.mark.parametrize("name", ["nehalem-x5550", "sandy-bridge-e5-2650"])
def test_processors_without_entries_for_1_gb_pages_say_so(name: str, tmp_path: Path) -> None:
    """Westmere and Sandy Bridge map 1 GB pages without entries of that size in leaf 2."""
    result = paging.observe_large_pages(read_dump(name, tmp_path))
    assert (result["2M"].value, result["1G"].value) == (True, False)


def test_what_a_hypervisor_leaves_out_is_unknown_rather_than_absent(tmp_path: Path) -> None:
    result = paging.observe_large_pages(read_dump("zen4-under-kvm", tmp_path))
    assert result["2M"].value is True
    assert result["1G"].value is None
    assert "hypervisor" in result["1G"].why


def test_a_vendor_with_other_leaves_has_no_tlb_listed(tmp_path: Path) -> None:
    assert list_tlbs("zhaoxin-fc1081", tmp_path) == set()
    assert paging.observe_large_pages(read_dump("zhaoxin-fc1081", tmp_path))["2M"].why


def test_caches_are_read_off_cpuid_where_there_is_no_sysfs(tmp_path: Path) -> None:
    """AMD EPYC 7763: 32 KiB and 32 KiB, 512 KiB, 32 MiB for each eight cores."""
    result = caches.read_caches(read_dump("zen3-epyc-7763", tmp_path))
    assert [(each.level, each.kind, each.size_bytes.value) for each in result] == [
        (1, "data", 32 << 10),
        (1, "instruction", 32 << 10),
        (2, "unified", 512 << 10),
        (3, "unified", 32 << 20),
    ]


def test_a_dump_of_aida64_is_read_too() -> None:
    result = parse_dump(
        "------[ Logical CPU #0 ]------\n"
        "CPUID 00000000: 00000004-756E6547-6C65746E-49656E69\n"
        "CPUID 00000004: 1C004121-01C0003F-0000003F-00000000 [SL 00]\n"
        "CPUID 00000004: 1C004122-01C0003F-0000003F-00000000 [SL 01]\n"
        "------[ Logical CPU #1 ]------\n"
        "CPUID 00000000: 00000099-756E6547-6C65746E-49656E69\n"
    )
    assert result is not None
    assert result.vendor == "GenuineIntel"
    assert result.get(0, 0) == Registers(4, 0x756E6547, 0x6C65746E, 0x49656E69)
    assert len(result.list_subleaves(4)) == 2


def test_leaves_beyond_the_last_are_not_believed() -> None:
    """An Intel processor repeats its last leaf for leaves beyond it. Source: SDM volume 2, CPUID."""
    result = Cpuid({(0, 0): Registers(2, 0, 0, 0), (0x18, 0): Registers(1, 1, 1, 1)})
    assert result.get(0x18) is None


@pytest.mark.parametrize("text", ["", "CPU 0:\n", "   0x00000001 0x00: eax=0x1 ebx=0x2 ecx=0x3\n", "\x00\xff" * 40])
def test_what_is_no_dump_gives_none(text: str) -> None:
    assert parse_dump(text) is None


def test_this_machine_answers_as_the_program_cpuid_says(require_tool: Callable[[str], Path]) -> None:
    program = require_tool("cpuid")
    with pinned_to((0,)):
        own = read_cpuid()
        output = subprocess.run(
            [program, "-1", "-r"], capture_output=True, text=True, timeout=stretch(20), check=True
        ).stdout
    reference = parse_dump(output)
    assert reference is not None
    assert own is not None, "nodrop-observe is not built"

    def steady(result: Cpuid) -> dict[tuple[int, int, str], int]:
        return {
            (leaf, subleaf, name): value
            for (leaf, subleaf), registers in result.leaves.items()
            for name, value in registers._asdict().items()
            if (leaf, name) not in VARYING
        }

    actual, expected = steady(own), steady(reference)
    # The program prints no list whose first entry is empty.
    assert {key: expected.get(key, 0) for key in actual} == actual
