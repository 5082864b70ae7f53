"""Comparisons counted by what they say."""

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

from nodrop.analysis import ComparisonOutcome, compare
from nodrop.model.base import Value
from nodrop.model.summary import Summary

Pair = Callable[[Random], tuple[Sequence[Summary], Sequence[Summary]]]
"""Makes runs of A and of B."""
CALLED = (ComparisonOutcome.WORSE, ComparisonOutcome.BETTER)


class Tally(Value):
    """What so many comparisons said."""

    name: str
    repeats: int
    effect: float
    pairs: int
    called: int
    """In which anything at all is better or worse."""
    ndr: dict[str, int]
    """By the verdict on NDR."""

    @property
    def called_ratio(self) -> float:
        """Share of those."""
        return self.called / self.pairs

    def ndr_ratio(self, verdict: ComparisonOutcome) -> float:
        """Share of the comparisons that say so of NDR."""
        return self.ndr.get(verdict.value, 0) / self.pairs

    def interval(self) -> tuple[float, float]:
        """Where the share is that any number of comparisons would call, at 95 % confidence (Clopper and Pearson)."""
        return exact(self.called, self.pairs)


def exact(count: int, of: int) -> tuple[float, float]:
    """Interval of a share at 95 % confidence. Source: Clopper and Pearson, Biometrika 26 (1934)."""
    from scipy.special import betaincinv

    low = 0.0 if count == 0 else float(betaincinv(count, of - count + 1, 0.025))
    high = 1.0 if count == of else float(betaincinv(count + 1, of - count, 0.975))
    return low, high


def tally(pair: Pair, name: str, repeats: int, effect: float, seeds: range) -> Tally:
    """Compare as many pairs as there are seeds."""
    called, ndr = 0, Counter[str]()
    for seed in seeds:
        a, b = pair(Random(f"{name} {repeats} {effect} {seed}"))
        comparison = compare(a, b)
        called += comparison.verdict in CALLED
        ndr[next(metric for metric in comparison.metrics if metric.key == "ndr").verdict.value] += 1
    return Tally(name=name, repeats=repeats, effect=effect, pairs=len(seeds), called=called, ndr=dict(ndr))
