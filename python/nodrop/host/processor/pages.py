"""Large pages of the processor and of second-level translation."""

from nodrop.host import observations
from nodrop.host.msr import read_msr
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.chd import PageSize
from nodrop.model.observation import Feature, Observation

_HUGEPAGES = "/sys/kernel/mm/hugepages"
_SIZE_KB: dict[PageSize, int] = {"2M": 2048, "1G": 1048576}
_FLAGS: dict[PageSize, str] = {"2M": "pse", "1G": "pdpe1gb"}
_ITLB_MULTIHIT = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"
_NX_HUGE_PAGES = "/sys/module/kvm/parameters/nx_huge_pages"
_EPT_CAPABILITIES = 0x48C
"""IA32_VMX_EPT_VPID_CAP: bit 16 for 2 MB pages, bit 17 for 1 GB. Source: Intel SDM volume 3, appendix A.10."""


def describe_large_pages(chip: ProcessorInputs) -> dict[PageSize, Feature]:
    """Describe the processor's large pages; enabled: the kernel has pages of this size."""
    return {
        size: Feature(supported=_observe_supported(chip, size), enabled=_observe_kernel_support(chip, size))
        for size in _SIZE_KB
    }


def describe_second_level(chip: ProcessorInputs, slat: Feature) -> dict[PageSize, Feature]:
    """Describe large pages of guests; enabled with second-level translation, though executable ones may be split."""
    features: dict[PageSize, Feature] = {}
    for size in _SIZE_KB:
        supported = _observe_second_level_supported(chip, slat, size)
        features[size] = Feature(supported=supported, enabled=_observe_second_level_enabled(chip, slat, supported))
    return features


def _observe_supported(chip: ProcessorInputs, size: PageSize) -> Observation[bool]:
    if "flags" in chip.fields:
        return chip.observe_flag(_FLAGS[size])
    kernel_support = _observe_kernel_support(chip, size)
    if kernel_support.value:
        return chip.source.moment.inferred(True, kernel_support.source, "the kernel keeps pages of this size")
    return chip.source.moment.unknown(kernel_support.why or "no flag tells", kernel_support.source)


def _observe_kernel_support(chip: ProcessorInputs, size: PageSize) -> Observation[bool]:
    moment, tree = chip.source.moment, chip.source.tree
    if not tree.list_directory(_HUGEPAGES):
        return observations.observe_unreadable(chip.source, _HUGEPAGES)
    path = f"{_HUGEPAGES}/hugepages-{_SIZE_KB[size]}kB"
    return moment.reported(tree.exists(path), path)


def _observe_second_level_supported(chip: ProcessorInputs, slat: Feature, size: PageSize) -> Observation[bool]:
    moment = chip.source.moment
    if not slat.supported.known:
        return moment.unknown(slat.supported.why, slat.supported.source)
    if not slat.supported.value:
        return moment.inferred(False, slat.supported.source, "no second-level translation")
    if not chip.amd:
        return _observe_ept_support(chip, size)
    own_support = _observe_supported(chip, size)
    reason = "nested paging takes the processor's own page sizes"
    return moment.inferred(bool(own_support.value), own_support.source, reason) if own_support.known else own_support


def _observe_ept_support(chip: ProcessorInputs, size: PageSize) -> Observation[bool]:
    moment = chip.source.moment
    if "ept_1gb" in chip.flags:
        if size == "1G":
            return moment.reported(True, CPUINFO, "flag ept_1gb")
        return moment.inferred(True, CPUINFO, "flag ept_1gb: what has pages of 1 GB has those of 2 MB")
    register = read_msr(chip.source, _EPT_CAPABILITIES)
    if register.value is not None:
        return moment.reported(bool(register.value >> (16 if size == "2M" else 17) & 1), register.source)
    if size == "1G" and "vmx flags" in chip.fields:
        return moment.reported(False, CPUINFO, "flag ept_1gb")
    return moment.unknown(register.why, register.source)


def _observe_second_level_enabled(
    chip: ProcessorInputs, slat: Feature, supported: Observation[bool]
) -> Observation[bool]:
    moment, tree = chip.source.moment, chip.source.tree
    if not slat.enabled.known or not supported.known:
        lacking = slat.enabled if not slat.enabled.known else supported
        return moment.unknown(lacking.why, lacking.source)
    if not (slat.enabled.value and supported.value):
        return moment.inferred(False, slat.enabled.source, "not without second-level translation and these pages")
    split = "Split huge pages" in (tree.read_text(_ITLB_MULTIHIT) or "")
    if split or (chip.intel and tree.read_text(_NX_HUGE_PAGES) == "Y"):
        path = _ITLB_MULTIHIT if split else _NX_HUGE_PAGES
        return moment.inferred(True, path, "enabled but split: executable pages of guests are mapped as 4K")
    return moment.inferred(True, slat.enabled.source, "with second-level translation")
