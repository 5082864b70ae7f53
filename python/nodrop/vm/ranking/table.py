"""Ranking by benchmark scores of a given source."""

from collections.abc import Mapping
from typing import NamedTuple

from nodrop.model.chd import Processor
from nodrop.model.vmd import ProcessorRequirements
from nodrop.vm.ranking import AS_DECLARED, ProcessorStanding
from nodrop.vm.ranking.models import is_same_model


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
