"""Worst-case ranking by clock: 75 % of the reference clock guarantees 75 % of the performance."""

from typing import NamedTuple

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements
from nodrop.vm.ranking import AS_DECLARED, ProcessorStanding
from nodrop.vm.ranking.models import find_generation, is_same_model, parse_clock

EXTRAPOLATED = "extrapolated (worst-case)"


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
