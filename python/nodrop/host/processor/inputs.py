"""The processor as all of its leaves are read from: /proc/cpuinfo, the first CPU's files, CPUID."""

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
    """What is read once and asked for often."""

    source: Source
    fields: Mapping[str, str]
    """Of the first CPU in /proc/cpuinfo, and what stands there for all."""
    flags: frozenset[str]
    """As the kernel names them, those of VMX among them; empty where it lists none."""
    parts: tuple[str, ...]
    """Of Arm: numbers of all kinds of cores that it has, that of the first CPU first."""
    cpus: tuple[str, ...]
    """`cpu0`, `cpu1` ...: every one the kernel knows, also those offline."""

    @property
    def first(self) -> str:
        """Directory of the first CPU."""
        return f"{CPUS}/{self.cpus[0] if self.cpus else 'cpu0'}"

    @property
    def vendor_id(self) -> str:
        """`GenuineIntel`, `AuthenticAMD` ...; empty where it has none, as on Arm."""
        cpuid = self.source.cpuid
        listed = self.fields.get("vendor_id", "") or self.fields.get("vendor", "")
        return listed.strip() or (cpuid.vendor if cpuid else "")

    @property
    def intel(self) -> bool:
        """By Intel."""
        return self.vendor_id == "GenuineIntel"

    @property
    def amd(self) -> bool:
        """By AMD, or made like theirs."""
        return self.vendor_id in ("AuthenticAMD", "HygonGenuine")

    @property
    def virtual(self) -> bool:
        """Shown by a hypervisor, which may leave out or make up what it likes."""
        cpuid = self.source.cpuid
        return "hypervisor" in self.flags or bool(cpuid and cpuid.virtual)

    def flag(self, *names: str) -> Observation[bool]:
        """Whether the kernel lists any of these flags."""
        moment = self.source.moment
        if not self.flags:
            return moment.unknown(self.source.tree.why(CPUINFO) or "no flags are listed", CPUINFO)
        found = [each for each in names if each in self.flags]
        return moment.reported(bool(found), CPUINFO, f"flag {found[0]}" if found else f"no flag {' or '.join(names)}")


def read_inputs(source: Source) -> ProcessorInputs:
    """Read what all leaves need."""
    text = source.tree.text(CPUINFO) or ""
    fields = _parse_fields(text)
    flags: list[str] = []
    for name in (*_FLAG_LINES, "vmx flags"):
        flags += fields.get(name, "").split()
    cpus = tuple(each for each in source.tree.names(CPUS) if _CPU.fullmatch(each))
    parts = dict.fromkeys(re.findall(r"^CPU part\s*:\s*(0x[0-9a-f]{1,3})$", text, re.M))
    return ProcessorInputs(source, fields, frozenset(flags), tuple(parts), cpus)


def _parse_fields(text: str) -> dict[str, str]:
    """The first CPU's, then those of blocks that are no CPU's: s390 and old Arm kernels spread them."""
    found: dict[str, str] = {}
    first, *others = re.split(r"\n\s*\n", text.strip())
    for block in (first, *(each for each in others if not each.startswith("processor"))):
        for line in block.splitlines():
            key, colon, value = line.partition(":")
            if colon:
                found.setdefault(key.strip(), value.strip())
    return found
