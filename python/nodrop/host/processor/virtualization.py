"""Virtualization extensions of the processor, and whether they are enabled."""

from nodrop.host import observations
from nodrop.host.msr import KVM_DEVICE, read_kvm_version, read_msr
from nodrop.host.processor import models
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.observation import Feature, Observation

_KVM_API = 12
_FEATURE_CONTROL = 0x3A
"""IA32_FEATURE_CONTROL: bit 0 locked, bit 2 VMX outside SMX. Source: Intel SDM volume 3, 24.7."""
_VM_CR = 0xC001_0114
"""VM_CR: bit 4 SVMDIS. Source: AMD APM volume 2, 15.30.1."""
_MODULES = "/sys/module"
_FEW_FLAGS = "this kernel lists few of VMX's flags; Linux 5.7 and newer list all"
_L1TF = "/sys/devices/system/cpu/vulnerabilities/l1tf"


def describe_virtualization(chip: ProcessorInputs) -> Feature:
    """Describe VT-x or AMD-V; enabled: not disabled by the firmware."""
    return Feature(supported=_observe_supported(chip), enabled=_enabled(chip))


def read_reduced_exits(chip: ProcessorInputs) -> Observation[tuple[str, ...]]:
    """Return the kernel's flags of features that reduce VM exits."""
    moment = chip.source.moment
    if "flags" not in chip.fields:
        return moment.unknown(chip.source.tree.failure_reason(CPUINFO) or "not listed on this architecture", CPUINFO)
    flag_names = models.load_models().flags
    flags = tuple(
        each for each in (flag_names.amd_spares if chip.amd else flag_names.intel_spares) if each in chip.flags
    )
    if _lists_few_flags(chip):
        return moment.reported(flags, CPUINFO, _FEW_FLAGS) if flags else moment.unknown(_FEW_FLAGS, CPUINFO)
    return moment.reported(flags, CPUINFO)


def describe_slat(chip: ProcessorInputs) -> Feature:
    """Describe EPT or nested paging."""
    if "flags" not in chip.fields:
        return _describe_unknown_feature(chip)
    supported = _observe_flag(chip, "ept", "npt")
    return Feature(supported=supported, enabled=_observe_parameter(chip, supported, "ept", "npt"))


