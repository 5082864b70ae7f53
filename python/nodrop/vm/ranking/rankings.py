"""Rankings of processors: features compared with a reference host, benchmark scores, worst case by clock."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements
from nodrop.vm.ranking import AS_DECLARED, ProcessorStanding
from nodrop.vm.ranking.models import find_generation, is_same_model, is_same_vendor, parse_clock

FeatureValue = tuple[str, float | None]
EXTRAPOLATED = "extrapolated (worst-case)"


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


class BenchmarkRanking(NamedTuple):
    """The rank is a score, higher is better. Source: ETSI GS NFV-PER 001 clause 8.2.2.1."""

    name: str
    source: str
    """Origin of the scores: a publication, stored results."""
    scores: Mapping[str, float]
    """By model, in any common spelling: `E5-2680 v2`."""

    def rank_processor(self, requested: ProcessorRequirements, actual: Processor) -> ProcessorStanding:
        """How a host's processor stands to what a VM asks."""
        if requested.rank_min is None and not requested.model:
            return ProcessorStanding(1.0, AS_DECLARED)
        model = actual.model.value
        is_same = bool(model and requested.model and is_same_model(requested.model, model))
        if is_same and requested.rank_min is None:
            return ProcessorStanding(1.0, AS_DECLARED)
        least = requested.rank_min if requested.rank_min is not None else self.score(requested.model)
        requirement = (
            f"{least:g} in {self.name}" if least is not None else f"the rank of {requested.model} in {self.name}"
        )
        if least is None:
            return ProcessorStanding(
                None, f"{requested.model} is not in the table", met=False, asked=requirement, found="not in the table"
            )
        score = None if model is None else self.score(model)
        if score is None:
            reason = f"{model or 'an unknown model'} is not in the table"
            return ProcessorStanding(None, reason, met=False, asked=requirement, found=reason)
        ratio = min(1.0, score / least) if least > 0 else 1.0
        return ProcessorStanding(
            ratio,
            f"by {self.name} ({self.source}): {score:g} for {least:g}",
            met=score >= least,
            asked=requirement,
            found=f"{score:g}",
            substitution="" if is_same or not requested.model else f"{model} in place of {requested.model}",
        )

    def score(self, model: str) -> float | None:
        """Return the score of a model, by the longest matching name."""
        names = [name for name in self.scores if is_same_model(name, model) or is_same_model(model, name)]
        return self.scores[max(names, key=len)] if names else None


class WorstCaseRanking(NamedTuple):
    """The rank is the ratio of clocks, at most 1.

    Valid within a vendor, for processors of the same or a newer generation, and for CPU-bound work; the label marks it
    as extrapolated. Source: ETSI GS NFV-PER 001 clause 8.2.2.5, last paragraph.
    """

    name: str = "worst-case"

    def rank_processor(self, requested: ProcessorRequirements, actual: Processor) -> ProcessorStanding:
        """How a host's processor stands to what a VM asks."""
        model = actual.model.value or "unknown"
        if requested.model and actual.model.value is None:
            return _build_unknown_standing(requested, "its model is unknown")
        for other in requested.alternatives:
            if is_same_model(other, model) and not is_same_model(requested.model, model):
                return ProcessorStanding(
                    1.0, AS_DECLARED, substitution=f"{model}: declared as an alternative to {requested.model}"
                )
        is_same = not requested.model or is_same_model(requested.model, model)
        if not is_same and (reason := _explain_not_newer(requested.model, model)):
            return _build_unknown_standing(requested, reason)
        return _compare_clocks(requested, actual, "" if is_same else f"{model} in place of {requested.model}")


def _compare_clocks(requested: ProcessorRequirements, actual: Processor, substitution: str) -> ProcessorStanding:
    reference_mhz = requested.reference_mhz or parse_clock(requested.model)
    base_mhz = actual.base_mhz.value
    if reference_mhz is None:
        if substitution:
            return _build_unknown_standing(requested, "the VM names no reference clock to compare with")
        return ProcessorStanding(1.0, AS_DECLARED)
    if base_mhz is None:
        if requested.model and not substitution:
            return ProcessorStanding(1.0, AS_DECLARED)
        return _build_unknown_standing(requested, "its base clock is unknown")
    ratio = min(1.0, base_mhz / reference_mhz)
    if ratio == 1.0 and not substitution:
        return ProcessorStanding(1.0, AS_DECLARED)
    clocks = f"{base_mhz:g} MHz for {reference_mhz:g} MHz" + ("" if ratio < 1 else ", no credit for more")
    return ProcessorStanding(
        ratio,
        f"{EXTRAPOLATED}: {clocks}",
        met=ratio >= (1.0 if requested.rank_min is None else requested.rank_min),
        asked=f"{requested.rank_min or 1.0:.3g} of the performance at {reference_mhz:g} MHz",
        found=f"{ratio:.3g} guaranteed at {base_mhz:g} MHz, {EXTRAPOLATED}",
        substitution=substitution,
    )


def _explain_not_newer(requested: str, actual: str) -> str:
    """Return why a processor is not known to be of the same or a newer generation; empty: it is."""
    requested_generation, actual_generation = find_generation(requested), find_generation(actual)
    if requested_generation is None or actual_generation is None:
        return f"{actual}: whether it is of the same or a newer generation is unknown"
    if requested_generation.line != actual_generation.line:
        return f"{actual} ({actual_generation.name}): of another line than {requested_generation.name}"
    return (
        ""
        if actual_generation.order >= requested_generation.order
        else f"{actual} ({actual_generation.name}): older than {requested_generation.name}"
    )


def _build_unknown_standing(requested: ProcessorRequirements, reason: str) -> ProcessorStanding:
    requirement = requested.model or (
        f"a base clock of {requested.reference_mhz:g} MHz" if requested.reference_mhz else "a processor"
    )
    return ProcessorStanding(None, reason, met=False, asked=requirement, found=reason)
