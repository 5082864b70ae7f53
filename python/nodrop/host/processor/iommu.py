"""DMA and interrupt remapping."""

import re
from typing import NamedTuple

from nodrop.host import cmdline, iommu_units, observations
from nodrop.host.iommu_units import CLASS, GROUPS, IommuUnit
from nodrop.host.processor.inputs import ProcessorInputs
from nodrop.model.chd import PageSize
from nodrop.model.observation import Feature, Observation

_ACPI = "/sys/firmware/acpi/tables"
_TABLES = ("DMAR", "IVRS", "IORT")
_INTERRUPTS = "/proc/interrupts"
_REMAPPED = re.compile(r"\bIR-[A-Z]+(?:-[A-Z]+)*")
_SIZES: tuple[PageSize, ...] = ("2M", "1G")


class IommuFeatures(NamedTuple):
    """All IOMMU features."""

    present: Feature
    slat: Feature
    large_pages: dict[PageSize, Feature]
    interrupt_remapping: Feature
    posted_interrupts: Feature


def describe_iommu(chip: ProcessorInputs) -> IommuFeatures:
    """Describe the capabilities of the units, and what the kernel uses."""
    units = iommu_units.read_iommu_units(chip.source)
    present = Feature(supported=_observe_present(chip, units), enabled=_observe_enabled(chip))
    if present.supported.value is False:
        return _build_no_iommu(chip, present)
    translates = _observe_all_units(chip, units, [each.translates for each in units], "CAP.SAGAW")
    remaps = _observe_all_units(chip, units, [each.remaps for each in units], "ECAP.IR")
    posts = _observe_all_units(chip, units, [each.posts for each in units], "CAP.PI, GAMSup")
    return IommuFeatures(
        present,
        Feature(supported=translates, enabled=_observe_translating(chip, present, translates)),
        {size: _describe_large_pages(chip, units, present, size) for size in _SIZES},
        Feature(supported=remaps, enabled=_observe_remapping(chip, present, remaps)),
        Feature(supported=posts, enabled=_observe_posting(chip, posts)),
    )


def _build_no_iommu(chip: ProcessorInputs, present: Feature) -> IommuFeatures:
    """Return unsupported features if there is no IOMMU."""
    no: Observation[bool] = chip.source.moment.inferred(False, present.supported.source, "there is no IOMMU")
    neither = Feature(supported=no, enabled=no)
    return IommuFeatures(present, neither, dict.fromkeys(_SIZES, neither), neither, neither)


def _observe_present(chip: ProcessorInputs, units: tuple[IommuUnit, ...]) -> Observation[bool]:
    moment, tree = chip.source.moment, chip.source.tree
    if tables := [each for each in _TABLES if tree.exists(f"{_ACPI}/{each}")]:
        return moment.reported(True, f"{_ACPI}/{tables[0]}")
    if units:
        return moment.reported(True, units[0].path)
    if tree.list_directory(GROUPS):
        return moment.inferred(True, GROUPS, "the kernel has groups of devices")
    if not tree.list_directory(_ACPI):
        return observations.observe_unreadable(chip.source, _ACPI)
    if chip.virtual:
        return moment.inferred(False, _ACPI, "the hypervisor shows none: no table DMAR or IVRS")
    return moment.unknown("no table DMAR, IVRS or IORT: none there, or off in the firmware", _ACPI)


def _observe_enabled(chip: ProcessorInputs) -> Observation[bool]:
    moment, tree = chip.source.moment, chip.source.tree
    groups = tree.list_directory(GROUPS)
    if not groups and tree.failure_reason(GROUPS):
        return observations.observe_unreadable(chip.source, GROUPS)
    kinds = sorted({kind for each in groups[:512] if (kind := tree.read_text(f"{GROUPS}/{each}/type"))})
    reason = f"{len(groups)} groups" + (f", of type {', '.join(kinds)}" if kinds else "") if groups else "no groups"
    return moment.reported(bool(groups), GROUPS, reason)


def _observe_all_units(
    chip: ProcessorInputs, units: tuple[IommuUnit, ...], unit_values: list[bool], register: str
) -> Observation[bool]:
    """Return whether all units have a capability."""
    moment, tree = chip.source.moment, chip.source.tree
    if not units:
        reason = (
            f"{CLASS} has units without registers" if tree.list_directory(CLASS) else "the kernel shows no unit of it"
        )
        return moment.unknown(reason, CLASS)
    count = "" if len(units) == 1 else f", {sum(unit_values)} of {len(units)} units"
    return moment.reported(all(unit_values), units[0].path, register + count)


def _describe_large_pages(
    chip: ProcessorInputs, units: tuple[IommuUnit, ...], present: Feature, size: PageSize
) -> Feature:
    supported = _observe_all_units(
        chip, units, [each.has_page_size(size) for each in units], "CAP.SLLPS, or all of AMD's tables"
    )
    translating = _observe_translating(chip, present, supported)
    reported = cmdline.read_arguments(chip.source, "intel_iommu") or ()
    if translating.value and any("sp_off" in each.split(",") for each in reported):
        return Feature(
            supported=supported,
            enabled=chip.source.moment.inferred(False, cmdline.CMDLINE, "intel_iommu=sp_off: no large pages"),
        )
    return Feature(supported=supported, enabled=translating)


def _observe_translating(chip: ProcessorInputs, present: Feature, supported: Observation[bool]) -> Observation[bool]:
    """Return whether guest devices are translated: if the IOMMU is on, even with passthrough for host devices."""
    moment = chip.source.moment
    if supported.known and not supported.value:
        return moment.inferred(False, supported.source, "not supported")
    if not present.enabled.known or not supported.known:
        lacking = present.enabled if not present.enabled.known else supported
        if lacking is supported and present.enabled.value is False:
            return moment.inferred(False, present.enabled.source, "the IOMMU is off")
        return moment.unknown(lacking.why, lacking.source)
    reason = f"the IOMMU is {'on' if present.enabled.value else 'off'}: {present.enabled.why}"
    return moment.inferred(bool(present.enabled.value), present.enabled.source, reason)


def _observe_remapping(chip: ProcessorInputs, present: Feature, supported: Observation[bool]) -> Observation[bool]:
    """Return whether the kernel's interrupts are remapped."""
    moment, tree = chip.source.moment, chip.source.tree
    text = tree.read_text(_INTERRUPTS)
    if text is None:
        return observations.observe_unreadable(chip.source, _INTERRUPTS)
    if match := _REMAPPED.search(text):
        return moment.reported(True, _INTERRUPTS, f"interrupts by {match[0]}")
    if "MSI" in text or "IO-APIC" in text:
        return moment.reported(False, _INTERRUPTS, "no interrupt by IR-...")
    if present.enabled.known and not present.enabled.value:
        return moment.inferred(False, GROUPS, "the IOMMU is off")
    reason = "this architecture's interrupts do not tell"
    return moment.unknown(supported.why if not supported.known else reason, _INTERRUPTS)


def _observe_posting(chip: ProcessorInputs, supported: Observation[bool]) -> Observation[bool]:
    moment = chip.source.moment
    if supported.known and not supported.value:
        return moment.inferred(False, supported.source, "not supported")
    module, name = ("kvm_amd", "avic") if chip.amd else ("kvm_intel", "enable_apicv")
    if not chip.source.tree.exists(f"/sys/module/{module}"):
        return moment.unknown(f"{module} is not loaded", f"/sys/module/{module}")
    return observations.observe_switch(chip.source, f"/sys/module/{module}/parameters/{name}")
