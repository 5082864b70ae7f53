"""H1 to H14: recommendations of clause 7.1 for the processor and chipset."""

from collections.abc import Mapping
from functools import partial

from nodrop.host.check.remedy import (
    IOMMU_ON,
    add_kernel_arguments,
    describe_bios_setting,
    describe_missing_hardware,
    enable_module_parameter,
)
from nodrop.host.check.rule import (
    CheckRule,
    Condition,
    Remedy,
    build_unknown_condition,
    combine_all,
    judge_feature,
    judge_observation,
)
from nodrop.model.chd import HostDescriptor, PageSize, Processor
from nodrop.model.observation import Feature

SIZES: tuple[PageSize, ...] = ("2M", "1G")
IOMMU_TYPES = "cat /sys/class/iommu/*/intel-iommu/cap /sys/class/iommu/*/amd-iommu/features"


def _get_processor(host: HostDescriptor) -> Processor:
    return host.capabilities.processor


def _judge_each_size(label: str, pages: Mapping[PageSize, Feature]) -> Condition:
    """Judge a capability for every size of large pages."""
    if not pages:
        return build_unknown_condition(label, "the descriptor says nothing of it")
    return combine_all(*(judge_feature(f"{label} {size}", pages[size]) for size in SIZES if size in pages))


def _judge_sizes_supported(label: str, pages: Mapping[PageSize, Feature]) -> Condition:
    """Judge hardware support for every size of large pages; using it is up to the hypervisor."""
    if not pages:
        return build_unknown_condition(label, "the descriptor says nothing of it")
    return combine_all(
        *(judge_observation(f"{label} {size} supported", pages[size].supported) for size in SIZES if size in pages)
    )


def _judge_tlb(host: HostDescriptor) -> Condition:
    """Judge whether the TLB holds every page size."""
    by_size = _get_processor(host).tlb_large_pages
    if not by_size:
        return build_unknown_condition("TLB entries for large pages", "the descriptor says nothing of them")
    return combine_all(
        *(judge_observation(f"TLB entries for {size} pages", by_size[size]) for size in SIZES if size in by_size)
    )


def _judge_smt(host: HostDescriptor) -> Condition:
    """Judge whether SMT is available; using it is up to the operator."""
    smt = _get_processor(host).smt
    supported = judge_observation("SMT supported", smt.supported)
    if smt.enabled.value:
        return judge_observation("SMT active", smt.enabled)
    active = judge_observation("SMT active", smt.enabled).evidence if smt.enabled.known else ()
    return supported._replace(evidence=(*supported.evidence, *active))


class _HardwareRemedy:
    """A remedy by BIOS setting or other hardware."""

    def __init__(self, what: str, verify: str, setting: str = "", arguments: Mapping[str, str] | None = None) -> None:
        self.what, self.verify, self.setting = what, verify, setting
        self.arguments = arguments or {}

    def __call__(self, host: HostDescriptor) -> Remedy:
        by_hand = (
            describe_bios_setting(host, self.setting) if self.setting else describe_missing_hardware(host, self.what)
        )
        arguments = self.arguments.get(_get_processor(host).vendor.value or "", "")
        if not arguments:
            return Remedy(by_hand=by_hand, verify=self.verify)
        return Remedy(add_kernel_arguments(host, arguments), f"first {by_hand}; after the command reboot", self.verify)


def _enable_tlb_tags(host: HostDescriptor) -> Remedy:
    """Return how to enable Intel's VPID; AMD's ASIDs cannot be disabled."""
    lacking = describe_missing_hardware(host, "tagged TLBs (VPID, ASID)")
    if _get_processor(host).vendor.value != "Intel":
        return Remedy(by_hand=lacking, verify=FLAGS.format("flushbyasid"))
    return enable_module_parameter("kvm_intel", "vpid", lacking)


def _keep_cache(_: HostDescriptor) -> Remedy:
    flush = "/sys/module/kvm_intel/parameters/vmentry_l1d_flush"
    return Remedy(
        fix=f"echo never > {flush}",
        by_hand="only where every guest is trusted, as it gives up a protection against L1TF that processors without "
        "that flaw do not need; to keep it over reboots: kernel argument kvm-intel.vmentry_l1d_flush=never",
        verify=f"cat /sys/devices/system/cpu/vulnerabilities/l1tf {flush}",
    )


FLAGS = "grep -m1 -o -w -E '{}' /proc/cpuinfo | sort -u"
REMAPPING = "grep -m3 -E 'IR-PCI-MSI|IR-IO-APIC|ITS' /proc/interrupts"

_recommend = partial(CheckRule, clause="7.1")
_recommend_for_data_plane = partial(_recommend, control_plane=False)

