"""Paging: TLBs as listed by CPUID, large pages of the processor and of second-level translation.

Source: Intel SDM volume 2, CPUID leaves 2 and 18H; AMD APM volume 3, functions 8000_0005, 8000_0006 and 8000_0019.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.host import observations
from nodrop.host.cpuid import Cpuid
from nodrop.host.msr import read_msr
from nodrop.host.processor import models
from nodrop.host.processor.inputs import CPUINFO, ProcessorInputs
from nodrop.model.chd import PageSize, Tlb, TlbKind
from nodrop.model.observation import Feature, Observation

_PAGES = ("4K", "2M", "4M", "1G")
# leaf 18H, EDX bits 4-0; loads and stores apart are both data
_KINDS: dict[int, TlbKind] = {1: "data", 2: "instruction", 3: "unified", 4: "data", 5: "data"}
# functions 8000_0006 and 8000_0019: ways by code; 15 is fully associative
_WAYS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8, 8: 16, 10: 32, 11: 48, 12: 64, 13: 96, 14: 128}
_NO_CPUID = "CPUID is not available"
_DESCRIPTORS_MAX = 15
_HUGEPAGES = "/sys/kernel/mm/hugepages"
_SIZE_KB: dict[PageSize, int] = {"2M": 2048, "1G": 1048576}
_FLAGS: dict[PageSize, str] = {"2M": "pse", "1G": "pdpe1gb"}
_ITLB_MULTIHIT = "/sys/devices/system/cpu/vulnerabilities/itlb_multihit"
_NX_HUGE_PAGES = "/sys/module/kvm/parameters/nx_huge_pages"
_EPT_CAPABILITIES = 0x48C
"""IA32_VMX_EPT_VPID_CAP: bit 16 for 2 MB pages, bit 17 for 1 GB. Source: Intel SDM volume 3, appendix A.10."""


class _ListedTlb(NamedTuple):
    level: int
    kind: TlbKind
    pages: tuple[str, ...]
    entries: int
    ways: int | None
    source: str
    note: str = ""


def list_tlbs(chip: ProcessorInputs) -> tuple[Tlb, ...]:
    """Return every listed TLB; empty without CPUID, or for a vendor with a different format."""
    moment = chip.source.moment
    note = "as the hypervisor shows it" if chip.virtual else ""
    return tuple(
        Tlb(
            level=each.level,
            kind=each.kind,
            page_sizes=each.pages,
            entries_count=moment.reported(each.entries, each.source, "; ".join(filter(None, (each.note, note)))),
            ways_count=moment.unknown("not listed", each.source)
            if each.ways is None
            else moment.reported(each.ways, each.source, note),
        )
        for each in _list_cpuid_tlbs(chip)
    )


def observe_large_pages(chip: ProcessorInputs) -> dict[PageSize, Observation[bool]]:
    """Return whether any TLB holds pages of a size."""
    moment, tlbs = chip.source.moment, _list_cpuid_tlbs(chip)
    sizes: tuple[PageSize, ...] = ("2M", "1G")
    if not tlbs:
        reason = _NO_CPUID if chip.source.cpuid is None else "CPUID lists no TLB"
        return {size: moment.unknown(reason, "cpuid") for size in sizes}
    tlbs_by_size = {size: [each for each in tlbs if size in each.pages] for size in sizes}
    if chip.virtual:
        return {
            size: moment.reported(True, tlbs_by_size[size][0].source, "as the hypervisor shows it")
            if tlbs_by_size[size]
            else moment.unknown("the hypervisor shows none, which it may have left out", "cpuid")
            for size in sizes
        }
    return {size: moment.reported(bool(tlbs_by_size[size]), (tlbs_by_size[size] or tlbs)[0].source) for size in sizes}


def _list_cpuid_tlbs(chip: ProcessorInputs) -> tuple[_ListedTlb, ...]:
    cpuid = chip.source.cpuid
    if cpuid is None:
        return ()
    if chip.amd:
        return tuple(each for each in _list_amd_tlbs(cpuid) if each.entries)
    return tuple(_list_intel_tlbs(cpuid)) or tuple(_list_intel_descriptors(cpuid))


def _list_intel_tlbs(cpuid: Cpuid) -> Iterator[_ListedTlb]:
    """Yield the TLBs of leaf 18H, of newer processors."""
    for subleaf, each in enumerate(cpuid.list_subleaves(0x18)):
        kind = _KINDS.get(each.edx & 0x1F)
        pages = tuple(name for bit, name in enumerate(_PAGES) if each.ebx >> bit & 1)
        ways, sets = each.ebx >> 16, each.ecx
        if kind is None or not pages or not ways * sets:
            continue
        entries = ways * sets
        note = {4: "for loads", 5: "for stores"}.get(each.edx & 0x1F, "")
        full = each.edx >> 8 & 1
        yield _ListedTlb(
            max(1, each.edx >> 5 & 7), kind, pages, entries, entries if full else ways, f"cpuid 0x18/{subleaf}", note
        )


def _list_intel_descriptors(cpuid: Cpuid) -> Iterator[_ListedTlb]:
    """Yield the TLBs of leaf 2: one byte each, looked up in a table."""
    registers = cpuid.get(2)
    if registers is None or registers.eax & 0xFF != 1:
        return
    table = models.load_models().intel_tlbs
    codes = [
        register >> shift & 0xFF
        for place, register in enumerate(registers)
        if not register >> 31
        for shift in (0, 8, 16, 24)
        if (place, shift) != (0, 0)
    ]
    for code in codes[:_DESCRIPTORS_MAX]:
        for row in table.get(f"{code:#04x}", ()):
            ways = None if row.ways is None else row.ways or row.entries
            yield _ListedTlb(row.level, row.kind, row.pages, row.entries, ways, "cpuid 0x2", f"descriptor {code:#04x}")


def _list_amd_tlbs(cpuid: Cpuid) -> Iterator[_ListedTlb]:
    if (first := cpuid.get(0x8000_0005)) is not None:
        for register, page in ((first.ebx, "4K"), (first.eax, "2M")):
            for shift, kind in _HALVES:
                entries, ways = register >> shift & 0xFF, register >> shift + 8 & 0xFF
                yield _ListedTlb(
                    1, kind, (page,), entries, entries if ways == 0xFF else ways or None, "cpuid 0x80000005"
                )
    if (second := cpuid.get(0x8000_0006)) is not None:
        yield from _list_wide_amd_tlbs(second.ebx, 2, "4K", "cpuid 0x80000006")
        yield from _list_wide_amd_tlbs(second.eax, 2, "2M", "cpuid 0x80000006")
    if (huge := cpuid.get(0x8000_0019)) is not None:
        yield from _list_wide_amd_tlbs(huge.eax, 1, "1G", "cpuid 0x80000019")
        yield from _list_wide_amd_tlbs(huge.ebx, 2, "1G", "cpuid 0x80000019")


_HALVES: tuple[tuple[int, TlbKind], ...] = ((16, "data"), (0, "instruction"))


def _list_wide_amd_tlbs(register: int, level: int, page: str, source: str) -> Iterator[_ListedTlb]:
    """Yield TLBs of a register: 12 bits of entries, 4 of associativity code; without upper half unified."""
    halves: tuple[tuple[int, TlbKind], ...] = _HALVES if register >> 16 else ((0, "unified"),)
    for shift, kind in halves:
        entries, code = register >> shift & 0xFFF, register >> shift + 12 & 0xF
        if code:
            yield _ListedTlb(level, kind, (page,), entries, entries if code == 0xF else _WAYS.get(code), source)


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
