"""Shared inputs of all processor observations: /proc/cpuinfo, the first CPU's sysfs files, CPUID."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from nodrop.host.cpu_lists import CPUS
from nodrop.host.inputs import Source
from nodrop.model.observation import Observation

CPUINFO = "/proc/cpuinfo"
_CPU = re.compile(r"cpu\d{1,6}")
_FLAG_LINES = ("flags", "Features", "features", "isa")


class ProcessorInputs(NamedTuple):
    """Processor data that many observations share."""

    source: Source
    fields: Mapping[str, str]
    """Fields of the first CPU in /proc/cpuinfo, and those for all CPUs."""
    flags: frozenset[str]
    """Kernel flag names including VMX flags; empty if none are listed."""
    parts: tuple[str, ...]
    """On Arm: part numbers of all core types, the first CPU's first."""
    cpus: tuple[str, ...]
    """`cpu0`, `cpu1` ...: all known to the kernel, including offline ones."""

    @property
    def first(self) -> str:
        """Directory of the first CPU."""
        return f"{CPUS}/{self.cpus[0] if self.cpus else 'cpu0'}"

    @property
    def vendor_id(self) -> str:
        """`GenuineIntel`, `AuthenticAMD` ...; empty if there is none, e.g. on Arm."""
        cpuid = self.source.cpuid
        listed = self.fields.get("vendor_id", "") or self.fields.get("vendor", "")
        return listed.strip() or (cpuid.vendor if cpuid else "")

    @property
    def intel(self) -> bool:
        """Whether Intel made it."""
        return self.vendor_id == "GenuineIntel"

    @property
    def amd(self) -> bool:
        """Whether AMD made it, or it is compatible (Hygon)."""
        return self.vendor_id in ("AuthenticAMD", "HygonGenuine")

    @property
    def virtual(self) -> bool:
        """Whether it runs under a hypervisor, which may hide or invent features."""
        cpuid = self.source.cpuid
        return "hypervisor" in self.flags or bool(cpuid and cpuid.virtual)

    def observe_flag(self, *names: str) -> Observation[bool]:
        """Return whether the kernel lists any of these flags."""
        moment = self.source.moment
        if not self.flags:
            return moment.unknown(self.source.tree.failure_reason(CPUINFO) or "no flags are listed", CPUINFO)
        present = [each for each in names if each in self.flags]
        return moment.reported(
            bool(present), CPUINFO, f"flag {present[0]}" if present else f"no flag {' or '.join(names)}"
        )


def read_inputs(source: Source) -> ProcessorInputs:
    """Read the shared inputs."""
    text = source.tree.read_text(CPUINFO) or ""
    fields = _parse_fields(text)
    flags: list[str] = []
    for name in (*_FLAG_LINES, "vmx flags"):
        flags += fields.get(name, "").split()
    cpus = tuple(each for each in source.tree.list_directory(CPUS) if _CPU.fullmatch(each))
    parts = dict.fromkeys(re.findall(r"^CPU part\s*:\s*(0x[0-9a-f]{1,3})$", text, re.M))
    return ProcessorInputs(source, fields, frozenset(flags), tuple(parts), cpus)


def _parse_fields(text: str) -> dict[str, str]:
    """Parse the first CPU's fields, then blocks without a CPU: s390 and old Arm kernels use several blocks."""
    fields: dict[str, str] = {}
    first, *other_blocks = re.split(r"\n\s*\n", text.strip())
    for block in (first, *(each for each in other_blocks if not each.startswith("processor"))):
        for line in block.splitlines():
            key, colon, value = line.partition(":")
            if colon:
                fields.setdefault(key.strip(), value.strip())
    return fields
