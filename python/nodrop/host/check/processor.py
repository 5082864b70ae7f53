"""H1 to H14: what clause 7.1 recommends of the processor and the chips around it."""

from collections.abc import Mapping

from nodrop.host.check.remedy import IOMMU_ON, bios, hardware, kernel_arguments, module_parameter
from nodrop.host.check.rule import Fact, Remedy, Rule, both, seen, untold, working
from nodrop.model.chd import HostDescriptor, PageSize, Processor
from nodrop.model.observation import Feature

CLAUSE = "7.1"
SIZES: tuple[PageSize, ...] = ("2M", "1G")
IOMMU_TYPES = "cat /sys/class/iommu/*/intel-iommu/cap /sys/class/iommu/*/amd-iommu/features"


def _processor(host: HostDescriptor) -> Processor:
    return host.capabilities.processor


def _each_size(label: str, pages: Mapping[PageSize, Feature]) -> Fact:
    """Whether a capability is there for every size of large pages."""
    if not pages:
        return untold(label, "the descriptor says nothing of it")
    return both(*(working(f"{label} {size}", pages[size]) for size in SIZES if size in pages))


def _sizes_supported(label: str, pages: Mapping[PageSize, Feature]) -> Fact:
    """Whether the hardware has a capability for every size of large pages; using it is the hypervisor's affair."""
    if not pages:
        return untold(label, "the descriptor says nothing of it")
    return both(*(seen(f"{label} {size} supported", pages[size].supported) for size in SIZES if size in pages))


def _each_tlb(host: HostDescriptor) -> Fact:
    """Sizes of pages that the processor has, and its TLB holds."""
    found = _processor(host).tlb_large_pages
    if not found:
        return untold("TLB entries for large pages", "the descriptor says nothing of them")
    return both(*(seen(f"TLB entries for {size} pages", found[size]) for size in SIZES if size in found))


def _spared_exits(host: HostDescriptor) -> Fact:
    return seen("spares VM exits by", _processor(host).reduced_exits, holds=bool)


def _smt(host: HostDescriptor) -> Fact:
    """Available is enough: whether it is used is left to whoever runs it."""
    smt = _processor(host).smt
    supported = seen("SMT supported", smt.supported)
    if smt.enabled.value:
        return seen("SMT active", smt.enabled)
    active = seen("SMT active", smt.enabled).evidence if smt.enabled.known else ()
    return supported._replace(evidence=(*supported.evidence, *active))


def _io_cache(host: HostDescriptor) -> Fact:
    return working("direct cache access of devices", _processor(host).direct_cache_access)


def _iotlb(host: HostDescriptor) -> Fact:
    return seen("IOTLB entries for large pages", _processor(host).iotlb_large_pages)


class _Hardware:
    """A remedy that is a setting of the BIOS, or other hardware."""

    def __init__(self, what: str, verify: str, setting: str = "", arguments: Mapping[str, str] | None = None) -> None:
        self.what, self.verify, self.setting = what, verify, setting
        self.arguments = arguments or {}

    def __call__(self, host: HostDescriptor) -> Remedy:
        by_hand = bios(host, self.setting) if self.setting else hardware(host, self.what)
        arguments = self.arguments.get(_processor(host).vendor.value or "", "")
        if not arguments:
            return Remedy(by_hand=by_hand, verify=self.verify)
        return Remedy(kernel_arguments(host, arguments), f"first {by_hand}; after the command reboot", self.verify)


def _tagged(host: HostDescriptor) -> Remedy:
    """Intel's VPID can be switched off; AMD's address space ids cannot."""
    lacking = hardware(host, "tagged TLBs (VPID, ASID)")
    if _processor(host).vendor.value != "Intel":
        return Remedy(by_hand=lacking, verify=FLAGS.format("flushbyasid"))
    return module_parameter("kvm_intel", "vpid", lacking)


def _unflushed(_: HostDescriptor) -> Remedy:
    flush = "/sys/module/kvm_intel/parameters/vmentry_l1d_flush"
    return Remedy(
        fix=f"echo never > {flush}",
        by_hand="only where every guest is trusted, as it gives up a protection against L1TF that processors without "
        "that flaw do not need; to keep it over reboots: kernel argument kvm-intel.vmentry_l1d_flush=never",
        verify=f"cat /sys/devices/system/cpu/vulnerabilities/l1tf {flush}",
    )


FLAGS = "grep -m1 -o -w -E '{}' /proc/cpuinfo | sort -u"
REMAPPING = "grep -m3 -E 'IR-PCI-MSI|IR-IO-APIC|ITS' /proc/interrupts"


