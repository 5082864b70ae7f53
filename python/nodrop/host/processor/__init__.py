"""Processor capabilities and whether they are enabled. Source: ETSI GS NFV-PER 001 clause 8.1.1.1."""

from nodrop.host.inputs import Source
from nodrop.host.processor import caches, frequency, identification, iommu, paging, virtualization
from nodrop.host.processor.inputs import read_inputs
from nodrop.model.chd import Processor

_IOTLB = "no register and no file tells; no table of models is published"


def describe_processor(source: Source) -> Processor:
    """Describe the processor; of identical sockets the first."""
    chip = read_inputs(source)
    counted = identification.count_cores(chip)
    slat = virtualization.describe_slat(chip)
    io = iommu.describe_iommu(chip)
    return Processor(
        architecture=identification.read_architecture(chip),
        vendor=identification.read_vendor(chip),
        model=identification.read_model(chip),
        family=identification.read_family(chip),
        model_number=identification.read_model_number(chip),
        stepping=identification.read_stepping(chip),
        microcode=identification.read_microcode(chip),
        socket_count=counted.sockets,
        core_count=counted.cores,
        large_pages=paging.describe_large_pages(chip),
        io_large_pages=io.large_pages,
        tlb_large_pages=paging.observe_large_pages(chip),
        tlbs=paging.list_tlbs(chip),
        iotlb_large_pages=source.moment.unknown(_IOTLB),
        iotlb_entries_count=source.moment.unknown(_IOTLB),
        virtualization=virtualization.describe_virtualization(chip),
        reduced_exits=virtualization.read_reduced_exits(chip),
        slat=slat,
        slat_large_pages=paging.describe_second_level(chip, slat),
        cache_extension=virtualization.describe_cache_extension(chip),
        tlb_extension=virtualization.describe_tlb_extension(chip),
        iommu=io.present,
        iommu_slat=io.slat,
        iommu_slat_large_pages=io.large_pages,
        interrupt_remapping=io.interrupt_remapping,
        posted_interrupts=io.posted_interrupts,
        direct_cache_access=identification.describe_direct_cache_access(chip),
        cache_allocation=identification.describe_cache_allocation(chip),
        smt=identification.describe_smt(chip, counted),
        threads_per_core_count=counted.threads_per_core,
        isa_extensions=identification.read_isa_extensions(chip),
        base_mhz=frequency.read_base(chip),
        max_mhz=frequency.read_max(chip),
        current_mhz=frequency.read_current(chip),
        turbo=frequency.describe_turbo(chip),
        governor=frequency.read_governor(chip),
        idle_states=frequency.read_idle_states(chip),
        invariant_tsc=frequency.read_invariant_tsc(chip),
        caches=caches.read_caches(chip),
    )
