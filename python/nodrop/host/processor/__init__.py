"""The processor: what it can do, and what of it is switched on. Source: ETSI GS NFV-PER 001 clause 8.1.1.1."""

from nodrop.host.processor import abilities, caches, clocks, counts, iommu, naming, pages, tlb, virtual
from nodrop.host.processor.chip import look
from nodrop.host.source import Source
from nodrop.model.chd import Processor

_IOTLB = "no register and no file tells; no table of models is published"


def describe(source: Source) -> Processor:
    """The processor, of sockets that are alike the first."""
    chip = look(source)
    counted = counts.counts(chip)
    slat = virtual.slat(chip)
    io = iommu.describe(chip)
    return Processor(
        architecture=naming.architecture(chip),
        vendor=naming.vendor(chip),
        model=naming.model(chip),
        family=naming.family(chip),
        model_number=naming.model_number(chip),
        stepping=naming.stepping(chip),
        microcode=naming.microcode(chip),
        socket_count=counted.sockets,
        core_count=counted.cores,
        large_pages=pages.large_pages(chip),
        io_large_pages=io.large_pages,
        tlb_large_pages=tlb.large_pages(chip),
        tlbs=tlb.tlbs(chip),
        iotlb_large_pages=source.moment.unknown(_IOTLB),
        iotlb_entries_count=source.moment.unknown(_IOTLB),
        virtualization=virtual.virtualization(chip),
        reduced_exits=virtual.reduced_exits(chip),
        slat=slat,
        slat_large_pages=pages.second_level(chip, slat),
        cache_extension=virtual.cache_extension(chip),
        tlb_extension=virtual.tlb_extension(chip),
        iommu=io.present,
        iommu_slat=io.slat,
        iommu_slat_large_pages=io.large_pages,
        interrupt_remapping=io.interrupt_remapping,
        posted_interrupts=io.posted_interrupts,
        direct_cache_access=abilities.direct_cache_access(chip),
        cache_allocation=abilities.cache_allocation(chip),
        smt=counts.smt(chip, counted),
        threads_per_core_count=counted.threads_per_core,
        isa_extensions=abilities.isa_extensions(chip),
        base_mhz=clocks.base(chip),
        max_mhz=clocks.fastest(chip),
        current_mhz=clocks.current(chip),
        turbo=clocks.turbo(chip),
        governor=clocks.governor(chip),
        idle_states=clocks.idle_states(chip),
        invariant_tsc=clocks.invariant_tsc(chip),
        caches=caches.caches(chip),
    )
