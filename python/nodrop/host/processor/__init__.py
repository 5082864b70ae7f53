"""The processor: what it can do, and what of it is switched on. Source: ETSI GS NFV-PER 001 clause 8.1.1.1."""

from nodrop.host.inputs import Source
from nodrop.host.processor import (
    caches,
    counts,
    frequency,
    identification,
    iommu,
    isa_features,
    pages,
    tlb,
    virtualization,
)
from nodrop.host.processor.inputs import look
from nodrop.model.chd import Processor

_IOTLB = "no register and no file tells; no table of models is published"


def describe(source: Source) -> Processor:
    """The processor, of sockets that are alike the first."""
    chip = look(source)
    counted = counts.counts(chip)
    slat = virtualization.slat(chip)
    io = iommu.describe(chip)
    return Processor(
        architecture=identification.architecture(chip),
        vendor=identification.vendor(chip),
        model=identification.model(chip),
        family=identification.family(chip),
        model_number=identification.model_number(chip),
        stepping=identification.stepping(chip),
        microcode=identification.microcode(chip),
        socket_count=counted.sockets,
        core_count=counted.cores,
        large_pages=pages.large_pages(chip),
        io_large_pages=io.large_pages,
        tlb_large_pages=tlb.large_pages(chip),
        tlbs=tlb.tlbs(chip),
        iotlb_large_pages=source.moment.unknown(_IOTLB),
        iotlb_entries_count=source.moment.unknown(_IOTLB),
        virtualization=virtualization.virtualization(chip),
        reduced_exits=virtualization.reduced_exits(chip),
        slat=slat,
        slat_large_pages=pages.second_level(chip, slat),
        cache_extension=virtualization.cache_extension(chip),
        tlb_extension=virtualization.tlb_extension(chip),
        iommu=io.present,
        iommu_slat=io.slat,
        iommu_slat_large_pages=io.large_pages,
        interrupt_remapping=io.interrupt_remapping,
        posted_interrupts=io.posted_interrupts,
        direct_cache_access=isa_features.direct_cache_access(chip),
        cache_allocation=isa_features.cache_allocation(chip),
        smt=counts.smt(chip, counted),
        threads_per_core_count=counted.threads_per_core,
        isa_extensions=isa_features.isa_extensions(chip),
        base_mhz=frequency.base(chip),
        max_mhz=frequency.fastest(chip),
        current_mhz=frequency.current(chip),
        turbo=frequency.turbo(chip),
        governor=frequency.governor(chip),
        idle_states=frequency.idle_states(chip),
        invariant_tsc=frequency.invariant_tsc(chip),
        caches=caches.caches(chip),
    )
