"""Comparisons counted by their verdicts."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from nodrop.analysis import ComparisonOutcome, compare
from nodrop.model.base import Value
from nodrop.model.summary import Summary

DrawPair = Callable[[Random], tuple[Sequence[Summary], Sequence[Summary]]]
"""Draws runs of A and of B."""
DIFFERENT = (ComparisonOutcome.WORSE, ComparisonOutcome.BETTER)


class Tally(Value):
    """Verdicts of comparisons of one kind."""

    name: str
    repeats: int
    effect: float
    pairs: int
    called: int
    """Number of comparisons with a better or worse measure."""
    ndr: dict[str, int]
    """Number of comparisons by the verdict on NDR."""

    @property
    def called_ratio(self) -> float:
        """Share of comparisons with a better or worse measure."""
        return self.called / self.pairs

    def ndr_ratio(self, verdict: ComparisonOutcome) -> float:
        """Return the share of comparisons with this verdict on NDR."""
        return self.ndr.get(verdict.value, 0) / self.pairs

    def compute_interval(self) -> tuple[float, float]:
        """Return the 95 % confidence interval of `called_ratio`."""
        return compute_clopper_pearson(self.called, self.pairs)


def compute_clopper_pearson(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % confidence interval of a share. Source: Clopper and Pearson, Biometrika 26 (1934)."""
    from scipy.special import betaincinv

    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, 0.025))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 0.975))
    return low, high


def tally_comparisons(draw_pair: DrawPair, name: str, repeats: int, effect: float, seeds: range) -> Tally:
    """Compare one pair per seed and count the verdicts."""
    called, ndr = 0, Counter[str]()
    for seed in seeds:
        a, b = draw_pair(Random(f"{name} {repeats} {effect} {seed}"))
        comparison = compare(a, b)
        called += comparison.verdict in DIFFERENT
        ndr[next(metric for metric in comparison.metrics if metric.key == "ndr").verdict.value] += 1
    return Tally(name=name, repeats=repeats, effect=effect, pairs=len(seeds), called=called, ndr=dict(ndr))
