"""Clock frequency and the settings that affect it."""

import re

from nodrop.host import observations, smbios
from nodrop.host.cpu_lists import CPUS
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.observation import Feature, Observation

_MHZ_MAX = 100_000
_GHZ_IN_NAME = re.compile(r"@\s*(\d{1,2}\.\d{1,3})\s*GHz", re.I)


def read_base(chip: ProcessorInputs) -> Observation[float]:
    """Return the guaranteed frequency without turbo."""
    return observations.select_first_known(
        lambda: _read_khz(chip, f"{chip.first}/cpufreq/base_frequency"),
        lambda: _read_leaf_0x16(chip, "eax"),
        lambda: _read_scaled(chip, f"{chip.first}/acpi_cppc/nominal_freq", 1),
        lambda: _observe_base_by_name(chip),
        lambda: _observe_base_by_firmware(chip),
    )


def read_max(chip: ProcessorInputs) -> Observation[float]:
    """Return the maximum single-core turbo frequency."""
    return observations.select_first_known(
        lambda: _read_khz(chip, f"{chip.first}/cpufreq/cpuinfo_max_freq"), lambda: _read_leaf_0x16(chip, "ebx")
    )


def read_current(chip: ProcessorInputs) -> Observation[float]:
    """Return the current frequency of the first CPU."""
    text = chip.fields.get("cpu MHz", "")
    if re.fullmatch(r"\d{1,6}(?:\.\d{1,9})?", text) and 0 < float(text) < _MHZ_MAX:
        return chip.source.moment.reported(float(text), CPUINFO)
    return _read_khz(chip, f"{chip.first}/cpufreq/scaling_cur_freq")


def describe_turbo(chip: ProcessorInputs) -> Feature:
    """Describe turbo: frequencies above the base."""
    moment, tree, cpuid = chip.source.moment, chip.source.tree, chip.source.cpuid
    supported = chip.observe_flag("ida", "cpb") if "flags" in chip.fields else moment.unknown("no flag tells", CPUINFO)
    if chip.intel and cpuid and not chip.virtual and (bit := cpuid.test_bit(6, "eax", 1)) is not None:
        supported = moment.reported(bit, "cpuid 0x6")
    if chip.virtual and not supported.value:
        supported = moment.unknown("the hypervisor does not show it", CPUINFO)
    no_turbo = observations.observe_switch(chip.source, f"{CPUS}/intel_pstate/no_turbo")
    if no_turbo.value is not None:
        return Feature(supported=supported, enabled=moment.reported(not no_turbo.value, no_turbo.source, "no_turbo"))
    enabled = observations.observe_switch(chip.source, f"{CPUS}/cpufreq/boost")
    if not enabled.known and not tree.exists(f"{CPUS}/cpu0/cpufreq"):
        enabled = moment.unknown("no driver of the kernel's sets the clock here", f"{CPUS}/cpufreq")
    return Feature(supported=supported, enabled=enabled)


def read_governor(chip: ProcessorInputs) -> Observation[str]:
    """Return the frequency governors of all CPUs, with the driver."""
    tree = chip.source.tree
    governors = sorted(
        {governor for cpu in chip.cpus if (governor := tree.read_text(f"{CPUS}/{cpu}/cpufreq/scaling_governor"))}
    )
    path = f"{chip.first}/cpufreq/scaling_governor"
    if not governors:
        return observations.observe_unreadable(chip.source, path)
    driver = tree.read_text(f"{chip.first}/cpufreq/scaling_driver")
    return chip.source.moment.reported(", ".join(governors), path, f"driver {driver}" if driver else "")


def read_idle_states(chip: ProcessorInputs) -> Observation[tuple[str, ...]]:
    """Return the enabled idle states of the first CPU."""
    tree, moment = chip.source.tree, chip.source.moment
    path = f"{chip.first}/cpuidle"
    states = [each for each in tree.list_directory(path) if re.fullmatch(r"state\d{1,3}", each)]
    if not states:
        driver = tree.read_text(f"{CPUS}/cpuidle/current_driver")
        if driver == "none":
            return moment.reported((), f"{CPUS}/cpuidle/current_driver", "no driver")
        return observations.observe_unreadable(chip.source, path)
    names = [
        tree.read_text(f"{path}/{each}/name") for each in states if tree.read_text(f"{path}/{each}/disable") != "1"
    ]
    return moment.reported(tuple(each for each in names if each), path)


def read_invariant_tsc(chip: ProcessorInputs) -> Observation[bool]:
    """Return whether the TSC runs at a constant rate in all frequencies and idle states."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    if cpuid and (bit := cpuid.test_bit(0x8000_0007, "edx", 8)) is not None:
        return moment.reported(bit, "cpuid 0x80000007", "as the hypervisor shows it" if chip.virtual else "")
    if "flags" not in chip.fields:
        return moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "no flag tells", CPUINFO)
    steady = {"constant_tsc", "nonstop_tsc"} <= chip.flags
    return moment.reported(steady, CPUINFO, "flags constant_tsc and nonstop_tsc")


def _read_khz(chip: ProcessorInputs, path: str) -> Observation[float]:
    return _read_scaled(chip, path, 1000)


def _read_scaled(chip: ProcessorInputs, path: str, by: int) -> Observation[float]:
    observation = observations.observe_number(chip.source, path)
    if observation.value is None:
        return chip.source.moment.unknown(observation.why, path)
    if not 0 < observation.value < _MHZ_MAX * by:
        return chip.source.moment.unknown(f"holds {observation.value}, which is no clock", path)
    return chip.source.moment.reported(observation.value / by, path)


def _read_leaf_0x16(chip: ProcessorInputs, register: str) -> Observation[float]:
    source = "cpuid 0x16"
    cpuid = chip.source.cpuid
    registers = cpuid.get(0x16) if cpuid else None
    mhz = getattr(registers, register) & 0xFFFF if registers else 0
    if not mhz or chip.amd:
        return chip.source.moment.unknown("CPUID does not tell", source)
    return chip.source.moment.reported(float(mhz), source)


def _observe_base_by_firmware(chip: ProcessorInputs) -> Observation[float]:
    """Return the frequency of the first populated socket in SMBIOS."""
    moment = chip.source.moment
    for each in smbios.read_structures(chip.source):
        mhz = each.read_word(0x16)
        if each.kind == smbios.PROCESSOR and mhz and 0 < mhz < _MHZ_MAX and not chip.virtual:
            return moment.inferred(float(mhz), smbios.TABLE, "as the firmware set it at the start")
    return moment.unknown(chip.source.tree.failure_reason(smbios.TABLE) or "not listed", smbios.TABLE)


def _observe_base_by_name(chip: ProcessorInputs) -> Observation[float]:
    name = chip.fields.get("model name", "")
    if (match := _GHZ_IN_NAME.search(name)) is None:
        return chip.source.moment.unknown("no file and no leaf tells", CPUINFO)
    return chip.source.moment.inferred(round(float(match[1]) * 1000, 1), CPUINFO, "by the model's name")