def describe_tlb_extension(chip: ProcessorInputs) -> Feature:
    """Describe VPID or ASID, with which guest TLB entries survive VM exits."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    if "flags" not in chip.fields:
        return _describe_unknown_feature(chip)
    if chip.amd:
        supported = chip.observe_flag("svm")
        if supported.value and cpuid and (svm := cpuid.get(0x8000_000A)) is not None:
            supported = moment.reported(True, "cpuid 0x8000000a", f"{svm.ebx} ASIDs")
        loaded = chip.source.tree.exists(f"{_MODULES}/kvm_amd")
        on = moment.inferred(True, f"{_MODULES}/kvm_amd", "KVM gives every guest an ASID")
        return Feature(
            supported=supported,
            enabled=_observe_unless_unsupported(chip, supported, on if loaded else _observe_missing_module(chip)),
        )
    supported = _observe_flag(chip, "vpid")
    return Feature(supported=supported, enabled=_observe_parameter(chip, supported, "vpid", "vpid"))


def describe_cache_extension(chip: ProcessorInputs) -> Feature:
    """Describe whether guest cache lines survive VM exits: tags are physical, but the kernel may flush L1."""
    moment, tree = chip.source.moment, chip.source.tree
    if "flags" not in chip.fields:
        return _describe_unknown_feature(chip)
    supported = moment.inferred(True, CPUINFO, "caches of x86 go by physical address: an exit evicts nothing")
    l1tf = tree.read_text(_L1TF)
    if l1tf is None:
        return Feature(supported=supported, enabled=observations.observe_unreadable(chip.source, _L1TF))
    flushes = "cache flushes" in l1tf
    flush = tree.read_text(f"{_MODULES}/kvm_intel/parameters/vmentry_l1d_flush")
    if flush is not None and flush in ("never", "not required"):
        flushes = False
    return Feature(supported=supported, enabled=moment.inferred(not flushes, _L1TF, l1tf[:100]))


def _lists_few_flags(chip: ProcessorInputs) -> bool:
    """Return whether the kernel, older than 5.7, lists only a few VMX flags."""
    return chip.intel and "vmx" in chip.flags and "vmx flags" not in chip.fields


def _observe_flag(chip: ProcessorInputs, *names: str) -> Observation[bool]:
    flag = chip.observe_flag(*names)
    return chip.source.moment.unknown(_FEW_FLAGS, CPUINFO) if _lists_few_flags(chip) and not flag.value else flag


def _observe_supported(chip: ProcessorInputs) -> Observation[bool]:
    """Return support by CPUID first, as the kernel clears the flag if the firmware disabled it."""
    moment, cpuid = chip.source.moment, chip.source.cpuid
    if chip.intel and cpuid and (bit := cpuid.test_bit(1, "ecx", 5)) is not None:
        return moment.reported(bit, "cpuid 0x1", _format_hypervisor_note(chip))
    if chip.amd and cpuid and (bit := cpuid.test_bit(0x8000_0001, "ecx", 2)) is not None:
        return moment.reported(bit, "cpuid 0x80000001", _format_hypervisor_note(chip))
    if "flags" in chip.fields:
        flag = chip.observe_flag("vmx", "svm")
        return flag if flag.value else moment.reported(False, CPUINFO, "no flag vmx or svm; the firmware may hide it")
    return moment.unknown("this architecture does not list it", CPUINFO)


def _enabled(chip: ProcessorInputs) -> Observation[bool]:
    moment, tree, supported = chip.source.moment, chip.source.tree, _observe_supported(chip)
    kvm = read_kvm_version(chip.source)
    if supported.known and not supported.value:
        kvm_note = "; /dev/kvm answers by other means than the processor's" if kvm.value == _KVM_API else ""
        return moment.inferred(False, supported.source, f"the processor shows none{kvm_note}")
    if kvm.value == _KVM_API:
        return moment.reported(True, KVM_DEVICE, f"answers, version {_KVM_API}")
    for module in ("kvm_intel", "kvm_amd"):
        if tree.exists(f"{_MODULES}/{module}/parameters"):
            return moment.inferred(True, f"{_MODULES}/{module}", "its module is loaded, which refuses where it is off")
    return _observe_enabled_by_register(chip, supported, kvm)


def _observe_enabled_by_register(
    chip: ProcessorInputs, supported: Observation[bool], kvm: Observation[int]
) -> Observation[bool]:
    """Return whether it is enabled by MSR, if KVM cannot answer."""
    moment = chip.source.moment
    if not (chip.intel or chip.amd):
        return moment.unknown(kvm.why, KVM_DEVICE)
    register = read_msr(chip.source, _FEATURE_CONTROL if chip.intel else _VM_CR)
    if register.value is not None:
        on = register.value & 0b101 == 0b101 if chip.intel else not register.value >> 4 & 1
        return moment.reported(on, register.source)
    if supported.source.startswith("cpuid") and chip.intel and "flags" in chip.fields and "vmx" not in chip.flags:
        return moment.inferred(False, CPUINFO, "the processor has it, the kernel struck its flag: off in the firmware")
    return moment.unknown(f"{register.why}; {KVM_DEVICE}: {kvm.why}", register.source)


def _observe_parameter(chip: ProcessorInputs, supported: Observation[bool], intel: str, amd: str) -> Observation[bool]:
    """Return whether KVM's module for this processor has a feature enabled."""
    module, name = ("kvm_amd", amd) if chip.amd else ("kvm_intel", intel)
    path = f"{_MODULES}/{module}/parameters/{name}"
    loaded = chip.source.tree.exists(f"{_MODULES}/{module}")
    return _observe_unless_unsupported(
        chip, supported, observations.observe_switch(chip.source, path) if loaded else _observe_missing_module(chip)
    )


def _observe_unless_unsupported(
    chip: ProcessorInputs, supported: Observation[bool], enabled: Observation[bool]
) -> Observation[bool]:
    if supported.known and not supported.value:
        return chip.source.moment.inferred(False, supported.source, "not supported")
    return enabled


def _observe_missing_module(chip: ProcessorInputs) -> Observation[bool]:
    module = "kvm_amd" if chip.amd else "kvm_intel"
    return chip.source.moment.unknown(f"{module} is not loaded", f"{_MODULES}/{module}")


def _describe_unknown_feature(chip: ProcessorInputs) -> Feature:
    reason = chip.source.tree.failure_reason(CPUINFO) or "this architecture does not list it"
    unknown: Observation[bool] = chip.source.moment.unknown(reason, CPUINFO)
    return Feature(supported=unknown, enabled=unknown)


def _format_hypervisor_note(chip: ProcessorInputs) -> str:
    return "as the hypervisor shows it" if chip.virtual else ""