RULES = (
    _recommend(
        "H1",
        "large pages",
        "A large page spares steps of address translation, and one TLB entry of it covers far more memory.",
        lambda host: _judge_each_size("large pages of", _get_processor(host).large_pages),
        _HardwareRemedy("pages of 2 MiB and 1 GiB (flags pse, pdpe1gb)", FLAGS.format("pse|pdpe1gb")),
    ),
    _recommend_for_data_plane(
        "H2",
        "large pages for devices",
        "Devices that write packets into large pages need fewer translations of the IOMMU for them.",
        lambda host: _judge_each_size("I/O large pages of", _get_processor(host).io_large_pages),
        _HardwareRemedy("an IOMMU that takes large pages", IOMMU_TYPES, "iommu", IOMMU_ON),
    ),
    _recommend(
        "H3",
        "TLB with large pages",
        "Only translations that stay in the TLB are fast; large pages need entries there.",
        _judge_tlb,
        _HardwareRemedy("TLB entries for large pages", "cpuid -1 -l 0x18"),
    ),
    _recommend_for_data_plane(
        "H4",
        "IOTLB with large pages",
        "At packet rates small entries evict each other: a VM then forwarded 27 % of bare metal (annex D).",
        lambda host: judge_observation("IOTLB entries for large pages", _get_processor(host).iotlb_large_pages),
        _HardwareRemedy("IOTLB entries for large pages (its data sheet says so)", "nodrop host check H4"),
    ),
    _recommend(
        "H5",
        "fewer VM exits",
        "Every exit to the hypervisor takes a microsecond or more in which the VM handles no packet.",
        lambda host: judge_observation("spares VM exits by", _get_processor(host).reduced_exits),
        _HardwareRemedy(
            "virtualization extensions (VT-x, AMD-V)",
            FLAGS.format("vmx|svm|tpr_shadow|apicv|posted_intr|avic|decodeassists"),
            "virtualization",
        ),
    ),
    _recommend(
        "H6",
        "second-level address translation",
        "The processor translates a VM's addresses itself instead of leaving the hypervisor for each.",
        lambda host: judge_observation("SLAT supported", _get_processor(host).slat.supported),
        _HardwareRemedy("nested paging (EPT, NPT)", FLAGS.format("ept|npt"), "virtualization"),
    ),
    _recommend(
        "H7",
        "second-level translation of large pages",
        "Large pages of a VM stay large down to the memory, with one translation for each.",
        lambda host: _judge_sizes_supported("SLAT of", _get_processor(host).slat_large_pages),
        _HardwareRemedy("nested paging of large pages", FLAGS.format("ept_1gb|ept_ad|npt|pdpe1gb"), "virtualization"),
    ),
    _recommend(
        "H8",
        "caches kept over VM exits",
        "A cache that is flushed when a VM is entered starts cold each time.",
        lambda host: judge_feature("cache kept over VM exits", _get_processor(host).cache_extension),
        _keep_cache,
    ),
    _recommend(
        "H9",
        "TLB entries tagged by VM",
        "With VPID or ASID the TLB need not be flushed whenever VMs take turns.",
        lambda host: judge_feature("VPID or ASID", _get_processor(host).tlb_extension),
        _enable_tlb_tags,
    ),
    _recommend_for_data_plane(
        "H10",
        "second-level translation for devices",
        "An IOMMU lets a device reach a VM's memory directly, past the hypervisor.",
        lambda host: judge_observation("I/O SLAT supported", _get_processor(host).iommu_slat.supported),
        _HardwareRemedy("an IOMMU (VT-d, AMD-Vi, SMMU)", "ls /sys/class/iommu", "iommu", IOMMU_ON),
    ),
    _recommend_for_data_plane(
        "H11",
        "second-level translation of large pages for devices",
        "Packets into large pages of a VM need one translation each; without it passthrough fell behind (clause 6.1).",
        lambda host: _judge_sizes_supported("I/O SLAT of", _get_processor(host).iommu_slat_large_pages),
        _HardwareRemedy("an IOMMU that takes large pages", IOMMU_TYPES, "iommu", IOMMU_ON),
        required=False,
    ),
    _recommend_for_data_plane(
        "H12",
        "interrupt remapping",
        "Interrupts of a device go straight to its VM, and cannot be forged by another.",
        lambda host: judge_observation(
            "interrupt remapping supported", _get_processor(host).interrupt_remapping.supported
        ),
        _HardwareRemedy("an IOMMU that remaps interrupts", REMAPPING, "iommu", IOMMU_ON),
    ),
    _recommend_for_data_plane(
        "H13",
        "direct cache access of devices",
        "Cards that write packets into the cache spare the processor waiting for memory.",
        lambda host: judge_feature("direct cache access of devices", _get_processor(host).direct_cache_access),
        _HardwareRemedy("DDIO (Intel Xeon E5 or newer) or SDCI (AMD EPYC 9005 or newer)", "lscpu"),
        required=False,
    ),
    _recommend(
        "H14",
        "SMT available",
        "Two threads on a core hide each other's waits for memory; whether to use it is the operator's choice.",
        _judge_smt,
        _HardwareRemedy("simultaneous multi-threading", "cat /sys/devices/system/cpu/smt/control", "smt"),
        required=False,
    ),
)
"""In the order of the clause; required unless the clause marks them `not present in all processors`."""
