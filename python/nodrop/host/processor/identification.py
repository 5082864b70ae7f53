"""Processor identification. Source: ETSI GS NFV-PER 001 clause 8.1.1.1."""

import platform
import re

from nodrop.host import observations
from nodrop.host.processor import models
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.observation import Observation

_S390 = re.compile(r"machine = (\w{1,8})")
_MIDR = "regs/identification/midr_el1"


def read_architecture(chip: ProcessorInputs) -> Observation[str]:
    """Return `x86_64`, `aarch64` ...; for a capture inferred from the format of cpuinfo."""
    moment, fields = chip.source.moment, chip.fields
    if chip.source.live:
        return moment.reported(platform.machine(), "uname")
    if (architecture := chip.source.tree.read_text("/proc/sys/kernel/arch")) is not None:
        return moment.reported(architecture, "/proc/sys/kernel/arch")
    for field, value, name in (
        ("arch", "IA-64", "ia64"),
        ("flags", "lm", "x86_64"),
        ("CPU implementer", "", "aarch64" if "8" in fields.get("CPU architecture", "") else "arm"),
        ("isa", "rv64", "riscv64"),
        ("cpu", "POWER", "ppc64"),
        ("vendor_id", "IBM/S390", "s390x"),
        ("flags", "", "i686"),
    ):
        if field in fields and value in fields[field]:
            return moment.inferred(name, CPUINFO, f"by its {field!r}")
    return moment.unknown(
        chip.source.tree.failure_reason(CPUINFO) or "cpuinfo is of no architecture known here", CPUINFO
    )


def read_vendor(chip: ProcessorInputs) -> Observation[str]:
    """Return the vendor's common name."""
    moment = chip.source.moment
    if chip.vendor_id:
        return moment.reported(models.name_vendor(chip.vendor_id), CPUINFO, f"vendor_id {chip.vendor_id.strip()}")
    if (midr := _read_midr(chip)) is not None:
        value, source = midr
        name = models.name_implementer(value >> 24 & 0xFF)
        return (
            moment.seen(name, source, "database", f"implementer {value >> 24 & 0xFF:#04x}")
            if name
            else moment.unknown(f"implementer {value >> 24 & 0xFF:#04x} is in no table", source)
        )
    if "POWER" in chip.fields.get("cpu", ""):
        return moment.reported("IBM", CPUINFO)
    return moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "no vendor is listed", CPUINFO)


def read_model(chip: ProcessorInputs) -> Observation[str]:
    """Return the full model name."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    for field in ("model name", "Model Name", "uarch", "cpu", "cpu model"):
        # an Arm kernel's `model name` is that of the architecture
        if (name := chip.fields.get(field)) and not (field == "model name" and "CPU implementer" in chip.fields):
            return moment.reported(" ".join(name.split()), CPUINFO)
    if machine := _S390.search(chip.fields.get("processor 0", "")):
        return moment.reported(f"machine {machine[1]}", CPUINFO)
    if cpuid and cpuid.brand:
        return moment.reported(cpuid.brand, "cpuid 0x80000002")
    if (midr := _read_midr(chip)) is not None:
        value, source = midr
        maker, code = value >> 24 & 0xFF, value >> 4 & 0xFFF
        name = models.name_part(maker, code)
        other_parts = [models.name_part(maker, int(each, 16)) or each for each in chip.parts if int(each, 16) != code]
        reason = f"implementer {maker:#04x}, part {code:#05x}" + (
            f"; also {', '.join(other_parts)}" if other_parts else ""
        )
        if name:
            return moment.seen(name, source, "database", reason)
        return moment.unknown(f"part {code:#05x} of implementer {maker:#04x} is in no table", source)
    return moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "no model is listed", CPUINFO)


def read_family(chip: ProcessorInputs) -> Observation[int]:
    """Return the CPUID family including the extended family."""
    return _read_signature_field(chip, "cpu family", 0)


def read_model_number(chip: ProcessorInputs) -> Observation[int]:
    """Return the CPUID model including the extended model; on Arm the part number."""
    if (midr := _read_midr(chip)) is not None:
        value, source = midr
        return chip.source.moment.reported(value >> 4 & 0xFFF, source, "part")
    return _read_signature_field(chip, "model", 1)


def read_stepping(chip: ProcessorInputs) -> Observation[int]:
    """Return the CPUID stepping; on Arm the revision."""
    if (midr := _read_midr(chip)) is not None:
        value, source = midr
        return chip.source.moment.reported(value & 0xF, source, "revision")
    return _read_signature_field(chip, "stepping", 2)


def read_microcode(chip: ProcessorInputs) -> Observation[str]:
    """Return the microcode version."""
    revision = chip.fields.get("microcode", "")
    if re.fullmatch(r"0x[0-9a-f]{1,16}", revision):
        return chip.source.moment.reported(revision, CPUINFO)
    return observations.observe_text(chip.source, f"{chip.first}/microcode/version")


def _read_signature_field(chip: ProcessorInputs, field: str, place: int) -> Observation[int]:
    moment, cpuid = chip.source.moment, chip.source.cpuid
    text = chip.fields.get(field, "")
    if re.fullmatch(r"\d{1,6}", text):
        return moment.reported(int(text), CPUINFO)
    if cpuid and cpuid.signature:
        return moment.reported(cpuid.signature[place], "cpuid 0x1")
    reason = f"holds {text[:40]!r}, a number expected" if text else f"has no {field!r}"
    return moment.unknown(chip.source.tree.failure_reason(CPUINFO) or reason, CPUINFO)


def _read_midr(chip: ProcessorInputs) -> tuple[int, str] | None:
    """Return the main ID register of an Arm core, and its source."""
    path = f"{chip.first}/{_MIDR}"
    if "CPU implementer" not in chip.fields and not chip.source.tree.exists(path):
        return None
    if (midr := chip.source.tree.read_number(path)) is not None:
        return midr & 0xFFFF_FFFF, path
    parts = [chip.fields.get(f"CPU {each}", "") for each in ("implementer", "variant", "part", "revision")]
    try:
        maker, variant, part, revision = (int(each[:12], 0) for each in parts)
    except ValueError:
        return None
    return (maker & 0xFF) << 24 | (variant & 0xF) << 20 | 0xF << 16 | (part & 0xFFF) << 4 | revision & 0xF, CPUINFO