RULES = (
    Rule(
        "H1",
        "large pages",
        CLAUSE,
        "A large page spares steps of address translation, and one TLB entry of it covers far more memory.",
        lambda host: _each_size("large pages of", _processor(host).large_pages),
        _Hardware("pages of 2 MiB and 1 GiB (flags pse, pdpe1gb)", FLAGS.format("pse|pdpe1gb")),
    ),
    Rule(
        "H2",
        "large pages for devices",
        CLAUSE,
        "Devices that write packets into large pages need fewer translations of the IOMMU for them.",
        lambda host: _each_size("I/O large pages of", _processor(host).io_large_pages),
        _Hardware("an IOMMU that takes large pages", IOMMU_TYPES, "iommu", IOMMU_ON),
        control_plane=False,
    ),
    Rule(
        "H3",
        "TLB with large pages",
        CLAUSE,
        "Only translations that stay in the TLB are fast; large pages need entries there.",
        _each_tlb,
        _Hardware("TLB entries for large pages", "cpuid -1 -l 0x18"),
    ),
    Rule(
        "H4",
        "IOTLB with large pages",
        CLAUSE,
        "At packet rates small entries evict each other: a VM then forwarded 27 % of bare metal (annex D).",
        _iotlb,
        _Hardware("IOTLB entries for large pages (its data sheet says so)", "nodrop host check H4"),
        control_plane=False,
    ),
    Rule(
        "H5",
        "fewer VM exits",
        CLAUSE,
        "Every exit to the hypervisor takes a microsecond or more in which the VM handles no packet.",
        _spared_exits,
        _Hardware(
            "virtualization extensions (VT-x, AMD-V)",
            FLAGS.format("vmx|svm|tpr_shadow|apicv|posted_intr|avic|decodeassists"),
            "virtualization",
        ),
    ),
    Rule(
        "H6",
        "second-level address translation",
        CLAUSE,
        "The processor translates a VM's addresses itself instead of leaving the hypervisor for each.",
        lambda host: seen("SLAT supported", _processor(host).slat.supported),
        _Hardware("nested paging (EPT, NPT)", FLAGS.format("ept|npt"), "virtualization"),
    ),
    Rule(
        "H7",
        "second-level translation of large pages",
        CLAUSE,
        "Large pages of a VM stay large down to the memory, with one translation for each.",
        lambda host: _sizes_supported("SLAT of", _processor(host).slat_large_pages),
        _Hardware("nested paging of large pages", FLAGS.format("ept_1gb|ept_ad|npt|pdpe1gb"), "virtualization"),
    ),
    Rule(
        "H8",
        "caches kept over VM exits",
        CLAUSE,
        "A cache that is flushed when a VM is entered starts cold each time.",
        lambda host: working("cache kept over VM exits", _processor(host).cache_extension),
        _unflushed,
    ),
    Rule(
        "H9",
        "TLB entries tagged by VM",
        CLAUSE,
        "With VPID or ASID the TLB need not be flushed whenever VMs take turns.",
        lambda host: working("VPID or ASID", _processor(host).tlb_extension),
        _tagged,
    ),
    Rule(
        "H10",
        "second-level translation for devices",
        CLAUSE,
        "An IOMMU lets a device reach a VM's memory directly, past the hypervisor.",
        lambda host: seen("I/O SLAT supported", _processor(host).iommu_slat.supported),
        _Hardware("an IOMMU (VT-d, AMD-Vi, SMMU)", "ls /sys/class/iommu", "iommu", IOMMU_ON),
        control_plane=False,
    ),
    Rule(
        "H11",
        "second-level translation of large pages for devices",
        CLAUSE,
        "Packets into large pages of a VM need one translation each; without it passthrough fell behind (clause 6.1).",
        lambda host: _sizes_supported("I/O SLAT of", _processor(host).iommu_slat_large_pages),
        _Hardware("an IOMMU that takes large pages", IOMMU_TYPES, "iommu", IOMMU_ON),
        required=False,
        control_plane=False,
    ),
    Rule(
        "H12",
        "interrupt remapping",
        CLAUSE,
        "Interrupts of a device go straight to its VM, and cannot be forged by another.",
        lambda host: seen("interrupt remapping supported", _processor(host).interrupt_remapping.supported),
        _Hardware("an IOMMU that remaps interrupts", REMAPPING, "iommu", IOMMU_ON),
        control_plane=False,
    ),
    Rule(
        "H13",
        "direct cache access of devices",
        CLAUSE,
        "Cards that write packets into the cache spare the processor waiting for memory.",
        _io_cache,
        _Hardware("DDIO (Intel Xeon E5 or newer) or SDCI (AMD EPYC 9005 or newer)", "lscpu"),
        required=False,
        control_plane=False,
    ),
    Rule(
        "H14",
        "SMT available",
        CLAUSE,
        "Two threads on a core hide each other's waits for memory; whether to use it is the operator's choice.",
        _smt,
        _Hardware("simultaneous multi-threading", "cat /sys/devices/system/cpu/smt/control", "smt"),
        required=False,
    ),
)
"""In the order of the clause; required unless the clause marks them `not present in all processors`."""
