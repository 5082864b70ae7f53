"""A policer with the token buckets of MEF 10, frame by frame in exact arithmetic."""

from collections.abc import Iterable
from fractions import Fraction

from nodrop.simulation.function_sut import SutCounts


class Policer:
    """A color-blind policer of one flow; its buckets are full at first (MEF 10.2 section 7.11.1)."""

    def __init__(
        self,
        cir_bps: int,
        cbs_bytes: int,
        eir_bps: int,
        ebs_bytes: int,
        *,
        is_coupled: bool = False,
        extra_bytes: int = 0,
    ) -> None:
        self._rates = (Fraction(cir_bps, 8), Fraction(eir_bps, 8))
        self._sizes = (cbs_bytes, ebs_bytes)
        self._is_coupled = is_coupled
        self._extra_bytes = extra_bytes
        """Bytes that it counts beside those from destination MAC address to FCS."""

    def color(self, arrivals_s: Iterable[Fraction], frame_bytes: int) -> str:
        """Return the color of each frame: G, Y or R."""
        (cir, eir), (cbs, ebs) = self._rates, self._sizes
        committed, excess, before_s = Fraction(cbs), Fraction(ebs), Fraction(0)
        size = frame_bytes + self._extra_bytes
        colors = ""
        for arrival_s in arrivals_s:
            passed_s, before_s = arrival_s - before_s, arrival_s
            overflow = max(Fraction(0), committed + cir * passed_s - cbs) * self._is_coupled
            committed = min(Fraction(cbs), committed + cir * passed_s)
            excess = min(Fraction(ebs), excess + eir * passed_s + overflow)
            if size <= committed:
                committed -= size
                colors += "G"
            elif size <= excess:
                excess -= size
                colors += "Y"
            else:
                colors += "R"
        return colors

    def count(self, load_pps: float, duration_s: float, frame_bytes: int) -> SutCounts:
        """Return the counts of a trial at a constant load."""
        count = round(load_pps * duration_s)
        load = Fraction(load_pps).limit_denominator(1000)
        colors = self.color((number / load for number in map(Fraction, range(count))), frame_bytes)
        return SutCounts(count, count, count - colors.count("R"))
