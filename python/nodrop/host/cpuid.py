"""Results of the CPUID instruction by leaf, from this machine or from a dump."""

import re
import subprocess
from collections.abc import Mapping
from typing import NamedTuple

from nodrop.errors import NodropError
from nodrop.system.native_binaries import find_binary

TIME_LIMIT_S = 1.0
LEAVES_MAX = 4096
"""More than the dump of any CPU contains."""

_NUMBER = r"(?:0x)?([0-9a-f]{1,8})"
# `   0x00000004 0x01: eax=0x00000122 ebx=...`, as `cpuid -r` and ours print it
_NAMED = re.compile(
    rf"^\s*{_NUMBER}\s+{_NUMBER}:\s*eax={_NUMBER}\s+ebx={_NUMBER}\s+ecx={_NUMBER}\s+edx={_NUMBER}", re.I
)
# `CPUID 00000004: 00000122-01C0003F-0000003F-00000000 [SL 01]`, as AIDA64 and InstLatx64 print it
_DASHED = re.compile(r"^\s*CPUID\s+([0-9a-f]{8}):\s*([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})-([0-9a-f]{8})", re.I)
_SUBLEAF = re.compile(r"\[SL\s*([0-9a-f]{1,8})", re.I)


class Registers(NamedTuple):
    """Registers returned for one leaf."""

    eax: int
    ebx: int
    ecx: int
    edx: int


class Cpuid(NamedTuple):
    """CPUID results of one CPU, by leaf and subleaf."""

    leaves: Mapping[tuple[int, int], Registers]

    def get(self, leaf: int, subleaf: int = 0) -> Registers | None:
        """Return the registers of a leaf, if the processor reports this leaf."""
        first = self.leaves.get((leaf & 0xF000_0000, 0))
        if first is None or not leaf <= first.eax:
            return None
        return self.leaves.get((leaf, subleaf))

    def list_subleaves(self, leaf: int) -> tuple[Registers, ...]:
        """Return the subleaves of an enumerating leaf, up to the first gap."""
        leaves: list[Registers] = []
        while (registers := self.get(leaf, len(leaves))) is not None:
            leaves.append(registers)
        return tuple(leaves)

    def test_bit(self, leaf: int, register: str, bit: int, subleaf: int = 0) -> bool | None:
        """Return one bit; None if the leaf does not exist."""
        registers = self.get(leaf, subleaf)
        return None if registers is None else bool(getattr(registers, register) >> bit & 1)

    @property
    def vendor(self) -> str:
        """The twelve letters of leaf 0, e.g. `GenuineIntel`."""
        first = self.get(0)
        return "" if first is None else _decode_letters(first.ebx, first.edx, first.ecx)

    @property
    def brand(self) -> str:
        """The brand string of the processor; empty if it has none."""
        parts = (self.get(leaf) for leaf in (0x8000_0002, 0x8000_0003, 0x8000_0004))
        return " ".join(_decode_letters(*(register for each in parts if each for register in each)).split())

    @property
    def virtual(self) -> bool:
        """Whether the CPU runs under a hypervisor."""
        return bool(self.test_bit(1, "ecx", 31))

    @property
    def hypervisor(self) -> str:
        """Hypervisor signature of twelve letters, e.g. `KVMKVMKVM`; empty if not reported."""
        if not self.virtual:
            return ""
        registers = self.leaves.get((0x4000_0000, 0))
        return _decode_letters(registers.ebx, registers.ecx, registers.edx) if registers else ""

    @property
    def signature(self) -> tuple[int, int, int] | None:
        """Family, model number and stepping, with extended fields. Source: Intel SDM volume 2, CPUID leaf 1."""
        first = self.get(1)
        if first is None:
            return None
        family, model = first.eax >> 8 & 0xF, first.eax >> 4 & 0xF
        if family in (0x6, 0xF):
            model |= first.eax >> 12 & 0xF0
        if family == 0xF:
            family += first.eax >> 20 & 0xFF
        return family, model, first.eax & 0xF


def parse_dump(text: str) -> Cpuid | None:
    """Parse the first CPU of a dump by `cpuid -r`, `nodrop-observe --cpuid` or AIDA64; None if empty."""
    leaves: dict[tuple[int, int], Registers] = {}
    listed: dict[int, int] = {}
    for line in text.splitlines()[:LEAVES_MAX]:
        if named_registers := _NAMED.match(line):
            leaf, subleaf, *registers = (int(each, 16) for each in named_registers.groups())
        elif dashed := _DASHED.match(line):
            leaf, *registers = (int(each, 16) for each in dashed.groups())
            match = _SUBLEAF.search(line)
            subleaf = int(match[1], 16) if match else listed.get(leaf, 0)
            listed[leaf] = subleaf + 1
        else:
            continue
        if (leaf, subleaf) == (0, 0) and (0, 0) in leaves:
            break  # the next CPU begins
        leaves.setdefault((leaf, subleaf), Registers(*registers))
    return Cpuid(leaves) if (0, 0) in leaves else None


def read_cpuid() -> Cpuid | None:
    """Return this machine's CPUID results; None if it is not x86 or nodrop-observe is missing."""
    try:
        program = find_binary("nodrop-observe", NodropError)
        process = subprocess.run([program, "--cpuid"], capture_output=True, timeout=TIME_LIMIT_S, check=False)
    except (NodropError, OSError, subprocess.SubprocessError):
        return None
    return parse_dump(process.stdout.decode("ascii", "replace"))


def _decode_letters(*registers: int) -> str:
    text = b"".join(each.to_bytes(4, "little") for each in registers).decode("ascii", "replace")
    return "".join(each for each in text if each.isprintable() and each != "�").strip()
