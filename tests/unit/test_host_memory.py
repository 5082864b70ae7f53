"""Memory modules: the firmware tables of real machines as `dmidecode` reads them, and the kernel's error counters."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import chips
from tests.chips import SMBIOS, machine
from tests.waiting import stretch

from nodrop.host import memory, smbios
from nodrop.host.dimms import EDAC, parse_channel
from nodrop.host.smbios import TABLE

DUMPS = sorted(path.stem for path in SMBIOS.glob("*.bin"))
UNITS = {"KB": 10, "MB": 20, "GB": 30}
GIB = 2**30


def describe_memory(tmp_path: Path, name: str):
    return memory.describe_memory(machine(tmp_path, {TABLE: chips.smbios(name)}))


@pytest.mark.parametrize("name", DUMPS)
def test_modules_are_those_that_dmidecode_lists(name: str, tmp_path: Path, require_tool: Callable[[str], Path]) -> None:
    listed = [each for each in modules(require_tool("dmidecode"), name) if each["Size"][0].isdigit()]
    result = describe_memory(tmp_path, name).modules
    assert len(result) == len(listed)
    for actual, reference in zip(result, listed, strict=True):
        assert actual.slot.endswith(reference["Locator"])
        assert actual.size_bytes.value == parse_size(reference["Size"])
        assert actual.rated_mtps.value == number(reference["Speed"])
        assert actual.speed_mtps.value == number(reference.get("Configured Memory Speed", "Unknown"))
        assert actual.rank_count.value == number(reference.get("Rank", "Unknown"))
        assert (actual.part.value or "") == reference.get("Part Number", "").strip().replace("Not Specified", "")
        assert actual.kind.value == {"Unknown": None, "DRAM": None}.get(reference["Type"], reference["Type"])


def modules(program: Path, name: str) -> list[dict[str, str]]:
    command = [program, "--from-dump", SMBIOS / f"{name}.bin", "-t", "17"]
    output = subprocess.run(command, capture_output=True, text=True, timeout=stretch(20), check=True).stdout
    return [dict(re.findall(r"^\t([^:\n]+): (.*)$", block, re.M)) for block in output.split("Memory Device\n")[1:]]


def parse_size(text: str) -> int:
    count, unit = text.split()
    return int(count) << UNITS[unit]


def number(text: str) -> int | None:
    result = re.match(r"\d+", text)
    return int(result[0]) if result else None


def test_channels_that_hold_more_than_others_show(tmp_path: Path) -> None:
    """A two-socket Supermicro X9DBL: 4, 4 and 16 GB on the three channels of each socket."""
    result = describe_memory(tmp_path, "SuperMicro-X9DBL")
    assert (result.channels_populated_count.value, result.channels_count.value) == (6, 6)
    assert result.balanced.value is False
    assert result.balanced.why == "channels of 4096 and 16384 MiB"
    assert result.ecc.value is True


def test_bandwidth_is_channels_by_speed_by_eight_bytes(tmp_path: Path) -> None:
    """A Threadripper with four channels of DDR4-2933: 93.9 GB/s."""
    result = describe_memory(tmp_path, "GigaByte-X399")
    assert result.bandwidth_bytes_per_s.value == 4 * 2933e6 * 8
    assert result.balanced.value is True
    assert result.ecc.value is False


def test_a_virtual_machines_memory_has_no_made_up_kind_or_channel(tmp_path: Path) -> None:
    result = describe_memory(tmp_path, "VMWare")
    assert [each.known for each in (result.kind, result.speed_mtps, result.channels_count, result.balanced)] == [
        False
    ] * 4
    assert result.modules[0].size_bytes.value == GIB


@pytest.mark.parametrize(
    ("locator", "bank", "expected"),
    [
        ("P1-DIMM1A", "P0_Node0_Channel2_Dimm0", "0/2"),
        ("DIMM 0", "P1 CHANNEL H", "1/H"),
        ("ChannelB-DIMM1", "BANK 3", "0/B"),
        ("CPU2_DIMM_C1", "NODE 2", "2/C"),
        ("P1-DIMMA1", "P0_Node0_Channel0_Dimm0", "0/0"),
        ("DIMM 3", "Bank 4/5", None),
        ("PROC 1 DIMM 12", "Not Specified", None),
        ("A2", "Bank4/5", None),
        ("", "", None),
    ],
)
def test_channels_are_read_off_names_that_tell_them(locator: str, bank: str, expected: str | None) -> None:
    assert parse_channel(locator, bank) == expected


def edac(controllers: int, populated: int, *, channels: int = 6) -> dict[str, str]:
    files = {}
    for controller in range(controllers):
        at = f"{EDAC}/mc{controller}"
        files[f"{at}/max_location"] = f"channel {channels - 1} slot 1 \n"
        for each in range(populated):
            files |= {
                f"{at}/dimm{each}/size": "16384\n",
                f"{at}/dimm{each}/dimm_location": f"channel {each} slot 0 \n",
                f"{at}/dimm{each}/dimm_mem_type": "Registered-DDR4\n",
                f"{at}/dimm{each}/dimm_edac_mode": "SECDED\n",
                f"{at}/dimm{each}/dimm_label": f"CPU_SrcID#{controller}_Ha#0_Chan#{each}_DIMM#0\n",
            }
    return files


def test_without_root_the_error_counters_tell_modules_and_channels(tmp_path: Path) -> None:
    result = memory.describe_memory(machine(tmp_path, edac(2, populated=4)))
    assert (result.kind.value, result.ecc.value) == ("DDR4", True)
    assert (result.channels_populated_count.value, result.channels_count.value) == (8, 12)
    assert (result.balanced.value, result.balanced.why) == (False, "4 channels are empty")
    assert not result.speed_mtps.known
    assert not result.bandwidth_bytes_per_s.known
    assert [each.size_bytes.value for each in result.modules] == [16 * GIB] * 8


def test_channels_that_the_firmware_does_not_name_are_counted_by_the_kernel(tmp_path: Path) -> None:
    result = memory.describe_memory(
        machine(tmp_path, {TABLE: chips.smbios("Lenovo-ThinkPad-W510"), **edac(1, 2, channels=2)})
    )
    assert (result.channels_populated_count.value, result.channels_count.value) == (2, 2)
    assert result.speed_mtps.value == 1334
    assert result.speed_mtps.confidence == "inferred"


def test_neither_tables_nor_counters_is_said(tmp_path: Path) -> None:
    result = memory.describe_memory(machine(tmp_path, {}))
    assert not result.kind.known
    assert "not in the capture" in result.kind.why
    assert result.modules == ()


@pytest.mark.parametrize(
    "table",
    [
        b"",
        b"\x11",
        b"\x11\x00\x00\x00" * 4,
        b"\x11\xff\x00\x00short\x00\x00",
        b"\x11\x04\x00\x00no end of strings",
        bytes(range(256)) * 64,
    ],
)
def test_tables_that_lie_about_their_length_end_there(table: bytes, tmp_path: Path) -> None:
    assert len(list(smbios.parse_structures(table))) <= 1
    memory.describe_memory(machine(tmp_path, {TABLE: table}))


@pytest.mark.parametrize("name", DUMPS)
def test_a_table_cut_anywhere_is_read_as_far_as_it_goes(name: str) -> None:
    whole = chips.smbios(name)
    count = len(list(smbios.parse_structures(whole)))
    for end in range(0, len(whole), 97):
        assert len(list(smbios.parse_structures(whole[:end]))) <= count
