"""Ranking by features: clock, generation, caches and TLBs compared with the host of the VM's figures."""

from collections.abc import Iterator
from typing import NamedTuple

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements
from nodrop.vm.ranking import AS_DECLARED, ProcessorStanding
from nodrop.vm.ranking.models import find_generation, is_same_model, is_same_vendor

FeatureValue = tuple[str, float | None]


class FeatureRanking(NamedTuple):
    """The rank is the smallest ratio to the reference host over all features, at most 1.

    Processors differ in many ways and no formula weighs them for every VM, so features are not weighted: the largest
    shortfall decides. Source: ETSI GS NFV-PER 001 clause 8.2.2.1.
    """

    reference: Processor
    name: str = "features"

    def rank_processor(self, requested: ProcessorRequirements, actual: Processor) -> ProcessorStanding:
        """Rank a host's processor against the reference host's."""
        reference_model, model = self.reference.model.value or "the reference", actual.model.value or "an unknown model"
        if self.reference.model.value and is_same_model(self.reference.model.value, model):
            return ProcessorStanding(1.0, AS_DECLARED)
        if reason := _explain_incomparable(self.reference, actual):
            return ProcessorStanding(None, reason, met=False, asked=f"no less than {reference_model}", found=reason)
        shares = list(_compute_shares(self.reference, actual))
        unknown = [name for name, share in shares if share is None]
        known_shares = [(share, name) for name, share in shares if share is not None]
        if not known_shares:
            reason_text = f"{model}: none of its features is known"
            return ProcessorStanding(
                None, reason_text, met=False, asked=f"no less than {reference_model}", found=reason_text
            )
        ratio, worst = min(known_shares)
        label = f"by features compared with {reference_model}: lowest in {worst}" + (
            f"; unknown: {', '.join(unknown)}" if unknown else ""
        )
        least = 1.0 if requested.rank_min is None else requested.rank_min
        return ProcessorStanding(
            min(1.0, ratio),
            label,
            met=ratio >= least,
            asked=f"{least:.3g} of each feature of {reference_model}",
            found=f"{ratio:.3g} of its {worst}",
            substitution=f"{model} in place of {reference_model}",
        )


def _explain_incomparable(reference: Processor, actual: Processor) -> str:
    if not (
        reference.vendor.value and actual.vendor.value and is_same_vendor(reference.vendor.value, actual.vendor.value)
    ):
        return (
            f"vendor {actual.vendor.value or 'unknown'}, features compare within {reference.vendor.value or 'a vendor'}"
        )
    reference_generation, generation = (find_generation(each.model.value or "") for each in (reference, actual))
    if (
        reference_generation
        and generation
        and reference_generation.line == generation.line
        and generation.order < reference_generation.order
    ):
        return f"{generation.name}: older than {reference_generation.name}"
    return ""


def _compute_shares(reference: Processor, actual: Processor) -> Iterator[FeatureValue]:
    """Yield the ratio for each feature of the reference; None if the host's value is unknown."""
    features = dict(_list_features(actual))
    for name, required in _list_features(reference):
        value = features.get(name)
        if required:
            yield name, None if value is None else value / required


def _list_features(processor: Processor) -> Iterator[FeatureValue]:
    yield "base clock", processor.base_mhz.value
    for cache in processor.caches:
        yield f"L{cache.level} {cache.kind} cache", cache.size_bytes.value
    for tlb in processor.tlbs:
        yield f"L{tlb.level} {tlb.kind} TLB for {'/'.join(tlb.page_sizes)}", tlb.entries_count.value
    yield "IOTLB", processor.iotlb_entries_count.value
