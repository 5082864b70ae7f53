"""Processor identification, numbers of cores and threads, ISA extensions, direct cache access, cache allocation.

Source: ETSI GS NFV-PER 001 clause 8.1.1.1.
"""

import platform
import re
from typing import NamedTuple

from nodrop.host import cpu_lists, observations
from nodrop.host.cpu_lists import CPUS
from nodrop.host.msr import read_msr
from nodrop.host.processor import models
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.observation import Feature, Observation

_S390 = re.compile(r"machine = (\w{1,8})")
_MIDR = "regs/identification/midr_el1"
_IIO_LLC_WAYS = 0xC8B
"""Bit mask of LLC ways that devices write to, on Xeon. Source: Intel, Xeon Scalable uncore reference."""
_RESCTRL = "/sys/fs/resctrl"
_SMT = f"{CPUS}/smt"


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


def read_isa_extensions(chip: ProcessorInputs) -> Observation[tuple[str, ...]]:
    """Return the kernel's names of relevant ISA extensions."""
    if not chip.flags:
        return chip.source.moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "no flags are listed", CPUINFO)
    flag_names = models.load_models().flags
    extensions = flag_names.x86 if "flags" in chip.fields else flag_names.arm
    grouped = sorted(each for each in chip.flags if each.startswith(flag_names.x86_beginnings))
    return chip.source.moment.reported((*(each for each in extensions if each in chip.flags), *grouped), CPUINFO)


def describe_direct_cache_access(chip: ProcessorInputs) -> Feature:
    """Describe direct cache access; most processors have no bit for it, so a table of models decides."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    family, model = read_family(chip).value, read_model_number(chip).value
    name = read_model(chip).value or ""
    # SDCIAE, AMD APM volume 2, 19.4.7: injection can be steered, so it is there
    if chip.amd and cpuid and cpuid.test_bit(0x8000_0020, "ebx", 6):
        supported = moment.reported(True, "cpuid 0x80000020", "L3 smart data cache injection")
        return Feature(supported=supported, enabled=moment.unknown("each device's driver decides", "cpuid 0x80000020"))
    row = (
        None
        if family is None or model is None
        else models.find_direct_cache_access(chip.vendor_id, family, model, name)
    )
    if row is None:
        unknown: Observation[bool] = moment.unknown("this model is in no table", "models.toml")
        return Feature(supported=unknown, enabled=unknown)
    supported = moment.seen(row.value, row.source, "database", row.why)
    if not row.value:
        return Feature(supported=supported, enabled=moment.inferred(False, row.source, "not supported"))
    if chip.virtual:
        return Feature(supported=supported, enabled=moment.unknown("the hypervisor does not show it", "msr"))
    ways = read_msr(chip.source, _IIO_LLC_WAYS)
    if ways.value is not None:
        return Feature(
            supported=supported,
            enabled=moment.reported(ways.value != 0, ways.source, f"{ways.value.bit_count()} ways of the cache"),
        )
    reason = f"on from the factory; which root ports use it, setpci shows to root ({ways.why})"
    return Feature(supported=supported, enabled=moment.inferred(True, row.source, reason))


def describe_cache_allocation(chip: ProcessorInputs) -> Feature:
    """Describe cache and memory bandwidth allocation; enabled: resctrl is mounted."""
    moment, tree = chip.source.moment, chip.source.tree
    if "flags" not in chip.fields:
        reason = tree.failure_reason(CPUINFO) or "this architecture does not list it"
        return Feature(supported=moment.unknown(reason, CPUINFO), enabled=moment.unknown(reason, CPUINFO))
    flags = [each for each in ("cat_l3", "cat_l2", "cdp_l3", "cdp_l2", "mba") if each in chip.flags]
    supported = moment.reported(bool(flags), CPUINFO, ", ".join(flags) or "no flag cat_l3, cat_l2 or mba")
    if not flags:
        return Feature(supported=supported, enabled=moment.inferred(False, CPUINFO, "not supported"))
    mounted = tree.exists(f"{_RESCTRL}/info")
    return Feature(supported=supported, enabled=moment.reported(mounted, _RESCTRL, "" if mounted else "not mounted"))


class CoreCounts(NamedTuple):
    """Numbers of online CPUs."""

    sockets: Observation[int]
    cores: Observation[int]
    threads_per_core: Observation[int]


def count_cores(chip: ProcessorInputs) -> CoreCounts:
    """Count by the sysfs files of every CPU."""
    tree = chip.source.tree
    numbers = [int(each[3:]) for each in chip.cpus]
    package_ids = (tree.read_number(f"{CPUS}/{cpu}/topology/physical_package_id") for cpu in chip.cpus)
    sockets = {each for each in package_ids if each is not None and each >= 0}
    reported = cpu_lists.read_siblings(tree, numbers, [])
    running = cpu_lists.read_online_cpus(tree)
    cores = {reported[cpu] for cpu in running if cpu in reported}
    topology = f"{CPUS}/cpu*/topology"
    return CoreCounts(
        _observe_sockets(chip, len(sockets), f"{topology}/physical_package_id"),
        _observe_count(chip, len(cores), f"{topology}/thread_siblings_list"),
        _observe_count(chip, max(map(len, cores), default=0), f"{topology}/thread_siblings_list"),
    )


def describe_smt(chip: ProcessorInputs, counts: CoreCounts) -> Feature:
    """Describe simultaneous multithreading: supported, and active."""
    moment, tree = chip.source.moment, chip.source.tree
    control = tree.read_text(f"{_SMT}/control")
    active = observations.observe_switch(chip.source, f"{_SMT}/active")
    threads = counts.threads_per_core
    if not active.known and threads.value:
        active = moment.inferred(threads.value > 1, threads.source, f"{threads.value} threads on a core")
    if control in ("on", "off", "forceoff"):
        supported = moment.reported(True, f"{_SMT}/control", control)
    elif control in ("notsupported", "notimplemented"):
        reason = f"{control}; also said where the firmware has it off"
        supported = moment.reported(bool(active.value), f"{_SMT}/control", reason)
    elif active.value:
        supported = moment.inferred(True, active.source, "it is active")
    else:
        supported = observations.observe_unreadable(chip.source, f"{_SMT}/control")
    return Feature(supported=supported, enabled=active)


def _observe_sockets(chip: ProcessorInputs, count: int, path: str) -> Observation[int]:
    if len(chip.parts) > 1 and count > 1:
        return chip.source.moment.unknown("the kernel's packages are clusters of unlike cores here", path)
    return _observe_count(chip, count, path)


def _observe_count(chip: ProcessorInputs, count: int, path: str) -> Observation[int]:
    if count:
        return chip.source.moment.reported(count, path)
    return chip.source.moment.unknown("no CPU's files tell", path)
